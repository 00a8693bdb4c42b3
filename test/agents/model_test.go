package agents_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// This file is a model server without a model. What the prompts of a conversation say is
// what it makes the agent do, each once and in their order:
//
//	RUN[[command]]   calls the agent's shell tool
//	MUST[[command]]  the same, again with each prompt until the command has printed "marked"
//	WRITE[[path]]    calls its tool that writes files
//	TOOL[[name]]     calls the tool whose name ends so
//	TALK[[n]]        says n words, a piece of the stream each, when nothing else is left
//	HANG[[name]]     answers only when the agent gives up, and says so (see model.hung)
//
// In all of them ~ is a line's end, and LONG stands for a long word.
//
// Asked to resolve the conflicts of a file, it reads what they are and keeps both sides.
// It keeps nothing of a conversation but which HANG it has reached: whatever an agent
// remembers of its session decides what comes next.

// model is the server.
type model struct {
	url    string
	server *http.Server

	mu       sync.Mutex
	reached  map[string]chan struct{} // HANG by name
	requests int
	log      io.Writer
}

// newModel starts a server on a free port of this machine.
func newModel(log io.Writer) (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + l.Addr().String(), reached: map[string]chan struct{}{}, log: log}
	m.server = &http.Server{Handler: m}
	go func() { _ = m.server.Serve(l) }()
	return m, nil
}

func (m *model) close() { _ = m.server.Close() }

// hung is closed when a request has reached HANG[[name]].
func (m *model) hung(name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reached[name] == nil {
		m.reached[name] = make(chan struct{})
	}
	return m.reached[name]
}

// tool is a tool that an agent offers, with the types of its arguments.
type tool struct {
	name       string
	group      string // of tools, "" for none
	properties map[string]property
}

type property struct {
	Type json.RawMessage `json:"type"`
}

// item is a part of a conversation.
type item struct {
	user   bool
	text   string // of a user
	call   string // what the model has called a tool with
	result string // what a tool has answered
}

// conversation is a request in none of the dialects.
type conversation struct {
	items     []item
	tools     []tool
	stream    bool
	wantsJSON bool
}

// call is a call of a tool.
type call struct {
	name  string
	args  map[string]any
	group string // of the tool, "" for none
}

// answer is what the model says: a call, or words and then a text.
type answer struct {
	call  *call
	words int
	text  string
	id    string // of the call, unlike that of any other in the conversation
}

var verb = regexp.MustCompile(`\b(RUN|MUST|WRITE|TOOL|TALK|HANG)\[\[(.*?)\]\]`)

// next returns what the model says next, and the name of a HANG that comes first.
func (m *model) next(c conversation) (a answer, hang string) {
	a = answer{text: "Nothing is left to do.", id: "call_" + strconv.Itoa(len(c.items))}
	if c.wantsJSON {
		a.text = `{"reasoning":"nothing is left","next_speaker":"user","model_choice":"flash","complexity_score":1,"complexity_reasoning":"none"}`
	}
	if !slices.ContainsFunc(c.tools, tool.isShell) {
		return a, "" // it wants a title, or the like
	}
	if a.call = c.resolves(); a.call != nil {
		return a, ""
	}
	seen := map[string]bool{}
	for _, i := range c.items {
		for _, found := range verb.FindAllStringSubmatch(i.text, -1) {
			what, arg := found[1], expanded(found[2])
			if !i.user || seen[found[0]] {
				continue
			}
			seen[found[0]] = true
			switch {
			case what == "TALK":
				a.words, _ = strconv.Atoi(arg)
			case what == "HANG":
				m.mu.Lock()
				ch := m.reached[arg]
				if ch == nil {
					ch = make(chan struct{})
					m.reached[arg] = ch
				}
				m.mu.Unlock()
				select {
				case <-ch:
				default:
					close(ch)
					return a, arg
				}
			case !c.done(what, arg):
				if a.call = c.calls(what, arg, "written"); a.call != nil {
					return a, ""
				}
			}
		}
	}
	return a, ""
}

// longWord is what LONG stands for.
var longWord = strings.Repeat("long", 1000)

func expanded(arg string) string {
	return strings.NewReplacer("~", "\n", "LONG", longWord).Replace(arg)
}

// done reports whether something is done.
func (c conversation) done(what, arg string) bool {
	last := 0
	for i := range c.items {
		if c.items[i].user {
			last = i
		}
	}
	for i, it := range c.items {
		called := it.call == arg || what == "TOOL" && strings.HasSuffix(it.call, arg)
		if called && (what != "MUST" || i > last) {
			return true
		}
		if what == "MUST" && strings.Contains(it.result, "marked "+arg) {
			return true
		}
	}
	return false
}

var (
	taskFolder = regexp.MustCompile(`Your task is in the folder (\S+)\. Read and edit`)
	conflictID = regexp.MustCompile(`conflictId\\*": *\\*"([^"\\]+)`)
)

// resolves returns the next call for the conflicts of a merge, nil if there is none.
func (c conversation) resolves() *call {
	var folder, choices string
	for _, i := range c.items {
		if found := taskFolder.FindStringSubmatch(i.text); i.user && found != nil {
			folder = found[1]
		}
		for _, found := range conflictID.FindAllStringSubmatch(i.result, -1) {
			choices += `,{"conflictId":"` + found[1] + `","choice":"both"}`
		}
	}
	conflicts, answer := folder+"/conflicts.json", folder+"/resolutions.json"
	switch {
	case folder == "", c.done("WRITE", answer):
		return nil
	case !c.done("READ", conflicts) && !c.done("READ", "cat "+conflicts):
		return c.calls("READ", conflicts, "")
	}
	return c.calls("WRITE", answer, "["+strings.TrimPrefix(choices, ",")+"]")
}

