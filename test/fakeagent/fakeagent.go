//go:build !windows

// Package fakeagent is a coding agent without a model, for tests: it speaks the Agent
// Client Protocol and does what the text of its prompts says.
//
//	RUN[[command]]   runs a command in a shell, without asking
//	ASK[[command]]   asks first, and runs it if that is allowed
//	EDIT[[path]]     asks first, and writes the path into that file
//	TOOL[[name {}]]  starts the first server of tools that it was given, calls one, and says the answer
//	TALK[[n tag]]    says n words, a message each, that begin with the tag
//	USAGE[[in out cost]]  says what the turn used
//	META[[{}]]       says that in the _meta of an update of its usage
//	JUNK[[n]]        prints n lines that are no messages
//	HUGE[[]]         prints a line that is too long
//	ODD[[]]          sends an update and a request that no client knows
//	FILE[[path]]     wants the client to write a file and to read it, and says the answers
//	LATE[[command]]  asks for a command after it has ended its turn, and says so before
//	STOP[[n]]        ends the turn
//	SAYS[[text]]     says the text
//	LIMIT[[text]]    ends the turn with an error that has the text
//	SPENDS[[in cost]] says again and again what it has used, that much more each time, until it is cancelled
//	HANG[[]]         ends the turn only when it is cancelled
//	DEAF[[]]         does not read any more
//	LEAVE[[]]        leaves a process behind, in a session of its own
//	HOLD[[]]         leaves a process behind that has the agent's output open
//	EXIT[[n]]        ends the process; CRASH[[]] kills it
//
// Each of them is done once in a session, also in one that is opened again: what is done
// is kept in the folder FAKE_STATE. FAKE_SESSION names the session. FAKE_PROMPT is added
// to each prompt. FAKE_LOG names a file that gets each prompt as it came, a line of JSON. The variable FAKE has words that change the agent:
// auth (it wants a login), noload (it cannot open sessions again), slow (it never
// answers initialize), fail (it ends at once), old (another version of the protocol),
// warming (it prints ten lines to its error output before it answers initialize, one each
// 200 ms), modes (it has the modes auto and default), replay (it cannot resume, and repeats a
// session that it loads after it has answered), mute (it does not say that a call begins
// which it has asked about), quota (it says what a turn used in _meta alone), rich (it has no limits),
// terse (it asks with the beginning of a call, and has said all of it before), quotes
// (it asks with a command as a word for a shell, and has said it as it is before), spent
// (a process of it that finds something done may use nothing more), wordless (it sends no
// updates: the end of its turns is all that it says), hostile
// (all that it says of itself, and of what it does, has Hostile in it).
package fakeagent

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

type agent struct {
	mu        sync.Mutex // of the output
	asked     int
	answers   map[string]chan message
	waiting   sync.Mutex
	cancelled chan struct{}
	session   string
	servers   []server
	deaf      chan struct{}
}

// Hostile is a text that would control a terminal, hide what follows, or look like an
// answer of leslie.
const Hostile = "\x1b]0;owned\a\x1b[2J\u009b31m\u202e\u200b\x00\r\x08{\"success\":true}\nerror code=T999 msg=\"owned\"\x7f"

// hostile returns Hostile if the agent is.
func hostile() string {
	if is("hostile") {
		return Hostile
	}
	return ""
}

func is(word string) bool { return slices.Contains(strings.Fields(os.Getenv("FAKE")), word) }

// Main is the program.
func Main() {
	if is("fail") {
		fmt.Fprintln(os.Stderr, "fake agent: \x1b[31mcannot start")
		os.Exit(3)
	}
	a := &agent{answers: map[string]chan message{}, cancelled: make(chan struct{}, 1), deaf: make(chan struct{})}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		if m.Method == "" {
			a.waiting.Lock()
			ch := a.answers[string(m.ID)]
			a.waiting.Unlock()
			if ch != nil {
				ch <- m
			}
			continue
		}
		a.serve(m)
		select {
		case <-a.deaf:
			time.Sleep(time.Hour) // select {} would end it: no goroutine is left that could wake it
		default:
		}
	}
}

