package thread

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
)

// This file lists the first threads that match a filter. It decodes only those; for
// the others it determines from the bytes that they match and when they were
// created.

// Page is the beginning of a list, with the number of threads in the whole list.
type Page struct {
	Threads []Thread
	Total   int
}

// First returns the first limit threads of List, or all for limit 0, and their total
// number. Errors: those of reading the archive.
func (s *State) First(f Filter, limit int) (Page, error) {
	order := f.Order
	if f.Ready {
		order = ByTurn
	}
	page := &beginning{limit: limit, order: order}
	if err := s.eachLine(f, page.add); err != nil {
		return Page{}, err
	}
	return page.result(s), nil
}

// match decides from a line's bytes whether a thread matches a filter, as far as the
// bytes are conclusive.
type match struct {
	ready   *Readiness
	filter  Filter
	members []textMember // the line must have each of them
	enough  bool         // a line that has all of them matches
}

func (s *State) match(f Filter) match {
	out := match{ready: s.Readiness(), filter: f, enough: f.Tag == "" && f.Holder == "" && f.Since == 0 && f.From.IsZero()}
	add := func(key, value string) {
		if value != "" {
			out.members = append(out.members, textMember{key, value, pattern(key, value)})
		}
	}
	add("status", string(f.Status))
	add("objectiveId", string(f.Objective))
	add("parentId", string(f.Parent))
	add("executor", string(f.Executor))
	return out
}

func (f match) passes(line Line, whole func() Thread) bool {
	for _, m := range f.members {
		if !m.in(line.JSON) {
			return false
		}
	}
	if f.filter.Holder != "" && !bytes.Contains(line.JSON, []byte(`claim":{`)) {
		return false
	}
	ready := true
	if f.filter.Ready {
		var ok bool
		if ready, ok = f.ready.free(line); !ok {
			return f.filter.passes(whole(), f.ready)
		}
	}
	if f.filter.Runs && bytes.Contains(line.JSON, []byte(`run":[`)) {
		return f.filter.passes(whole(), f.ready)
	}
	if f.enough || !ready {
		return ready
	}
	return f.filter.passes(whole(), f.ready)
}

// textMember is a member of a record whose value is a text without escapes.
type textMember struct {
	key, value string
	pattern    []byte
}

// in reports whether a record has the member.
func (m textMember) in(line []byte) bool {
	if !bytes.Contains(line, m.pattern) {
		return false
	}
	text, ok := field(line, m.key)
	return ok && string(text) == m.value
}

// beginning collects the first lines of a list.
type beginning struct {
	limit int
	order Order
	total int
	first []listed // ordered, once there are limit of them
	// newest was created last. The order ByUrgency would hide it behind many that have changed
	// since; it takes the last place, but never that of one that waits.
	newest listed
}

// listed is a line with its sort keys.
type listed struct {
	line    Line
	urgency int // of the order ByUrgency, or in the order ByTurn the priority; 0 in others
	created moment
	changed moment // only for the order ByUrgency
}

// moment is a time of a line: as text (see momentIn), or, if it cannot be read from the
// line's bytes, as a time.
type moment struct {
	text []byte
	time time.Time
}

func newBeginning(limit int) *beginning { return &beginning{limit: limit} }

func (b *beginning) add(line Line) {
	b.total++
	l := listed{line: line, created: createdOf(line)}
	if b.order == ByTurn {
		l.urgency = int(priorityOf(line))
	}
	if b.order == ByUrgency {
		l.urgency, l.changed = statusIn(line.JSON).urgency(), changedOf(line)
		if b.total == 1 || l.newer(b.newest) {
			b.newest = l
		}
	}
	full := b.limit > 0 && len(b.first) >= b.limit
	switch {
	case !full:
		b.first = append(b.first, l)
		if len(b.first) == b.limit {
			slices.SortFunc(b.first, listed.compare)
		}
	case l.compare(b.first[len(b.first)-1]) < 0:
		i, _ := slices.BinarySearchFunc(b.first, l, listed.compare)
		copy(b.first[i+1:], b.first[i:])
		b.first[i] = l
	}
}

func (b *beginning) result(s *State) Page {
	isNewest := func(l listed) bool { return l.line.ID == b.newest.line.ID }
	cut := b.order == ByUrgency && len(b.first) < b.total
	if last := len(b.first) - 1; cut && b.first[last].urgency > 0 && !slices.ContainsFunc(b.first, isNewest) {
		b.first[last] = b.newest
	}
	slices.SortFunc(b.first, listed.compare)
	page := Page{Threads: make([]Thread, len(b.first)), Total: b.total}
	for i, l := range b.first {
		t, live := s.Threads.Peek(l.line.ID)
		if !live {
			t = decode[Thread](l.line.JSON)
		}
		page.Threads[i] = t
	}
	return page
}

// compare compares by urgency or priority and the latest change, which are the same for all
// in other orders, then by creation time, then id.
func (l listed) compare(o listed) int {
	c := cmp.Compare(l.urgency, o.urgency)
	if c == 0 {
		c = o.changed.compare(l.changed)
	}
	if c == 0 {
		c = l.created.compare(o.created)
	}
	if c == 0 {
		c = strings.Compare(l.line.ID, o.line.ID)
	}
	return c
}

// newer reports whether a thread follows another in the order of creation.
func (l listed) newer(o listed) bool {
	c := l.created.compare(o.created)
	return c > 0 || c == 0 && l.line.ID > o.line.ID
}

func priorityOf(line Line) Priority {
	if !bytes.Contains(line.JSON, []byte(`"priority":`)) {
		return NormalPriority
	}
	return decode[Thread](line.JSON).Priority.Level()
}

func createdOf(line Line) moment {
	if text, ok := createdIn(line.JSON); ok {
		return moment{text: text}
	}
	return moment{time: decode[Thread](line.JSON).Created.At}
}

func changedOf(line Line) moment {
	if text, ok := changedIn(line.JSON); ok {
		return moment{text: text}
	}
	return moment{time: decode[Thread](line.JSON).Updated}
}

func (m moment) compare(o moment) int {
	if m.text == nil || o.text == nil {
		return byTime(m.when(), o.when())
	}
	return bytes.Compare(m.text, o.text)
}

func (m moment) when() time.Time {
	if m.text == nil {
		return m.time
	}
	t, _ := time.Parse(time.RFC3339Nano, string(m.text)+"Z") // it has the form
	return t
}

// inListOrder sorts by creation time, then id.
func inListOrder(all []Thread) []Thread {
	slices.SortFunc(all, func(a, b Thread) int {
		if c := byTime(a.Created.At, b.Created.At); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return all
}
