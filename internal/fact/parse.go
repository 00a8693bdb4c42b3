package fact

import (
	"strconv"
	"strings"
)

// ParseLogfmt parses the pairs of one line that AppendLogfmt wrote. Every value is a
// string. ok is false for a line of another form.
func ParseLogfmt(line string) (l List, ok bool) {
	rest := strings.TrimLeft(line, " ")
	for rest != "" {
		key, after, found := strings.Cut(rest, "=")
		if !found || key == "" || strings.ContainsAny(key, " \"") {
			return nil, false
		}
		value, after, ok := cutValue(after)
		if !ok {
			return nil, false
		}
		l = append(l, Of(key, value))
		rest = strings.TrimLeft(after, " ")
	}
	return l, len(l) > 0
}

// cutValue splits one value, bare or quoted, from the start of a line.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, " ")
		return value, rest, bare(value)
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	value, err = strconv.Unquote(quoted)
	rest = s[len(quoted):]
	return value, rest, err == nil && (rest == "" || rest[0] == ' ')
}
