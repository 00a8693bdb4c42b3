package cli

import (
	"strings"
)

// This file accepts spellings of the Node edition (1.x). Lint replaces each by today's
// flag or operand, so commands, the journal and request ids know only today's. Help and
// completion do not show them; docs/guides/import.md lists them.

// oldSpelling is the meaning of an old flag today.
type oldSpelling struct {
	flag    string // the flag of today; "" if it is an operand, or the default
	list    bool   // its value is a list with commas; the flag of today is repeated
	operand bool   // it is the command's operand today
}

// Formerly defines an old flag for a flag of today.
func Formerly(name, now string) *option {
	return oldOption(name, &Value{Shown: "VALUE", Check: AcceptAny, Old: &oldSpelling{flag: now}})
}

// FormerList is the same for a list with commas, where today's flag is repeated.
func FormerList(name, now string) *option {
	return oldOption(name, &Value{Shown: "A,B", Check: AcceptAny, Old: &oldSpelling{flag: now, list: true}})
}

// FormerOperand defines an old flag for today's operand.
func FormerOperand(name string) *option {
	return oldOption(name, &Value{Shown: "VALUE", Check: AcceptAny, Old: &oldSpelling{operand: true}})
}

// FormerSwitch defines an old switch for what happens without it today.
func FormerSwitch(name string) *option {
	return oldOption(name, &Value{Check: checkFormerSwitch, Toggle: true, Old: &oldSpelling{}})
}

func oldOption(name string, v *Value) *option { return NewFlag(name, v, "a spelling of leslie 1.x") }

func checkFormerSwitch(text string) *Fault {
	if text == "true" {
		return nil
	}
	return NewFault("is what leslie always does and takes no value")
}

// respell replaces an old flag by today's flag or operand.
func (l *linter) respell(o *option, text string) {
	old, label := o.Typed().Old, "--"+o.Name
	texts := []string{text}
	if old.list {
		texts = strings.Split(text, ",")
	}
	check, now := o.Typed(), (*option)(nil)
	if old.flag != "" {
		now = l.find(l.Cmd, old.flag, true)
		check = now.Typed()
	}
	for _, text := range texts {
		if f := check.Fault(label, text); f != nil {
			if old.flag != "" && strings.TrimSpace(text) != "" {
				f.Field, f.Problem = "--"+old.flag, f.Problem+"; it is called --"+old.flag+" now"
			}
			l.Faults = append(l.Faults, *f)
			return
		}
		switch {
		case old.operand && len(l.Operands) > 0:
			l.Faults = append(l.Faults, Fault{Field: label, Value: text, Problem: label + " is given twice"})
		case old.operand:
			l.Operands = append(l.Operands, text)
		case now != nil:
			l.set(now, text)
		}
	}
}

// threadOperands moves --thread to the missing operand of a command for which it names
// the operand: then the call does not speak for that thread.
func (l *linter) threadOperands() {
	if l.Cmd == nil || !l.Cmd.NamesThread || len(l.Operands) > 0 {
		return
	}
	for i, f := range l.Flags {
		if f.Name == "thread" {
			l.Operands = []string{f.Text}
			l.Flags = append(l.Flags[:i], l.Flags[i+1:]...)
			return
		}
	}
}
