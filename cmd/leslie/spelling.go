package main

import "strings"

// This file accepts spellings of the Node edition (1.x). Lint replaces each by today's
// flag or operand, so commands, the journal and request ids know only today's. Help and
// completion do not show them; docs/import.md lists them.

// oldSpelling is the meaning of an old flag today.
type oldSpelling struct {
	flag    string // the flag of today; "" if it is an operand, or the default
	list    bool   // its value is a list with commas; the flag of today is repeated
	operand bool   // it is the command's operand today
}

// formerly defines an old flag for a flag of today.
func formerly(name, now string) *option {
	return oldOption(name, &value{shown: "VALUE", check: fits, old: &oldSpelling{flag: now}})
}

// formerList is the same for a list with commas, where today's flag is repeated.
func formerList(name, now string) *option {
	return oldOption(name, &value{shown: "A,B", check: fits, old: &oldSpelling{flag: now, list: true}})
}

// formerOperand defines an old flag for today's operand.
func formerOperand(name string) *option {
	return oldOption(name, &value{shown: "VALUE", check: fits, old: &oldSpelling{operand: true}})
}

// formerSwitch defines an old switch for what happens without it today.
func formerSwitch(name string) *option {
	return oldOption(name, &value{check: checkFormerSwitch, toggle: true, old: &oldSpelling{}})
}

func oldOption(name string, v *value) *option { return newOption(name, v, "a spelling of leslie 1.x") }

func checkFormerSwitch(text string) *fault {
	if text == "true" {
		return nil
	}
	return wrong("is what leslie always does and takes no value")
}

// respell replaces an old flag by today's flag or operand.
func (l *linter) respell(o *option, text string) {
	old, label := o.value().old, "--"+o.Name
	texts := []string{text}
	if old.list {
		texts = strings.Split(text, ",")
	}
	check, now := o.value(), (*option)(nil)
	if old.flag != "" {
		now = l.find(l.cmd, old.flag, true)
		check = now.value()
	}
	for _, text := range texts {
		if f := check.fault(label, text); f != nil {
			if old.flag != "" && strings.TrimSpace(text) != "" {
				f.Field, f.Problem = "--"+old.flag, f.Problem+"; it is called --"+old.flag+" now"
			}
			l.faults = append(l.faults, *f)
			return
		}
		switch {
		case old.operand && len(l.operands) > 0:
			l.faults = append(l.faults, fault{Field: label, Value: text, Problem: label + " is given twice"})
		case old.operand:
			l.operands = append(l.operands, text)
		case now != nil:
			l.set(now, text)
		}
	}
}

// threadOperands moves --thread to the missing operand of a command for which it names
// the operand: then the call does not speak for that thread.
func (l *linter) threadOperands() {
	if l.cmd == nil || !l.cmd.namesThread || len(l.operands) > 0 {
		return
	}
	for i, f := range l.flags {
		if f.Name == "thread" {
			l.operands = []string{f.text}
			l.flags = append(l.flags[:i], l.flags[i+1:]...)
			return
		}
	}
}
