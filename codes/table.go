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
	// Name is the identifier in this package, for readers of the code.
	Name string
	// Kind is the stable snake_case name on the wire.
	Kind string
	// Title is the short name, as it stands in the log.
	Title string
	// Template is the message with {names}; Subject is the detail key whose
	// value stands for {id}, "" where the template has none or the key is id.
	Template, Subject string
	// Stands is the {name} that the Subject stands for where it is not {id}.
	Stands string
	// Explanation follows the template in the message; one or two sentences.
	Explanation string
	// Causes are what usually leads here, one sentence each.
	Causes []string
	// Hint says what to do; it may name facts, as the template does.
	Hint string
	// Next is the first next command as a template over the facts. It is ""
	// where no line fits every caller (NoNext then says why) or where each call
	// composes its own (NoNext is "" too).
	Next, NoNext string
	// Recoverable: the caller can get on without a person. Retryable: the same
	// call may succeed later.
	Recoverable, Retryable bool
	// Example is a command line that can raise the code.
	Example string
}

// Entry returns the row of c; a code that is not in the table gets the row of
// Unknown, so that no caller ever has to check.
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

// Table returns every row in the order of the numbers.
func Table() []Entry { return append([]Entry(nil), table[:]...) }

// Details returns the detail keys that the row's message, hint and next command
// are filled from, in the order in which they are named: what a call that
// raises the code states.
func (e Entry) Details() []string {
	placeholder := regexp.MustCompile(`\{(\w+)\}`)
	var keys []string
	for _, template := range []string{e.Template, e.Hint, e.Next} {
		for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
			key := m[1]
			if key == e.stands() && e.Subject != "" {
				key = e.Subject
			}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Message returns the message that these facts make: the template filled, then
// the explanation as a sentence of its own.
func (e Entry) Message(facts fact.List) string {
	msg := strings.TrimSuffix(e.withID(facts).Fill(e.Template), ": ")
	if e.Explanation == "" {
		return msg
	}
	if !strings.HasSuffix(msg, ".") && !strings.HasSuffix(msg, "!") && !strings.HasSuffix(msg, "?") {
		msg += "."
	}
	return msg + " " + e.Explanation
}

// plainLine reports whether a command line reads the same in every shell,
// without quoting.
func plainLine(line string) bool {
	special := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(" ._/-", r)
	}
	return line != "" && strings.IndexFunc(line, special) < 0
}

// defaultNext fills the row's next command. A fact that is missing, or that a
// shell would read as more than a word, leaves none: no line is better than
// one that does not run as it stands.
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
	return facts.With(fact.Of(e.stands(), v))
}

func (e Entry) stands() string {
	if e.Stands != "" {
		return e.Stands
	}
	return "id"
}
