package fact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Where says where a text stops being JSON, as "line 3, column 17, in the value of a.b":
// what json.Unmarshal complained of; "" for another error.
func Where(text []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 1 {
		return ""
	}
	before := text[:min(int(syntax.Offset)-1, len(text))]
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		before = text
	}
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	out := fmt.Sprintf("line %d, column %d", line, column)
	if key := lastKey(text); key != "" {
		out += ", in the value of " + key
	}
	return out
}

// lastKey is the last key before a text stops being JSON, with those of the objects that it
// is in.
func lastKey(text []byte) string {
	type level struct {
		object, named bool // named: what follows is the value of key
		key           string
	}
	var open []level
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := dec.Token()
		if err != nil {
			break
		}
		delim, isDelim := token.(json.Delim)
		switch top := len(open) - 1; {
		case isDelim && (delim == '}' || delim == ']'):
			open = open[:top]
			top--
			if top >= 0 {
				open[top].named = false
			}
		case isDelim:
			open = append(open, level{object: delim == '{'})
		case top >= 0 && open[top].object && !open[top].named:
			open[top].key, open[top].named = fmt.Sprint(token), true
		case top >= 0:
			open[top].named = false
		}
	}
	var path []string
	for _, l := range open {
		if l.key != "" {
			path = append(path, l.key)
		}
	}
	return strings.Join(path, ".")
}
