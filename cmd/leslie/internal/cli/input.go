package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// This file reads what a line names: folders, and standard input.

// FromDir resolves a path relative to the folder in which the call works.
func (c *Call) FromDir(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Who.Dir, path)
}

// ReadContent is a flag's text, or standard input for "-"; at most limit bytes.
func (c *Call) ReadContent(flag string, limit int) string {
	value := c.Text(flag)
	if value != "-" {
		if len(value) > limit {
			c.tooLong(flag, limit)
		}
		return value
	}
	raw, err := c.ReadAll(c.Env.Stdin, limit)
	switch {
	case c.Ctx.Err() != nil: // the next step returns T904
		return value
	case err != nil:
		c.Fault("--"+flag, "-", "--"+flag+" could not be read from standard input: "+err.Error())
	case len(raw) > limit:
		c.tooLong(flag, limit)
	case strings.TrimSpace(string(raw)) == "":
		c.Fault("--"+flag, "-", "--"+flag+" is empty: standard input held nothing")
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	c.Params[camel(flag)] = text
	return text
}

// ReadAll reads at most one byte more than limit. An interrupt ends the wait; the
// reader then stays blocked until the process ends.
func (c *Call) ReadAll(in io.Reader, limit int) ([]byte, error) {
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
	case <-c.Ctx.Done():
		return nil, c.Ctx.Err()
	}
}

func (c *Given) tooLong(flag string, limit int) {
	c.Fault("--"+flag, "", fmt.Sprintf("--%s is longer than %d KiB", flag, limit>>10))
}

// Require adds a fault for each required flag that is missing.
func (c *Given) Require(flags ...string) {
	for _, name := range flags {
		if !c.Has(name) {
			c.Fault("--"+name, "", "--"+name+" is missing")
		}
	}
}
