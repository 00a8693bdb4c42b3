package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"leslie/internal/fact"
)

// ToYAML converts a JSON document to YAML: keys in the same order, indented by two
// spaces, texts of several lines as blocks. Both formats come from one document, so
// they cannot differ.
func ToYAML(doc []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	node, err := yamlNode(dec)
	if err != nil {
		return doc // JSON is YAML
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(node); err != nil {
		return doc
	}
	return escapedYAML(b.Bytes())
}

// escapedYAML writes characters that the encoder leaves as they are, though they control a
// terminal or nobody sees them, as escapes: texts that have them are quoted (yamlNode).
func escapedYAML(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, fact.Unseen) {
		return doc
	}
	out := make([]byte, 0, len(doc)+16)
	for _, r := range string(doc) {
		if fact.Unseen(r) {
			out = fmt.Appendf(out, `\U%08x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// yamlNode reads the next JSON value; a map would lose the order of its keys.
func yamlNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := token.(type) {
	case json.Delim:
		node.Kind = map[json.Delim]yaml.Kind{'{': yaml.MappingNode, '[': yaml.SequenceNode}[v]
		for dec.More() {
			child, err := yamlNode(dec)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err = dec.Token() // the closing bracket
		return node, err
	case json.Number:
		node.Value = v.String()
		return node, nil
	}
	if err := node.Encode(token); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(node.Value, fact.Unseen) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node, nil
}
