package thread

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// This file lists threads for somebody who wants to see the first of them: those
// are decoded, of the others it is known that they pass and when they were made.

// Page is the beginning of a list, and how many threads the whole of it has.
type Page struct {
	Threads []Thread
	Total   int
}

// First returns the first threads of List, at most limit, and counts the others;
// limit 0 is all of them. Errors: those of reading the archive.
func (s *State) First(f Filter, limit int) (Page, error) {
	sift := s.match(f)
	page := newBeginning(limit)
	for _, line := range s.Threads.Lines() {
		if sift.passes(line, func() Thread { t, _ := s.Threads.Peek(line.ID); return t }) {
			page.add(line)
		}
	}
	if f.All || f.Status == Archived {
		lines, err := s.archivedLines(TableThreads)
		if err != nil {
			return Page{}, err
		}
		for _, line := range lines {
			if sift.passes(line, func() Thread { return decode[Thread](line.JSON) }) {
				page.add(line)
			}
		}
	}
	return page.result(s), nil
}

// match decides by a line's bytes whether a thread passes a filter, as far as that
// is exact.
type match struct {
	state  *State
	filter Filter
	marks  [][]byte // each has to be there
	enough bool     // a line that has them all passes
}

func (s *State) match(f Filter) match {
	out := match{state: s, filter: f, enough: f.Tag == ""}
	mark := func(key, value string) {
		if value != "" {
			out.marks = append(out.marks, pattern(key, value))
		}
	}
	mark("status", string(f.Status))
	mark("objectiveId", string(f.Objective))
	mark("parentId", string(f.Parent))
	mark("executor", string(f.Executor))
	if f.Ready {
		mark("status", string(Active))
	}
	return out
}

func (f match) passes(line Line, whole func() Thread) bool {
	for _, mark := range f.marks {
		if !bytes.Contains(line.JSON, mark) {
			return false
		}
	}
	ready := true
	if f.filter.Ready {
		if bytes.Contains(line.JSON, []byte(`claim":{`)) {
			return f.state.passes(f.filter, whole()) // it may have run out
		}
		ready = f.state.needsNothing(line.JSON)
	}
	if f.enough || !ready {
		return ready
	}
	return f.state.passes(f.filter, whole())
}

// needsNothing reports whether all threads that a thread's line depends on are
// terminated. The ids stand between quotes, and none of them is escaped.
func (s *State) needsNothing(line []byte) bool {
	const key = `dependsOn":[`
	i := bytes.Index(line, []byte(key))
	if i < 0 {
		return true
	}
	rest := line[i+len(key):]
	for len(rest) > 0 && rest[0] == '"' {
		end := bytes.IndexByte(rest[1:], '"') + 1
		if end < 1 {
			return false
		}
		if on, there := s.Threads.line(rest[1:end]); there && !statusIn(on).Terminated() {
			return false
		}
		rest = bytes.TrimPrefix(rest[end+1:], []byte(","))
	}
	return true
}

// beginning collects the first lines of a list.
type beginning struct {
	limit int
	total int
	first []listed // in order, once there are limit of them
}

// listed is a line and its place in the order of a list.
type listed struct {
	line    Line
	created []byte    // see createdIn; nil where only time is known
	time    time.Time // of a line whose bytes do not tell
}

func newBeginning(limit int) *beginning { return &beginning{limit: limit} }

func (b *beginning) add(line Line) {
	b.total++
	l := listed{line: line}
	var ok bool
	if l.created, ok = createdIn(line.JSON); !ok {
		l.created, l.time = nil, decode[Thread](line.JSON).Created.At
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

// compare orders by creation time, then id.
func (l listed) compare(o listed) int {
	c := bytes.Compare(l.created, o.created)
	if l.created == nil || o.created == nil {
		c = byTime(l.when(), o.when())
	}
	if c == 0 {
		c = strings.Compare(l.line.ID, o.line.ID)
	}
	return c
}

func (l listed) when() time.Time {
	if l.created == nil {
		return l.time
	}
	t, err := time.Parse(time.RFC3339Nano, string(l.created)+"Z")
	if err != nil {
		return decode[Thread](l.line.JSON).Created.At
	}
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
