package setup

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// This file has the pieces that are values in JSON: a member of an object, and an element
// of a list. All that is there stays as it is, comments and commas behind the last member
// included: the text is changed at the places that the parser finds, and the result counts
// only if it says what it should.
//
// Such a value has no mark, so it is found by where it is, or by a text in it. Its former
// versions are in the table.

// value is a value of leslie's in JSON.
type value struct {
	// path leads to the object or list that has it, through objects that are made if they
	// are missing.
	path []string
	// key is its name in the object; "" if it is an element of a list.
	key string
	// holds is what an element of leslie's contains, and no other.
	holds string
	json  string   // on one line
	older []string // its former versions
}

// maxBrackets is how many objects and lists a text may have: the parser goes as deep as
// they do.
const maxBrackets = 10000

// parsed is a text with what its parser says of it.
type parsed struct {
	text []byte
	root hujson.Value
	says any // as a reader of JSON sees it
}

// parse reads a text. An empty one is an object.
func parse(text []byte) (parsed, error) {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBrackets {
		return parsed{}, &Broken{"it has too many brackets"}
	}
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return parsed{}, &Broken{"it is no JSON: " + strings.TrimPrefix(err.Error(), "hujson: ")}
	}
	standard := root.Clone()
	standard.Standardize()
	p := parsed{text: text, root: root}
	if err := json.Unmarshal(standard.Pack(), &p.says); err != nil {
		return parsed{}, &Broken{"it is no JSON: " + err.Error()}
	}
	if _, is := root.Value.(*hujson.Object); !is {
		return parsed{}, &Broken{"it is no JSON object"}
	}
	return p, nil
}

// blank reports whether a text has nothing in it; no file is not blank.
func blank(text []byte) bool { return text != nil && len(bytes.TrimSpace(text)) == 0 }

// container returns the object or list that has the value, and how many steps of the path
// lead to what there is of it.
func (v value) container(p parsed) (at *hujson.Value, steps int) {
	at = &p.root
	for _, name := range v.path {
		o, is := at.Value.(*hujson.Object)
		if !is {
			break
		}
		i := memberOf(o, name)
		if i < 0 {
			break
		}
		at, steps = &o.Members[i].Value, steps+1
	}
	return at, steps
}

// memberOf returns the last member of a name, which is the one that counts; -1 for none.
func memberOf(o *hujson.Object, name string) int {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if lit, is := o.Members[i].Name.Value.(hujson.Literal); is && lit.String() == name {
			return i
		}
	}
	return -1
}

// found returns the index of the value in its container, -1 if it is not there.
func (v value) found(at *hujson.Value) int {
	if v.key != "" {
		if o, is := at.Value.(*hujson.Object); is {
			return memberOf(o, v.key)
		}
		return -1
	}
	list, is := at.Value.(*hujson.Array)
	if !is {
		return -1
	}
	return slices.IndexFunc(list.Elements, func(e hujson.Value) bool { return contains(said(e), v.holds) })
}

// said is a value as a reader of JSON sees it.
func said(v hujson.Value) (out any) {
	v = v.Clone()
	v.Standardize()
	_ = json.Unmarshal(v.Pack(), &out) // it is part of a text that was read
	return out
}

// contains reports whether a text in a value contains another.
func contains(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return contains(e, text) })
	case map[string]any:
		for _, e := range v {
			if contains(e, text) {
				return true
			}
		}
	}
	return false
}

func (v value) look(text []byte) (State, error) {
	if text == nil || blank(text) {
		return Missing, nil
	}
	p, err := parse(text)
	if err != nil {
		return "", err
	}
	there := v.there(p)
	if there == nil {
		return Missing, nil
	}
	if reflect.DeepEqual(there, read(v.json)) {
		return Installed, nil
	}
	if slices.ContainsFunc(v.older, func(older string) bool { return reflect.DeepEqual(there, read(older)) }) {
		return Outdated, nil
	}
	return Edited, nil
}

// read is what a value of the table says.
func read(text string) (out any) {
	_ = json.Unmarshal([]byte(text), &out)
	return out
}

func (v value) install(text []byte) ([]byte, error) {
	after, err := v.inserted(text)
	if err != nil {
		return nil, err
	}
	p, err := parse(after)
	if err != nil {
		return nil, &Broken{"nothing can be added where it belongs"}
	}
	var before any = map[string]any{}
	if text != nil && !blank(text) {
		was, err := parse(text)
		if err != nil {
			return nil, err
		}
		before = was.says
	}
	if state, err := v.look(after); err != nil || state != Installed || !keeps(before, p.says) {
		return nil, &Broken{"nothing can be added where it belongs: a key occurs twice, or has another value than a list or an object"}
	}
	return after, nil
}

