package thread

import (
	"bytes"
	"encoding/json"
	"leslie/internal/fact"
	"reflect"
	"strings"
)

// This file preserves unknown JSON members. A newer leslie may add members to a record,
// or to a part of one. This version keeps them with their values and writes them after
// its own members, whatever else changes in the record.

// Unknown holds the members of a JSON object that its type does not have, each as
// `,"name":value`; "" for none.
type Unknown string

// Decode is json.Unmarshal for a record or a part of one. It keeps unknown members in
// the Unknown field of each struct. Errors: those of encoding/json.
func Decode(data []byte, v any) error {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if in.Decode(v) == nil && !in.More() {
		return nil
	}
	to := reflect.ValueOf(v).Elem()
	to.SetZero()
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	gather(to, data)
	return nil
}

// Encode is json.Marshal with the members in Unknown fields, without HTML escapes.
// Errors: those of encoding/json.
func Encode(v any) ([]byte, error) {
	data, err := fact.JSON(v)
	if err != nil {
		return nil, err
	}
	if value := reflect.ValueOf(v); holdsUnknown(value) {
		data = restore(value, data)
	}
	return data, nil
}

// fieldsByName returns the indexes of a struct's fields by their names in JSON.
func fieldsByName(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" && name != "" {
			fields[name] = i
		}
	}
	return fields
}

// gather fills the Unknown fields in v from the JSON that v was decoded from.
func gather(v reflect.Value, data []byte) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			gather(v.Elem(), data)
		}
	case reflect.Slice:
		if each := elements(data); len(each) == v.Len() && !plain(v.Type().Elem()) {
			for i, raw := range each {
				gather(v.Index(i), raw)
			}
		}
	case reflect.Map:
		if plain(v.Type().Elem()) {
			return
		}
		for _, m := range members(data) {
			key := reflect.ValueOf(m.name).Convert(v.Type().Key())
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			gather(value, m.value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		if !keeps(v) {
			return
		}
		fields := fieldsByName(v.Type())
		var rest strings.Builder
		for _, m := range members(data) {
			if i, there := fields[m.name]; there {
				gather(v.Field(i), m.value)
			} else {
				rest.WriteString("," + string(encode(m.name)) + ":")
				rest.Write(m.value)
			}
		}
		unknownOf(v).SetString(rest.String())
	}
}

// restore returns the JSON of v with the members in its Unknown fields.
func restore(v reflect.Value, data []byte) []byte {
	if !holdsUnknown(v) {
		return data
	}
	var out []byte
	switch v.Kind() {
	case reflect.Pointer:
		return restore(v.Elem(), data)
	case reflect.Slice:
		for i, raw := range elements(data) {
			out = append(append(out, ','), restore(v.Index(i), raw)...)
		}
		return enclose('[', out, ']')
	case reflect.Map:
		for _, m := range members(data) {
			value := v.MapIndex(reflect.ValueOf(m.name).Convert(v.Type().Key()))
			out = append(append(out, m.head()...), restore(value, m.value)...)
		}
		return enclose('{', out, '}')
	}
	fields := fieldsByName(v.Type())
	for _, m := range members(data) {
		out = append(append(out, m.head()...), restore(v.Field(fields[m.name]), m.value)...)
	}
	return enclose('{', append(out, unknownOf(v).String()...), '}')
}

// enclose puts brackets around a list whose parts begin with a comma.
func enclose(begin byte, list []byte, end byte) []byte {
	return append(append([]byte{begin}, bytes.TrimPrefix(list, []byte(","))...), end)
}

// keeps reports whether a struct has an Unknown field, which must be its last.
func keeps(v reflect.Value) bool {
	last := v.NumField() - 1
	return last >= 0 && v.Field(last).Type() == reflect.TypeFor[Unknown]()
}

// unknownOf returns the Unknown field of a struct that has one.
func unknownOf(v reflect.Value) reflect.Value { return v.Field(v.NumField() - 1) }

// plain reports whether a type contains no struct with an Unknown field.
func plain(t reflect.Type) bool {
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer && t.Kind() != reflect.Map && t.Kind() != reflect.Slice
}

// holdsUnknown reports whether an Unknown field in v is not empty.
func holdsUnknown(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && holdsUnknown(v.Elem())
	case reflect.Slice:
		for i := 0; i < v.Len() && !plain(v.Type().Elem()); i++ {
			if holdsUnknown(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		if v.Len() == 0 || plain(v.Type().Elem()) {
			return false
		}
		for each := v.MapRange(); each.Next(); {
			if holdsUnknown(each.Value()) {
				return true
			}
		}
	case reflect.Struct:
		if !keeps(v) {
			return false
		}
		for i := range v.NumField() {
			if holdsUnknown(v.Field(i)) {
				return true
			}
		}
		return unknownOf(v).Len() > 0
	}
	return false
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

func (m member) head() []byte { return append(append([]byte{','}, encode(m.name)...), ':') }

// members returns the members of an object in order; none if raw is not an object.
func members(data []byte) (out []member) {
	in := json.NewDecoder(bytes.NewReader(data))
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for in.More() {
		var m member
		name, err := in.Token()
		if err == nil {
			m.name, _ = name.(string)
			err = in.Decode(&m.value)
		}
		if err != nil {
			return nil
		}
		out = append(out, m)
	}
	return out
}

// elements returns the elements of an array in order; none if raw is not an array.
func elements(data []byte) (out []json.RawMessage) {
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}