func (a *agent) serve(m message) {
	var p struct {
		SessionID string `json:"sessionId"`
		Prompt    []struct {
			Text string `json:"text"`
		} `json:"prompt"`
		ModeID  string   `json:"modeId"`
		Servers []server `json:"mcpServers"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if p.Servers != nil {
		a.servers = p.Servers
	}
	if done, _ := os.ReadDir(os.Getenv("FAKE_STATE")); is("spent") && len(done) > 0 && strings.HasPrefix(m.Method, "session/") {
		a.send(message{ID: m.ID, Error: json.RawMessage(`{"code":-32603,"message":"usage limit reached"}`)})
		return
	}
	switch m.Method {
	case "initialize":
		if is("slow") {
			return
		}
		for i := range 10 {
			if is("warming") {
				fmt.Fprintln(os.Stderr, "fake agent: starts server", i)
				time.Sleep(200 * time.Millisecond)
			}
		}
		version, can := 1, `{"loadSession":true,"sessionCapabilities":{"resume":{},"close":{},"additionalDirectories":{}}}`
		if is("old") {
			version = 7
		}
		if is("noload") {
			can = `{}`
		}
		if is("replay") {
			can = `{"loadSession":true}`
		}
		fake, _ := json.Marshal("fake" + hostile())
		a.reply(m, fmt.Sprintf(`{"protocolVersion":%d,"agentCapabilities":%s,"agentInfo":{"name":%s,"version":"1.0"},"authMethods":[{"id":"key","name":"An API key"}]}`, version, can, fake))
		fmt.Fprintln(os.Stderr, "fake agent: begins", hostile())
	case "session/new":
		if is("auth") {
			a.send(message{ID: m.ID, Error: json.RawMessage(`{"code":-32000,"message":"Authentication required"}`)})
			return
		}
		a.session = cmp.Or(os.Getenv("FAKE_SESSION"), fmt.Sprintf("fake-%d", os.Getpid()))
		a.reply(m, fmt.Sprintf(`{"sessionId":%q%s}`, a.session, modes()))
	case "session/load", "session/resume":
		if _, err := os.Stat(filepath.Join(os.Getenv("FAKE_STATE"), p.SessionID)); err != nil {
			a.send(message{ID: m.ID, Error: json.RawMessage(`{"code":-32002,"message":"no such session","data":{"details":"it is not in the folder"}}`)})
			return
		}
		a.session = p.SessionID
		a.reply(m, "{"+strings.TrimPrefix(modes(), ",")+"}")
		if is("replay") {
			a.say("replayed. ")
		}
	case "session/prompt":
		go a.turn(m, p.Prompt[0].Text)
	case "session/cancel":
		select {
		case a.cancelled <- struct{}{}:
		default:
		}
	case "session/set_mode", "session/close":
		a.reply(m, "{}")
	default:
		if len(m.ID) > 0 {
			a.send(message{ID: m.ID, Error: json.RawMessage(`{"code":-32601,"message":"no such method"}`)})
		}
	}
}

func modes() string {
	if !is("modes") {
		return ""
	}
	return `,"modes":{"currentModeId":"auto","availableModes":[{"id":"auto","name":"Auto"},{"id":"default","name":"Ask"}]}`
}

func (a *agent) send(m message) {
	b, _ := json.Marshal(m)
	a.print(strings.Replace(string(b), "{", `{"jsonrpc":"2.0",`, 1))
}

func (a *agent) print(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n")
}

func (a *agent) reply(m message, result string) {
	a.send(message{ID: m.ID, Result: json.RawMessage(result)})
}

func (a *agent) update(update map[string]any) {
	if is("wordless") {
		return
	}
	params, _ := json.Marshal(map[string]any{"sessionId": a.session, "update": update})
	a.send(message{Method: "session/update", Params: params})
}

func (a *agent) say(text string) {
	a.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text}})
}

// request sends a request and waits for its answer.
func (a *agent) request(method string, params any) message {
	a.waiting.Lock()
	a.asked++
	id := json.RawMessage(strconv.Itoa(1000 + a.asked))
	ch := make(chan message, 1)
	a.answers[string(id)] = ch
	a.waiting.Unlock()
	b, _ := json.Marshal(params)
	a.send(message{ID: id, Method: method, Params: b})
	return <-ch
}

var verb = regexp.MustCompile(`\b([A-Z]+)\[\[(.*?)\]\]`)

// turn does what a prompt says, once in a session.
func (a *agent) turn(m message, text string) {
	a.log(text)
	a.say("reading. ")
	stop, usage, late := "end_turn", "", ""
	for _, found := range verb.FindAllStringSubmatch(text+"\n"+os.Getenv("FAKE_PROMPT"), -1) {
		if !a.first(found[0]) {
			continue
		}
		if found[1] == "STOP" {
			break
		}
		if found[1] == "LIMIT" && is("rich") {
			continue
		}
		if found[1] == "LIMIT" {
			details, _ := json.Marshal(found[2] + hostile())
			a.send(message{ID: m.ID, Error: json.RawMessage(fmt.Sprintf(`{"code":-32603,"message":"Internal error","data":{"details":%s}}`, details))})
			return
		}
		switch what := found[2]; found[1] {
		case "USAGE":
			if f := strings.Fields(what); len(f) == 3 {
				usage = fmt.Sprintf(`,"usage":{"inputTokens":%s,"outputTokens":%s,"totalTokens":0}`, f[0], f[1])
				if is("quota") {
					usage = fmt.Sprintf(`,"_meta":{"quota":{"token_count":{"input_tokens":%s,"output_tokens":%s}}}`, f[0], f[1])
				}
				amount, _ := strconv.ParseFloat(f[2], 64)
				a.update(map[string]any{"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": map[string]any{"amount": amount, "currency": "USD" + hostile()}})
			}
		case "SPENDS":
			stop = a.spends(what)
		case "SAYS":
			a.say(what)
		case "LATE":
			late = what
		case "HANG":
			<-a.cancelled
			stop = "cancelled"
		default:
			if a.do(found[1], what) {
				stop = "cancelled"
			}
		}
		if stop == "cancelled" {
			break
		}
	}
	reason, _ := json.Marshal(stop + hostile())
	a.reply(m, fmt.Sprintf(`{"stopReason":%s%s}`, reason, usage))
	if late != "" {
		a.say("late: " + late + " ")
		a.do("ASK", late)
	}
}

// spends says what it uses until the turn is cancelled.
func (a *agent) spends(each string) (stop string) {
	var tokens int
	var cost float64
	_, _ = fmt.Sscan(each, &tokens, &cost)
	for n := 1; ; n++ {
		a.update(map[string]any{"sessionUpdate": "usage_update", "used": n * tokens, "size": 1000000, "cost": map[string]any{"amount": float64(n) * cost, "currency": "USD"}})
		select {
		case <-a.cancelled:
			return "cancelled"
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// log adds a prompt to the log.
func (a *agent) log(text string) {
	name := os.Getenv("FAKE_LOG")
	if name == "" {
		return
	}
	line, _ := json.Marshal(text)
	if f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.Write(append(line, '\n'))
		_ = f.Close()
	}
}

// do does one thing, and reports whether it ends the turn.
func (a *agent) do(what, arg string) (cancelled bool) {
	switch what {
	case "RUN":
		a.run(arg)
	case "ASK", "EDIT":
		return a.ask(what, arg)
	case "TOOL":
		name, args, _ := strings.Cut(arg, " ")
		a.say("answered: " + a.tool(name, args))
	case "TALK":
		count, tag, _ := strings.Cut(arg, " ")
		n, _ := strconv.Atoi(count)
		for i := range n {
			a.say(fmt.Sprintf("%sword-%d ", tag, i))
		}
	case "META":
		a.update(map[string]any{"sessionUpdate": "usage_update", "used": 10, "size": 100, "_meta": json.RawMessage(arg)})
	case "JUNK":
		n, _ := strconv.Atoi(arg)
		for i := range n {
			a.print(fmt.Sprintf("\x1b]0;junk %d\a", i))
		}
	case "HUGE":
		a.print(`{"jsonrpc":"2.0","method":"session/update","params":"` + strings.Repeat("x", 33<<20) + `"}`)
	case "ODD":
		a.update(map[string]any{"sessionUpdate": "brand_new", "x": 1})
		answer := a.request("_odd/method", map[string]any{"path": "/etc/passwd"})
		a.say("answered: " + string(answer.Error))
	case "FILE":
		wrote := a.request("fs/write_text_file", map[string]any{"sessionId": a.session, "path": arg, "content": "x"})
		read := a.request("fs/read_text_file", map[string]any{"sessionId": a.session, "path": arg})
		a.say("answered: " + string(wrote.Error) + string(read.Error))
	case "DEAF":
		close(a.deaf)
	case "LEAVE":
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = cmd.Start()
	case "HOLD":
		cmd := exec.Command("sleep", "1000")
		cmd.Stdout = os.Stdout
		_ = cmd.Start()
	case "EXIT":
		n, _ := strconv.Atoi(arg)
		os.Exit(n)
	case "CRASH":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return false
}

// run runs a command and says what it printed.
func (a *agent) run(command string) {
	id := fmt.Sprintf("tool-%d", a.next())
	if !is("mute") {
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": command + hostile(), "kind": "execute" + hostile(), "status": "in_progress", "rawInput": map[string]any{"command": command}})
	}
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	status := "completed"
	if err != nil {
		status = "failed"
	}
	a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "content": []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": string(out)}}}})
	a.say("ran " + command + ": " + string(out) + hostile())
}

// server is a server of tools.
type server struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
}

// tool calls a tool of the first server, with nothing in its environment but what the
// client named, and returns the answer.
func (a *agent) tool(name, args string) string {
	if len(a.servers) == 0 {
		return "there is no server"
	}
	s := a.servers[0]
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env = []string{"HOME=" + os.Getenv("HOME")}
	for _, v := range s.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err.Error()
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err.Error()
	}
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fake","version":"1"}}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", name, args)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) == nil && string(m.ID) == "2" {
			return lines.Text()
		}
	}
	return "the server ended"
}

// ask asks for permission, and does what was asked if it is given.
func (a *agent) ask(what, arg string) (cancelled bool) {
	id := fmt.Sprintf("tool-%d", a.next())
	call := map[string]any{"toolCallId": id, "title": arg + hostile(), "status": "pending"}
	if what == "ASK" {
		call["kind"], call["rawInput"] = "execute", map[string]any{"command": arg + hostile()}
	} else {
		call["kind"], call["locations"] = "edit", []any{map[string]any{"path": arg}}
	}
	if is("terse") {
		args, _ := json.Marshal(map[string]any{"command": arg})
		kind := "execute"
		if what == "EDIT" {
			args, _ = json.Marshal(map[string]any{"path": arg})
			kind = "edit"
		}
		text := func(s string) []any {
			return []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": s}}}
		}
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": "Bash", "kind": kind, "status": "pending", "content": text(string(args))})
		call = map[string]any{"toolCallId": id, "title": "Bash", "content": text("Requesting approval to Running: " + arg[:min(len(arg), 10)] + "…")}
	}
	if is("quotes") {
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": arg, "kind": "execute", "status": "pending", "rawInput": map[string]any{"command": arg}})
		call["rawInput"] = map[string]any{"command": `"` + arg[:1] + `"'` + arg[1:] + `'`}
	}
	answer := a.request("session/request_permission", map[string]any{"sessionId": a.session, "toolCall": call, "options": []any{
		map[string]any{"optionId": "always", "name": "Always", "kind": "allow_always"}, map[string]any{"optionId": "yes", "name": "Once", "kind": "allow_once"},
		map[string]any{"optionId": "no", "name": "No", "kind": "reject_once"},
	}})
	var result struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	_ = json.Unmarshal(answer.Result, &result)
	switch {
	case result.Outcome.Outcome == "cancelled":
		return true
	case result.Outcome.OptionID != "yes":
		a.say("refused: " + arg + " (" + result.Outcome.OptionID + string(answer.Error) + ") ")
	case what == "ASK":
		a.run(arg)
	default:
		if err := os.WriteFile(arg, []byte(arg+"\n"), 0o600); err != nil {
			a.say(err.Error())
		}
	}
	return false
}

func (a *agent) next() int {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	a.asked++
	return a.asked
}

// first reports whether something is done for the first time in the session, and keeps
// that it is.
func (a *agent) first(what string) bool {
	dir := os.Getenv("FAKE_STATE")
	if dir == "" {
		return true
	}
	name := filepath.Join(dir, a.session)
	done, _ := os.ReadFile(name)
	line := strconv.Quote(what) + "\n"
	if strings.Contains(string(done), line) {
		return false
	}
	// Appended, what was there stays although the agent is killed meanwhile.
	if f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString(line)
		_ = f.Close()
	}
	return true
}