func (t tool) reads() bool {
	return slices.Contains([]string{"Read", "read", "read_file", "ReadFile"}, t.name)
}

func (t tool) isShell() bool {
	return slices.Contains([]string{"Bash", "bash", "shell", "shell_command", "exec_command", "run_shell_command", "Shell"}, t.name)
}

func (t tool) writes() bool {
	return slices.Contains([]string{"Write", "write", "write_file", "WriteFile"}, t.name)
}

// calls returns the call that does something, nil if no tool does.
func (c conversation) calls(what, arg, content string) *call {
	for _, t := range c.tools {
		switch {
		case what == "TOOL" && strings.HasSuffix(t.name, arg):
			return &call{t.name, map[string]any{}, t.group}
		case what == "WRITE" && t.writes():
			return &call{name: t.name, args: t.arguments(map[string]any{"file_path": arg, "filePath": arg, "path": arg, "content": content + "\n"})}
		case what == "READ" && t.reads():
			return &call{name: t.name, args: t.arguments(map[string]any{"file_path": arg, "filePath": arg, "absolute_path": arg, "path": arg})}
		case what == "READ" && t.name == "exec_command":
			return &call{name: t.name, args: map[string]any{"cmd": "cat " + arg}}
		case (what == "RUN" || what == "MUST") && t.isShell():
			var line any = arg
			if strings.Contains(string(t.properties["command"].Type), "array") {
				line = []string{"bash", "-lc", arg}
			}
			return &call{name: t.name, args: t.arguments(map[string]any{
				"command": line, "cmd": line, "description": "Do the next step", "is_background": false,
				"sandbox_permissions": "require_escalated", "justification": "It writes outside the sandbox",
			})}
		case what == "WRITE" && t.name == "exec_command": // which knows this command itself
			return &call{name: t.name, args: map[string]any{"cmd": "apply_patch <<'END'\n*** Begin Patch\n" + patchOf + arg + "\n+" + content + "\n*** End Patch\nEND\n"}}
		}
	}
	return nil
}

// patchOf precedes the name of a file in a patch that adds it.
const patchOf = "*** Add File: "

// arguments are those of the arguments that the tool has.
func (t tool) arguments(all map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range all {
		if _, has := t.properties[name]; has {
			out[name] = value
		}
	}
	return out
}

// calledWith returns what a call was about: a command, a path, or the tool's name.
func calledWith(name string, args json.RawMessage) string {
	var text string
	if json.Unmarshal(args, &text) == nil { // encoded once more
		args = json.RawMessage(text)
	}
	var in map[string]json.RawMessage
	_ = json.Unmarshal(args, &in)
	for _, key := range []string{"command", "cmd", "file_path", "filePath", "absolute_path", "path"} {
		var line string
		var words []string
		switch {
		case json.Unmarshal(in[key], &line) == nil && line != "":
			if _, file, is := strings.Cut(line, patchOf); is {
				line, _, _ = strings.Cut(file, "\n")
			}
			return line
		case json.Unmarshal(in[key], &words) == nil && len(words) > 0:
			return words[len(words)-1]
		}
	}
	return name
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	path := r.URL.Path
	fmt.Fprintf(m.log, "%s %s %d bytes\n", r.Method, path, len(body))
	var d dialect
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		reply(w, object{"object": "list", "data": []object{{"id": "fake-model", "object": "model", "type": "model", "display_name": "Fake"}}, "models": []object{}})
		return
	case strings.HasSuffix(path, "/count_tokens"):
		reply(w, object{"input_tokens": 10})
		return
	case strings.HasSuffix(path, ":countTokens"):
		reply(w, object{"totalTokens": 10})
		return
	case strings.HasSuffix(path, "/messages"):
		d = &messages{}
	case strings.HasSuffix(path, "/chat/completions"):
		d = &chat{}
	case strings.HasSuffix(path, "/responses"):
		d = &responses{}
	case strings.Contains(path, "enerateContent"):
		d = &gemini{stream: strings.Contains(path, "stream")}
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if err := json.Unmarshal(body, d); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		fmt.Fprintf(m.log, "bad request: %v\n", err)
		return
	}
	c := d.conversation()
	m.mu.Lock()
	m.requests++
	m.mu.Unlock()
	a, hang := m.next(c)
	fmt.Fprintf(m.log, "  %d items, %d tools -> hang %q call %v text %q\n", len(c.items), len(c.tools), hang, a.call, a.text)
	if hang != "" {
		<-r.Context().Done()
		return
	}
	d.answer(w, c.stream, a)
}

type object = map[string]any

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// streamed answers with events; named says that their type comes first.
func streamed(w http.ResponseWriter, named bool, events []any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if o, is := e.(object); is && named {
			fmt.Fprintf(w, "event: %v\n", o["type"])
		}
		text, is := e.(string)
		if !is {
			b, _ := json.Marshal(e)
			text = string(b)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		if f, is := w.(http.Flusher); is {
			f.Flush()
		}
	}
}

// saying returns an event for each word of an answer.
func saying(a answer, event func(word string) any) []any {
	var out []any
	if a.call == nil {
		for i := range a.words {
			out = append(out, event("word"+strconv.Itoa(i)+" "))
		}
	}
	return out
}
