package thread

import "bytes"

// MemberOf returns the value of a member of a record, as its line has it. ok is false if
// there is none.
//
// It skips the values of the others, so it is not misled by their contents, whatever a
// later version has put there. encode writes records without spaces; a line with spaces
// between its members seems to have none.
func MemberOf(line []byte, name string) (value []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("{"))
	for ok && len(rest) > 0 {
		var own []byte
		if own, value, rest, ok = cutMember(rest); ok && string(own) == name {
			return value, true
		}
		rest, ok = bytes.CutPrefix(rest, []byte(","))
	}
	return nil, false
}

// lateMemberOf is MemberOf for a member that stands near the end of most lines, and
// not first: it reads only what follows.
func lateMemberOf(line []byte, name string) (value []byte, ok bool) {
	if i := bytes.LastIndex(line, []byte(`,"`+name+`":`)); i >= 0 {
		_, value, rest, ok := cutMember(line[i+1:])
		for after := rest; ok; {
			if len(after) == 1 { // the record ends here, so this was no part of a part
				return value, true
			}
			if after, ok = bytes.CutPrefix(after, []byte(",")); ok {
				_, _, after, ok = cutMember(after)
			}
		}
	}
	return MemberOf(line, name)
}

// cutMember cuts the first member off the members of an object. What follows begins with a
// comma or the end of the object; ok is false if nothing does.
func cutMember(members []byte) (name, value, after []byte, ok bool) {
	if len(members) == 0 || members[0] != '"' {
		return nil, nil, nil, false
	}
	end := textEnd(members)
	if end >= len(members) || members[end] != ':' {
		return nil, nil, nil, false
	}
	name, value = members[1:end-1], members[end+1:]
	end = valueEnd(value)
	return name, value[:end], value[end:], end > 0 && end < len(value)
}

// textEnd is the index behind the text with which text begins, at most its length.
func textEnd(text []byte) int {
	for at := 1; at < len(text); {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			break
		}
		at += quote + 1
		escapes := 0
		for text[at-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
	return len(text)
}

// valueEnd is the index behind the value with which text begins, at most its length.
func valueEnd(text []byte) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			if at += textEnd(text[at:]) - 1; depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return at
			}
			if depth == 0 {
				return at + 1
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return len(text)
}