// keeps reports whether a value still says all that it said before: objects may have got
// members, and lists elements.
func keeps(before, after any) bool {
	switch b := before.(type) {
	case map[string]any:
		a, is := after.(map[string]any)
		if !is {
			return false
		}
		for key, value := range b {
			now, has := a[key]
			if !has || !keeps(value, now) {
				return false
			}
		}
		return true
	case []any:
		a, is := after.([]any)
		for _, e := range a {
			if len(b) > 0 && reflect.DeepEqual(b[0], e) {
				b = b[1:]
			}
		}
		return is && len(b) == 0
	}
	return reflect.DeepEqual(before, after)
}

// inserted is a text with the value, before everything else in its container. How it is
// written tells what was there before, which remove has to find out: lines in a new file
// and beside other lines, one line everywhere else, and spaces around it in an object or
// list that was empty.
func (v value) inserted(text []byte) ([]byte, error) {
	switch {
	case text == nil:
		return []byte("{\n  " + v.member(v.path, layout{"\n", "  ", "  "}) + "\n}\n"), nil
	case blank(text):
		return append(bytes.Clone(text), "{"+v.member(v.path, layout{})+"}"...), nil
	}
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	at, steps := v.container(p)
	first := -1 // where the first member begins
	switch c := at.Value.(type) {
	case *hujson.Object:
		if len(c.Members) > 0 {
			first = c.Members[0].Name.StartOffset
		}
		if steps == len(v.path) && v.key == "" {
			return nil, &Broken{quotedPath(v.path) + " is an object, and should be a list"}
		}
	case *hujson.Array:
		if len(c.Elements) > 0 {
			first = c.Elements[0].StartOffset
		}
		if steps < len(v.path) || v.key != "" {
			return nil, &Broken{quotedPath(v.path[:steps]) + " is a list, and should be an object"}
		}
	default:
		return nil, &Broken{quotedPath(v.path[:steps]) + " is neither an object nor a list"}
	}
	start := at.StartOffset + 1
	if first < 0 {
		return splice(text, start, start, " "+v.member(v.path[steps:], layout{})+" "), nil
	}
	lines := p.layout(start, first)
	comma := ", "
	if lines.newline != "" {
		comma = ","
	}
	return splice(text, start, start, lines.newline+lines.indent+v.member(v.path[steps:], lines)+comma), nil
}

func quotedPath(path []string) string {
	if len(path) == 0 {
		return "the whole"
	}
	return `"` + strings.Join(path, ".") + `"`
}

// layout is how the members of an object are written: each on a line that begins with
// indent, which grows by unit within; all on one line if newline is empty.
type layout struct{ newline, indent, unit string }

// layout finds out how the members between two places are written.
func (p parsed) layout(start, first int) layout {
	space := p.text[start:first]
	at := bytes.LastIndexByte(space, '\n')
	if at < 0 {
		return layout{}
	}
	out := layout{newline: "\n", indent: leading(space[at+1:]), unit: "  "}
	if at > 0 && space[at-1] == '\r' {
		out.newline = "\r\n"
	}
	if root, is := p.root.Value.(*hujson.Object); is && len(root.Members) > 0 {
		before := p.text[:root.Members[0].Name.StartOffset]
		if unit := leading(before[bytes.LastIndexByte(before, '\n')+1:]); unit != "" {
			out.unit = unit
		}
	}
	return out
}

// leading returns the spaces and tabs with which a text begins.
func leading(text []byte) string {
	return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))])
}

// member is the value, in new objects and lists by the path to it.
func (v value) member(path []string, l layout) string {
	if len(path) == 0 {
		if v.key == "" {
			return v.json
		}
		return quote(v.key) + ": " + v.json
	}
	open, end := "{", "}"
	if len(path) == 1 && v.key == "" {
		open, end = "[", "]"
	}
	inner := l
	if l.newline != "" {
		inner.indent += l.unit
		open, end = open+l.newline+inner.indent, l.newline+l.indent+end
	}
	return quote(path[0]) + ": " + open + v.member(path[1:], inner) + end
}

// quote is a text in JSON, with < and > as they are.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text is always possible
	return strings.TrimSuffix(b.String(), "\n")
}

