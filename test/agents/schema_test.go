package agents_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file holds what leslie and the agents say to each other against the protocol's
// published schema.

// tapVariable makes the test binary a tap: it starts the program of its arguments, and
// keeps every line between it and whoever started the tap in the file that the variable
// names, with "> " before what the program is told and "< " before what it says.
const tapVariable = "AGENTS_TAP"

// tap is the program. It returns its exit status.
func tap(file string, argv []string) int {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer f.Close()
	var writing sync.Mutex
	pass := func(from io.Reader, to io.Writer, before string) {
		lines := bufio.NewReader(from)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				writing.Lock()
				_, _ = f.Write(append([]byte(before), line...))
				writing.Unlock()
				_, _ = to.Write(line)
			}
			if err != nil {
				return
			}
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		pass(os.Stdin, in, "> ")
		_ = in.Close()
	}()
	pass(out, os.Stdout, "< ")
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// schemaFile is the protocol's schema.
type schemaFile struct {
	Defs map[string]map[string]any `json:"$defs"`
}

// schema installs the protocol's schema and reads it.
func (in *installer) schema() (*schemaFile, error) {
	folder, err := in.install("schema", schemaPackage, false)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(folder, "@agentclientprotocol", "sdk", "schema", "v1", "schema.json"))
	if err != nil {
		return nil, err
	}
	s := &schemaFile{}
	return s, json.Unmarshal(b, s)
}

// of returns the definition of a method's request, notification or response.
func (s *schemaFile) of(method string, response bool) map[string]any {
	for name, def := range s.Defs {
		if def["x-method"] == method && strings.HasSuffix(name, "Response") == response {
			return def
		}
	}
	return nil
}

// faults are what is wrong with a value. strict says that it may have no member that the
// schema does not name.
func (s *schemaFile) faults(def map[string]any, value any, at string, strict bool) []string {
	found, known := s.apply(def, value, at, strict)
	if o, is := value.(map[string]any); is && strict && def["additionalProperties"] == nil {
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if !known[name] && len(known) > 0 {
				found = append(found, at+"."+name+" is not in the schema")
			}
		}
	}
	return found
}

// apply holds a value against a definition, and returns the members that it names.
func (s *schemaFile) apply(def map[string]any, value any, at string, strict bool) (found []string, known map[string]bool) {
	known = map[string]bool{}
	also := func(inner any) []string {
		f, k := s.apply(inner.(map[string]any), value, at, strict)
		maps.Copy(known, k)
		return f
	}
	if ref, is := def["$ref"].(string); is {
		found = append(found, also(map[string]any(s.Defs[strings.TrimPrefix(ref, "#/$defs/")]))...)
	}
	for _, inner := range list(def["allOf"]) {
		found = append(found, also(inner)...)
	}
	for _, of := range []string{"anyOf", "oneOf"} {
		var least []string
		for i, inner := range list(def[of]) {
			f, k := s.apply(inner.(map[string]any), value, at, strict)
			if len(f) == 0 {
				maps.Copy(known, k)
			}
			if i == 0 || len(f) < len(least) {
				least = f
			}
		}
		found = append(found, least...)
	}
	if c, is := def["const"]; is && !reflect.DeepEqual(c, value) {
		found = append(found, fmt.Sprintf("%s is %v, not %v", at, value, c))
	}
	if all := list(def["enum"]); all != nil && !slices.Contains(all, value) {
		found = append(found, fmt.Sprintf("%s is %v, none of %v", at, value, all))
	}
	if !typed(def["type"], value) {
		return append(found, fmt.Sprintf("%s is %T, not %v", at, value, def["type"])), known
	}
	if least, is := def["minimum"].(float64); is {
		if n, is := value.(float64); is && n < least {
			found = append(found, fmt.Sprintf("%s is below %v", at, least))
		}
	}
	return append(found, s.members(def, value, at, strict, known)...), known
}

