package codes

import (
	"regexp"
	"slices"
	"sort"
	"strings"

	"leslie/internal/fact"
)

// Entry is one row of the table.
type Entry struct {
	Code Code
	// Name is the identifier in this package.
	Name string
	// Kind is the stable snake_case name on the wire.
	Kind string
	// Title is the short name that the log uses.
	Title string
	// Template is the message with {names}. Subject is the detail key whose
	// value fills {id}; "" if the template has no {id} or the key is id itself.
	Template, Subject string
	// One is the template where the detail Counted is 1; "" if it is the same.
	One, Counted string
	// None is the whole message where the detail Counted is 0; "" if it is the same.
	None string
	// Placeholder is the {name} that Subject fills if it is not {id}.
	Placeholder string
	// Unchanged and Explanation follow the template in the message: what is so if the call changed nothing, and one or
	// two sentences.
	Unchanged, Explanation string
	// Causes are the usual causes, one sentence each.
	Causes []string
	// Hint says what to do; like the template it may contain {names}.
	Hint string
	// Next is the first next command, a template like Hint. It is "" if no line
	// fits every caller (NoNext then says why) or if each call composes its own
	// (NoNext is then "" too).
	Next, NoNext string
	// Recoverable: the caller can continue without a person. Retryable: the same
	// call may succeed later.
	Recoverable, Retryable bool
	// Expected: a caller that does nothing wrong meets it (the end of a wait, a conflict,
	// a failing check, a denial, a lock), so it does not count towards the mistake limit.
	// Every other code does.
	Expected bool
	// RetryAfterMs is how many milliseconds the caller of a Retryable code should let
	// pass, unless the error says it better.
	RetryAfterMs int64
	// Example is a command line that can raise the code.
	Example string
}

// Entry returns the row of c, or the row of Unknown if c is not in the table, so
// callers need no check.
func (c Code) Entry() Entry {
	i := sort.Search(len(table), func(i int) bool { return table[i].Code >= c })
	if i < len(table) && table[i].Code == c {
		return table[i]
	}
	if c == Unknown {
		return Entry{Code: Unknown, Kind: "unknown", Template: "Unknown error: {reason}"}
	}
	return Unknown.Entry()
}

// Table returns a copy of all rows, ordered by number.
func Table() []Entry { return append([]Entry(nil), table[:]...) }

// Details returns the detail keys that fill the row's message, hint and next
// command, in order of appearance: the facts that a call raising the code must
// provide.
func (e Entry) Details() []string {
	name := regexp.MustCompile(`\{(\w+)\}`)
	var keys []string
	for _, template := range []string{e.Template, e.Hint, e.Next} {
		for _, m := range name.FindAllStringSubmatch(template, -1) {
			key := m[1]
			if key == e.placeholder() && e.Subject != "" {
				key = e.Subject
			}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Message returns the template filled with these facts, followed as sentences of their own by
// Unchanged, unless the facts say that something was changed, and the explanation.
func (e Entry) Message(facts fact.List) string {
	template := e.Template
	switch count := facts.Text(e.Counted); {
	case e.None != "" && count == "0":
		return e.withID(facts).Fill(e.None)
	case e.One != "" && count == "1":
		template = e.One
	}
	msg := strings.TrimSuffix(e.withID(facts).Fill(template), ": ")
	after := e.Meaning()
	if changed, _ := facts.Get("changed"); changed == true {
		after = e.Explanation
	}
	if after == "" {
		return msg
	}
	if !strings.HasSuffix(msg, ".") && !strings.HasSuffix(msg, "!") && !strings.HasSuffix(msg, "?") {
		msg += "."
	}
	return msg + " " + after
}

// Meaning is what follows the template of a call that changed nothing.
func (e Entry) Meaning() string { return strings.TrimSpace(e.Unchanged + " " + e.Explanation) }

// plainLine reports whether a command line means the same in every shell without
// quoting.
func plainLine(line string) bool {
	special := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(" ._/-", r)
	}
	return line != "" && strings.IndexFunc(line, special) < 0
}

// defaultNext fills the row's next command. It returns none if a fact is missing
// or is more than one word to a shell: no line is better than one that does not
// run unchanged.
func (e Entry) defaultNext(facts fact.List) []string {
	next := e.withID(facts).Fill(e.Next)
	if !plainLine(next) {
		return nil
	}
	return []string{next}
}

func (e Entry) withID(facts fact.List) fact.List {
	if e.Subject == "" {
		return facts
	}
	v, ok := facts.Get(e.Subject)
	if !ok {
		return facts
	}
	return facts.With(fact.Of(e.placeholder(), v))
}

// Shown returns the row as people read it: its templates name the detail keys that fill
// them, {threadId} and not {id}.
func (e Entry) Shown() Entry {
	if e.Subject == "" {
		return e
	}
	key := fact.New(fact.Of(e.placeholder(), "{"+e.Subject+"}"))
	e.Template, e.Hint, e.Next = key.Fill(e.Template), key.Fill(e.Hint), key.Fill(e.Next)
	e.Subject, e.Placeholder = "", ""
	return e
}

func (e Entry) placeholder() string {
	if e.Placeholder != "" {
		return e.Placeholder
	}
	return "id"
}