// remove takes the value out, with the objects and lists that have nothing else in them.
// Of the texts without it, the one counts into which inserting it gives this text. If
// there is none, because the text was written anew since, it is the first that says the
// same otherwise.
func (v value) remove(text []byte) ([]byte, error) {
	p, err := parse(text)
	if err != nil {
		return nil, err
	}
	all := v.without(p)
	for _, older := range append([]string{v.json}, v.older...) {
		was := v
		was.json = older
		for _, candidate := range all {
			if again, err := was.inserted(candidate); err == nil && bytes.Equal(again, text) {
				return candidate, nil
			}
		}
	}
	for _, candidate := range all {
		if candidate == nil || blank(candidate) {
			continue
		}
		now, err := parse(candidate)
		if err == nil && keeps(now.says, p.says) && v.onlyLost(p, now) {
			return candidate, nil
		}
	}
	return nil, &Broken{"it cannot be taken out where it stands"}
}

// onlyLost reports whether a text says nothing less than another but the value, and the
// objects and lists that have nothing in them without it.
func (v value) onlyLost(before, after parsed) bool {
	lost, own := size(before.says)-size(after.says), size(v.there(before))
	return lost >= own && lost <= own+len(v.path)
}

// there is the value as it stands in a text, nil if it does not.
func (v value) there(p parsed) any {
	at, steps := v.container(p)
	if steps < len(v.path) {
		return nil
	}
	i := v.found(at)
	if i < 0 {
		return nil
	}
	if list, is := at.Value.(*hujson.Array); is {
		return said(list.Elements[i])
	}
	return said(at.Value.(*hujson.Object).Members[i].Value)
}

// size counts the values in a value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += size(e)
		}
	case map[string]any:
		for _, e := range v {
			n += size(e)
		}
	}
	return n
}

// without returns texts without the value: first those that lose the most containers.
func (v value) without(p parsed) (out [][]byte) {
	at, _ := v.container(p)
	i := v.found(at)
	// chain are the containers from the root to the value, and which of their members leads to it.
	type link struct {
		at *hujson.Value
		i  int
	}
	chain := []link{}
	for now, path := &p.root, v.path; len(path) > 0; path = path[1:] {
		o := now.Value.(*hujson.Object)
		k := memberOf(o, path[0])
		chain = append(chain, link{now, k})
		now = &o.Members[k].Value
	}
	chain = append(chain, link{at, i})
	alone := len(chain)
	for alone > 0 && count(chain[alone-1].at) == 1 {
		alone--
	}
	if alone == 0 { // nothing else in the file
		root := p.root
		rest := append(bytes.Clone(p.text[:root.StartOffset]), p.text[root.EndOffset:]...)
		out = append(out, nil, rest)
		alone = 1
	}
	for _, l := range chain[alone-1:] {
		out = append(out, cuts(p.text, l.at, l.i)...)
	}
	return out
}

// count is how many members a container has.
func count(v *hujson.Value) int {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return len(c.Members)
	case *hujson.Array:
		return len(c.Elements)
	}
	return 0
}

// cuts returns texts without a member of a container.
func cuts(text []byte, at *hujson.Value, i int) (out [][]byte) {
	type part struct{ before, from, to int } // where the space before it begins; its own bytes
	var parts []part
	before := at.StartOffset + 1
	add := func(first, last hujson.Value) {
		parts = append(parts, part{before, first.StartOffset, last.EndOffset})
		before = last.EndOffset + len(last.AfterExtra) + 1 // behind the comma
	}
	switch c := at.Value.(type) {
	case *hujson.Object:
		for _, m := range c.Members {
			add(m.Name, m.Value)
		}
	case *hujson.Array:
		for _, e := range c.Elements {
			add(e, e)
		}
	}
	own, last := parts[i], i == len(parts)-1
	cut := func(from, to int) { out = append(out, splice(text, from, to, "")) }
	// The space before it, but no comment.
	space := own.before + len(bytes.TrimRight(text[own.before:own.from], " \t\r\n"))
	switch {
	case !last:
		behind := parts[i+1].before
		if text[behind] == ' ' {
			cut(own.before, behind+1)
		}
		cut(space, behind)
	case len(parts) == 1:
		cut(at.StartOffset+1, at.EndOffset-1)
		if text[own.before] == ' ' && text[own.to] == ' ' {
			cut(own.before, own.to+1)
		}
		cut(space, own.to)
	default:
		cut(parts[i-1].to, own.to) // with the comma before it
	}
	return out
}