// members holds the parts of a value against a definition.
func (s *schemaFile) members(def map[string]any, value any, at string, strict bool, known map[string]bool) (found []string) {
	switch v := value.(type) {
	case []any:
		if items, is := def["items"].(map[string]any); is {
			for i, part := range v {
				found = append(found, s.faults(items, part, fmt.Sprintf("%s[%d]", at, i), strict)...)
			}
		}
	case map[string]any:
		properties, _ := def["properties"].(map[string]any)
		for name, inner := range properties {
			known[name] = true
			if part, has := v[name]; has {
				found = append(found, s.faults(inner.(map[string]any), part, at+"."+name, strict)...)
			}
		}
		for _, name := range list(def["required"]) {
			if _, has := v[name.(string)]; !has {
				found = append(found, fmt.Sprintf("%s has no %v", at, name))
			}
		}
	}
	return found
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// typed reports whether a value has a type of the schema, or one of several.
func typed(want, value any) bool {
	if all, is := want.([]any); is {
		return slices.ContainsFunc(all, func(one any) bool { return typed(one, value) })
	}
	is := false
	switch want {
	case "object":
		_, is = value.(map[string]any)
	case "array":
		_, is = value.([]any)
	case "string":
		_, is = value.(string)
	case "boolean":
		_, is = value.(bool)
	case "number":
		_, is = value.(float64)
	case "integer":
		n, number := value.(float64)
		is = number && n == float64(int64(n))
	case "null":
		is = value == nil
	default:
		is = true
	}
	return is
}

// spoken are the messages in a tap's file that break the schema: leslie's, which are held
// against it strictly, and the agent's. methods are those that leslie has used.
func (s *schemaFile) spoken(file string) (ours, theirs []string, methods map[string]int, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, nil, err
	}
	methods = map[string]int{}
	asked := map[string]string{} // the methods of requests, by who asked and the id
	for line := range strings.Lines(string(b)) {
		side, text := line[:1], line[2:]
		var m struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
			Params  any             `json:"params"`
			Result  any             `json:"result"`
			Error   any             `json:"error"`
		}
		var found []string
		other := map[string]string{">": "<", "<": ">"}[side]
		switch err := json.Unmarshal([]byte(text), &m); {
		case err != nil:
			found = []string{"no message: " + text[:min(len(text), 80)]}
		case m.Version != "2.0":
			found = []string{"no jsonrpc 2.0: " + text[:min(len(text), 80)]}
		case m.Method != "":
			asked[side+string(m.ID)] = m.Method
			if side == ">" {
				methods[m.Method]++
			}
			if def := s.of(m.Method, false); def != nil {
				found = s.faults(def, m.Params, m.Method, side == ">")
			} else if side == ">" {
				found = []string{m.Method + " is not in the schema"}
			}
		case m.Error != nil:
			found = s.faults(s.Defs["Error"], m.Error, "error", side == ">")
		default:
			method := asked[other+string(m.ID)]
			if side == ">" {
				methods["answer to "+method]++
			}
			if def := s.of(method, true); def != nil {
				found = s.faults(def, m.Result, "answer to "+method, side == ">")
			}
		}
		if side == ">" {
			ours = append(ours, found...)
		} else {
			theirs = append(theirs, found...)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	return slices.Compact(ours), slices.Compact(theirs), methods, nil
}

// speaks: whatever leslie says to it is as the schema has it.
func speaks(r *rig) {
	r.spawn("t", "RUN[[mark no]] RUN[[mark one]] RUN[[nap]] RUN[[leslie done]]")
	p := r.start("run", "t")
	r.naps(p)
	r.ok("run", "stop", "t")
	r.wait(p)
	r.done(r.call("run", "t"))
	ours, theirs, methods, err := r.schema.spoken(r.tapped)
	require.NoError(r, err)
	assert.Empty(r, ours, "what leslie says")
	for _, method := range []string{"initialize", "session/new", "session/prompt", "session/cancel", "answer to session/request_permission"} {
		assert.NotZero(r, methods[method], method)
	}
	again := methods["session/resume"] + methods["session/load"]
	assert.NotZero(r, again, "it goes on with its session")
	r.Logf("leslie's messages: %v", methods)
	for _, fault := range theirs {
		r.Logf("the agent: %s", fault)
	}
	if len(theirs) > 0 {
		r.note(fmt.Sprintf("the agent breaks it in %d ways", len(theirs)))
	}
}
