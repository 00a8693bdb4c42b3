package main

import (
	"bytes"
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"
)

// toYAML writes a JSON document as YAML, keys in the same order. Both formats
// come from one document, so they cannot say different things.
func toYAML(doc []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	node, err := yamlNode(dec)
	if err != nil {
		return doc // JSON is YAML
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if enc.Encode(node) != nil || enc.Close() != nil {
		return doc
	}
	return b.Bytes()
}

func yamlNode(dec *json.Decoder) (*yaml.Node, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case json.Delim:
		if v != '{' && v != '[' {
			return nil, io.ErrUnexpectedEOF
		}
		kind := yaml.MappingNode
		if v == '[' {
			kind = yaml.SequenceNode
		}
		return yamlChildren(dec, &yaml.Node{Kind: kind})
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}, nil
	case json.Number:
		tag := "!!int"
		if bytes.ContainsAny([]byte(v), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}, nil
	case bool:
		value := "false"
		if v {
			value = "true"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: value}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

func yamlChildren(dec *json.Decoder, parent *yaml.Node) (*yaml.Node, error) {
	for dec.More() {
		child, err := yamlNode(dec)
		if err != nil {
			return nil, err
		}
		parent.Content = append(parent.Content, child)
	}
	if len(parent.Content) == 0 {
		parent.Style = yaml.FlowStyle
	}
	_, err := dec.Token() // the closing bracket
	return parent, err
}
