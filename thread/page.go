package thread

import (
	"bytes"
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
	matcher := s.match(f)
	page := newBeginning(limit)
	for _, line := range s.Threads.Lines() {
		if matcher.passes(line, func() Thread { t, _ := s.Threads.Peek(line.ID); return t }) {
			page.add(line)
		}
	}
	if f.All || f.Status == Archived {
		lines, err := s.archivedLines(TableThreads)
		if err != nil {
			return Page{}, err
		}
		for _, line := range lines {
			if matcher.passes(line, func() Thread { return decode[Thread](line.JSON) }) {
				page.add(line)
			}
		}
	}
	return page.result(s), nil
}

// match decides from a line's bytes whether a thread matches a filter, as far as the
// bytes are conclusive.
type match struct {
	state    *State
	filter   Filter
	patterns [][]byte // the line must contain each of them
	enough   bool     // a line that contains all patterns matches
}

func (s *State) match(f Filter) match {
	out := match{state: s, filter: f, enough: f.Tag == ""}
	add := func(key, value string) {
		if value != "" {
			out.patterns = append(out.patterns, pattern(key, value))
		}
	}
	add("status", string(f.Status))
	add("objectiveId", string(f.Objective))
	add("parentId", string(f.Parent))
	add("executor", string(f.Executor))
	if f.Ready {
		add("status", string(Active))
	}
	return out
}

func (f match) passes(line Line, whole func() Thread) bool {
	for _, p := range f.patterns {
		if !bytes.Contains(line.JSON, p) {
			return false
		}
	}
	ready := true
	if f.filter.Ready {
		if bytes.Contains(line.JSON, []byte(`claim":{`)) {
			return f.state.passes(f.filter, whole()) // it may have expired
		}
		ready = f.state.needsNothing(line.JSON)
	}
	if f.enough || !ready {
		return ready
	}
	return f.state.passes(f.filter, whole())
}

// needsNothing reports whether all dependencies in a thread's line are terminated.
// The ids are quoted strings without escapes.
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
	first []listed // ordered, once there are limit of them
}

// listed is a line with its sort key.
type listed struct {
	line    Line
	created []byte    // see createdIn; nil if only time is known
	time    time.Time // of a line from whose bytes it cannot be read
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

// compare compares by creation time, then id.
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
