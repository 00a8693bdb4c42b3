package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/thread"
)

// This file has what several thread commands share: limits, ids, small renderings.

const maxTitle = 200 // characters of a title

// readContent is a flag's text, or standard input for "-"; at most limit bytes.
func (c *call) readContent(flag string, limit int) string {
	value := c.text(flag)
	if value != "-" {
		if len(value) > limit {
			c.tooLong(flag, limit)
		}
		return value
	}
	raw, err := readStdin(c, limit)
	switch {
	case c.ctx.Err() != nil: // the next step returns T904
		return value
	case err != nil:
		c.fault("--"+flag, "-", "--"+flag+" could not be read from standard input: "+err.Error())
	case len(raw) > limit:
		c.tooLong(flag, limit)
	case strings.TrimSpace(string(raw)) == "":
		c.fault("--"+flag, "-", "--"+flag+" is empty: standard input held nothing")
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	c.params[camel(flag)] = text
	return text
}

// readStdin reads standard input: see readAll.
func readStdin(c *call, limit int) ([]byte, error) { return c.readAll(c.env.stdin, limit) }

// readAll reads at most one byte more than limit. An interrupt ends the wait; the
// reader then stays blocked until the process ends.
func (c *call) readAll(in io.Reader, limit int) ([]byte, error) {
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		raw, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
		done <- result{raw, err}
	}()
	select {
	case r := <-done:
		return r.raw, r.err
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

func (c *given) tooLong(flag string, limit int) {
	c.fault("--"+flag, "", fmt.Sprintf("--%s is longer than %d KiB", flag, limit>>10))
}

// firstLine is the beginning of a text as a title.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cut(strings.TrimSpace(line), maxTitle)
}

// cut shortens a text to n characters, the last one then "…".
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// countsText formats counts as "2 active, 1 completed".
func countsText(counts thread.Counts) string {
	var parts []string
	for _, status := range thread.Statuses() {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// leadsOut reports whether an error is about a path that leads outside.
func leadsOut(err error) bool { return codes.Has(err, codes.UnsafePath) }

// joined reads as "a, b".
func joined[T ~string](values []T) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}

// many formats a count with a word whose plural ends in s.
func many(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// require adds a fault for each required flag that is missing.
func (c *given) require(flags ...string) {
	for _, name := range flags {
		if !c.has(name) {
			c.fault("--"+name, "", "--"+name+" is missing")
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
