package toolserver

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/nearest"
)

// This file describes the arguments of tools to a model, and reads them. All that is wrong
// with a call is reported at once.

// kind is the type of an argument, as in a JSON schema.
type kind string

const (
	text   kind = "string"
	list   kind = "array" // of strings
	number kind = "integer"
	toggle kind = "boolean"
)

// argument is one argument of a tool.
type argument struct {
	name  string
	kind  kind
	about string
	needs bool     // it is required
	oneOf []string // what a text may be, nil: anything
	// of is the request's field if its name differs.
	of string
}

// must is an argument that is required.
func must(a argument) argument { a.needs = true; return a }

// about is the argument that nearly every tool has.
func about(what string) argument {
	return argument{name: "thread", kind: text, about: what + " (default: your own)"}
}

// seconds is an argument for how long a call may wait.
func seconds(what string) argument { return argument{name: "seconds", kind: number, about: what} }

// schema is the JSON schema of arguments.
func schema(of []argument) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, a := range of {
		p := map[string]any{"type": a.kind}
		if a.about != "" {
			p["description"] = a.about
		}
		if a.kind == list {
			p["items"] = map[string]any{"type": text}
		}
		if a.oneOf != nil {
			p["enum"] = a.oneOf
		}
		properties[a.name] = p
		if a.needs {
			required = append(required, a.name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// arguments are what a call was given, by name, and what is wrong with it.
type arguments struct {
	of     []argument
	values map[string]any
	faults []app.Fault
}

// read reads the arguments of a call.
func read(of []argument, raw json.RawMessage) *arguments {
	a := &arguments{of: of, values: map[string]any{}}
	var given map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		a.fault("arguments", "", "arguments must be an object")
		return a
	}
	names := make([]string, len(of))
	for i, one := range of {
		names[i] = one.name
	}
	for name := range given {
		if !slices.Contains(names, name) {
			a.faults = append(a.faults, app.Fault{Field: name, Problem: "there is no argument " + quoted(name), Nearest: nearest.Name(name, names)})
		}
	}
	slices.SortFunc(a.faults, func(x, y app.Fault) int { return strings.Compare(x.Field, y.Field) })
	for _, one := range of {
		v, ok := given[one.name]
		if !ok || string(v) == "null" {
			if one.needs {
				a.fault(one.name, "", one.name+" is missing")
			}
			continue
		}
		a.take(one, v)
	}
	return a
}

// take reads one argument.
func (a *arguments) take(one argument, raw json.RawMessage) {
	var err error
	switch one.kind {
	case text:
		var v string
		if err = json.Unmarshal(raw, &v); err == nil && one.oneOf != nil && !slices.Contains(one.oneOf, v) {
			a.faults = append(a.faults, app.Fault{
				Field: one.name, Value: v, Problem: one.name + " is one of " + strings.Join(one.oneOf, ", ") + ", not " + quoted(v), Nearest: nearest.Name(v, one.oneOf), Allowed: one.oneOf,
			})
			return
		} else if err == nil && v == "" {
			a.fault(one.name, "", one.name+" is empty: leave it out, or give it a value")
			return
		}
		a.values[one.name] = v
	case list:
		var v []string
		err = json.Unmarshal(raw, &v)
		a.values[one.name] = v
	case number:
		var v float64
		err = json.Unmarshal(raw, &v)
		if err == nil && (v != math.Trunc(v) || v < 0 || v > maxNumber) {
			a.fault(one.name, string(raw), one.name+" is a whole number from 0 to "+fmt.Sprint(maxNumber)+", not "+string(raw))
			return
		}
		a.values[one.name] = int(v)
	case toggle:
		var v bool
		err = json.Unmarshal(raw, &v)
		a.values[one.name] = v
	}
	if err != nil {
		delete(a.values, one.name)
		a.fault(one.name, "", one.name+" must be "+map[kind]string{text: "a string", list: "a list of strings", number: "a number", toggle: "true or false"}[one.kind])
	}
}

// maxNumber is the highest number that is taken: seconds of a month.
const maxNumber = 31 * 24 * 3600

// fault adds a fault; only the first one of an argument counts.
func (a *arguments) fault(field, value, problem string) {
	if a.faulty(field) {
		return
	}
	a.faults = append(a.faults, app.Fault{Field: field, Value: value, Problem: problem})
}

// faulty reports whether an argument has a fault already.
func (a *arguments) faulty(name string) bool {
	return slices.ContainsFunc(a.faults, func(f app.Fault) bool { return f.Field == name })
}

func (a *arguments) has(name string) bool { return a.values[name] != nil }

func (a *arguments) text(name string) string { v, _ := a.values[name].(string); return v }

func (a *arguments) list(name string) []string { v, _ := a.values[name].([]string); return v }

func (a *arguments) on(name string) bool { v, _ := a.values[name].(bool); return v }

func (a *arguments) number(name string) int { v, _ := a.values[name].(int); return v }

func (a *arguments) seconds() time.Duration {
	return time.Duration(a.number("seconds")) * time.Second
}

// named returns the argument's name for a request's field.
func (a *arguments) named(field string) string {
	for _, one := range a.of {
		if one.of == field {
			return one.name
		}
	}
	return strings.ToLower(field[:1]) + field[1:]
}

// check adds what a request says is wrong with it.
func (a *arguments) check(faults func(app.Names) []app.Fault) {
	for _, f := range faults(a.named) {
		f.Field = a.named(f.Field)
		known := slices.ContainsFunc(a.faults, func(g app.Fault) bool { return g.Field == f.Field || f.With != "" && g.Field == a.named(f.With) })
		if !known {
			a.faults = append(a.faults, f)
		}
	}
}

// refusal returns T903 with all faults, nil if there are none.
func (a *arguments) refusal(tool string) error {
	if len(a.faults) == 0 {
		return nil
	}
	sentences := make([]string, len(a.faults))
	for i, f := range a.faults {
		sentences[i] = f.Sentence()
	}
	err := codes.InvalidArgument.New(fact.Of("reason", strings.Join(sentences, "; ")), fact.Of("fields", a.faults))
	return err.WithHint(a.usage(tool)).WithNext()
}

// usage says which arguments a tool has.
func (a *arguments) usage(tool string) string {
	if len(a.of) == 0 {
		return tool + " has no arguments"
	}
	words := make([]string, len(a.of))
	for i, one := range a.of {
		if words[i] = one.name; !one.needs {
			words[i] = "[" + one.name + "]"
		}
	}
	return "The arguments of " + tool + ": " + strings.Join(words, ", ")
}

// usageOf turns a use case's refusal of its request into one of arguments; it returns
// other errors unchanged.
func (a *arguments) usageOf(tool string, err error) error {
	e := codes.Of(err)
	if e == nil || e.Code() != codes.InvalidArgument {
		return err
	}
	found, _ := e.Facts().Get("fields")
	faults, ok := found.([]app.Fault)
	if !ok {
		return err
	}
	named := slices.Clone(faults)
	for i := range named {
		named[i].Field = a.named(named[i].Field)
	}
	return e.With(fact.Of("fields", named)).WithHint(a.usage(tool)).WithNext()
}

// quoted is a text in quotes, as in JSON.
func quoted(s string) string {
	b, _ := fact.JSON(s) // a string can always be encoded
	return string(b)
}
