package setup

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// This file looks at TOML and at git's configuration, in which a piece is a block: the
// text is not taken apart, but has to be read by others before and after.

// readTOML reads a text.
func readTOML(text []byte) (map[string]any, error) {
	out := map[string]any{}
	if err := toml.Unmarshal(text, &out); err != nil {
		return nil, &Broken{"it is no TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	}
	return out, nil
}

// keepsTOML returns why a text does not say all that another says, as it does not where a
// table is there already or a key is a list on one line.
func keepsTOML(before, after []byte) error {
	was, err := readTOML(before)
	if err != nil {
		return err
	}
	if now, err := readTOML(after); err != nil || !keeps(was, now) {
		return &Broken{"nothing can be added at its end"}
	}
	return nil
}

// tableInTOML says that a table is somebody's own if it is there without the block.
func tableInTOML(path ...string) func([]byte) (State, error) {
	return func(text []byte) (State, error) {
		table, err := readTOML(text)
		if err != nil {
			return "", err
		}
		var at any = table
		for _, name := range path {
			inner, is := at.(map[string]any)
			if !is || inner[name] == nil {
				return Missing, nil
			}
			at = inner[name]
		}
		return Edited, nil
	}
}

// lineThat says that a piece stands in a state if a line of a text is like that.
func lineThat(state State, is func(line string) bool) func([]byte) (State, error) {
	return func(text []byte) (State, error) {
		for line := range strings.Lines(string(text)) {
			if is(strings.TrimSpace(line)) {
				return state, nil
			}
		}
		return Missing, nil
	}
}

// textInTOML says that a piece is somebody's own if its text is there without the block.
func textInTOML(holds string) func([]byte) (State, error) {
	return func(text []byte) (State, error) {
		table, err := readTOML(text)
		if err == nil && contains(table, holds) {
			return Edited, nil
		}
		return Missing, err
	}
}
