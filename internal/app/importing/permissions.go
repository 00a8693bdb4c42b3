package importing

import (
	"encoding/json"
	"strings"
)

// This file reads the permission file of the Node edition: regular expressions for
// commands. leslie's rules name words. An expression that is nothing but words becomes a
// rule, and all others are noted.

// PermissionsFile is the name of the Node edition's permission file.
const PermissionsFile = "leslie.permissions.json"

// Permissions are rules for what agents may do, as suggestions: an import never makes
// them count.
type Permissions struct {
	Default string   `json:"default,omitempty"`
	Allow   []string `json:"allow,omitempty"`
	Ask     []string `json:"ask,omitempty"`
	Deny    []string `json:"deny,omitempty"`
}

// ReadPermissions reads a permission file. Errors: T502, T106 for a member that occurs
// twice.
func ReadPermissions(from string, data []byte) (*Permissions, []Note, error) {
	data = withoutMark(data)
	if err := text(from, data); err != nil {
		return nil, nil, err
	}
	members, err := object(from, data)
	if err != nil {
		return nil, nil, err
	}
	p, s := &Permissions{}, &Source{}
	for _, m := range members {
		switch m.name {
		case "default":
			var verdict string
			if json.Unmarshal(m.value, &verdict) != nil {
				return nil, nil, broken(from, "default is no text")
			}
			p.fallback(s, verdict)
		case "bash":
			if err := p.bash(s, from, m.value); err != nil {
				return nil, nil, err
			}
		default:
			s.note("rule", PermissionsFile, "%s has no place in leslie's rules", m.name)
		}
	}
	return p, s.Unmapped, nil
}

// fallback takes over what becomes of calls that no rule names, if it is not more than
// leslie allows by itself.
func (p *Permissions) fallback(s *Source, verdict string) {
	switch verdict {
	case "deny":
		p.Default = "deny"
	case "confirm", "ask":
		p.Default = "ask"
	default:
		s.note("rule", PermissionsFile, "default %s: leslie asks a person about what no rule names", verdict)
	}
}

func (p *Permissions) bash(s *Source, from string, raw json.RawMessage) error {
	lists, err := object(from, raw)
	if err != nil {
		return err
	}
	for _, list := range lists {
		to := map[string]*[]string{"deny": &p.Deny, "confirm": &p.Ask, "ask": &p.Ask, "allow": &p.Allow}[list.name]
		if to == nil {
			s.note("rule", PermissionsFile, "bash.%s has no place in leslie's rules", list.name)
			continue
		}
		var patterns []string
		if json.Unmarshal(list.value, &patterns) != nil {
			return broken(from, "bash."+list.name+" is no list of texts")
		}
		for _, pattern := range patterns {
			if rule := ruleOf(pattern); rule != "" {
				*to = append(*to, rule)
				continue
			}
			s.note("rule", PermissionsFile, "bash.%s %s: leslie's rules name words, and this is more", list.name, pattern)
		}
	}
	return nil
}

// ruleOf returns the rule that means what a regular expression means which is nothing but
// words, "" for any other.
func ruleOf(pattern string) string {
	exactly := strings.HasPrefix(pattern, "^") && strings.HasSuffix(pattern, "$")
	plain := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	if !exactly && strings.HasSuffix(pattern, "$") {
		return ""
	}
	// A backslash that is left, also for a dot that stands for any character, is no word.
	plain = strings.NewReplacer(`\b`, "", `\s+`, " ", `\s*`, " ", `\s`, " ", " +", " ", `\.`, ".", `\-`, "-", `\/`, "/", ".", `\`).Replace(plain)
	words := strings.Fields(plain)
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return ""
	}
	for _, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:@", r))
		}) {
			return ""
		}
	}
	rule := "Bash(" + strings.Join(words, " ")
	if exactly {
		return rule + ")"
	}
	return rule + ":*)"
}
