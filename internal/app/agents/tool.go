package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/permit"
	"leslie/thread"
)

// This file reads what an agent wants to do out of its requests for permission. Agents
// say it in different places.

// toolInput has the members in which agents say what a tool is called with.
type toolInput struct {
	Command      json.RawMessage `json:"command"` // a line, or a list of words
	Cmd          json.RawMessage `json:"cmd"`
	FilePath     string          `json:"file_path"`
	FilePathToo  string          `json:"filePath"`
	Path         string          `json:"path"`
	AbsolutePath string          `json:"absolute_path"`
	NotebookPath string          `json:"notebook_path"`
}

// toolOf returns what a call of a tool does, for the rules; dir is the folder in which
// the agent works, its links resolved.
func toolOf(call acp.ToolCall, dir string) permit.Call {
	var in toolInput
	_ = json.Unmarshal(call.RawInput, &in) // whatever it is, what is missing is asked about
	out := permit.Call{Tool: permit.Other, Dir: dir}
	switch name := mcpTool(call); {
	case name != "":
		out.Tool = name
		return out
	case call.Kind == "execute":
		out.Tool = permit.Bash
		out.Command, out.Cut = commandOf(call, in)
		return out
	case slices.Contains([]string{"edit", "delete", "move"}, call.Kind):
		out.Tool = permit.Edit
	case call.Kind == "read", call.Kind == "search":
		out.Tool = permit.Read
	case call.Kind == "fetch":
		out.Tool = permit.WebFetch
		return out
	case call.Kind == "switch_mode":
		out.Tool = permit.SwitchMode
		return out
	default:
		return out
	}
	names := []string{in.FilePath, in.FilePathToo, in.Path, in.AbsolutePath, in.NotebookPath}
	for _, l := range call.Locations {
		names = append(names, l.Path)
	}
	for _, c := range call.Content {
		names = append(names, c.Path)
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		p := permit.Path{Named: filepath.ToSlash(filepath.Clean(name)), Real: filepath.ToSlash(app.ResolveLinks(name))}
		if !slices.Contains(out.Paths, p) {
			out.Paths = append(out.Paths, p)
		}
	}
	return out
}

// mcpTool returns the name of a tool of an MCP server, "" for another. Agents say it among
// what they say to nobody in particular (claude, qwen), or in the title: as it is, or for
// people (gemini).
func mcpTool(call acp.ToolCall) string {
	var meta struct {
		Tool   string `json:"toolName"`
		Claude struct {
			Tool string `json:"toolName"`
		} `json:"claudeCode"`
	}
	_ = json.Unmarshal(call.Meta, &meta)
	for _, name := range []string{meta.Claude.Tool, meta.Tool, call.Title} {
		if strings.HasPrefix(name, "mcp__") && !strings.ContainsAny(name, " \t\n") {
			return name
		}
	}
	if call.Kind != "other" { // the title may be a command
		return ""
	}
	tool, rest, found := strings.Cut(call.Title, " (")
	server, of := strings.CutSuffix(rest, " MCP Server)")
	if !found || !of || tool == "" || server == "" || strings.ContainsAny(tool+server, " \t\n()") {
		return ""
	}
	return "mcp__" + server + "__" + tool
}

// askedInText is how one agent says the command that it wants to run.
const askedInText = "Requesting approval to Running: "

// commandOf returns the line for the shell that a call runs. cut says that it may be only
// the beginning, as a text for people is.
func commandOf(call acp.ToolCall, in toolInput) (line string, cut bool) {
	if line = in.line(); line != "" {
		return line, false
	}
	line = call.Title
	for _, c := range call.Content {
		if _, asked, found := strings.Cut(c.Content.Text, askedInText); found {
			line = strings.TrimSpace(asked)
		}
	}
	return line, strings.HasSuffix(line, "…") || strings.HasSuffix(line, "...")
}

// line returns the line for the shell in a tool's input, "" without one.
func (in toolInput) line() (line string) {
	for _, raw := range []json.RawMessage{in.Command, in.Cmd} {
		var words []string
		switch {
		case json.Unmarshal(raw, &line) == nil && line != "":
			return line
		case json.Unmarshal(raw, &words) == nil && len(words) > 0:
			return lineOf(words)
		}
	}
	return ""
}

// Decide returns what a call does for which an agent asks, and the verdict. before is what
// the agent has said of it so far, nothing if it has not. An agent that asks with another
// command than it has said needs both of them allowed; one that has put the command
// between quotes (codex) means the same.
func Decide(rules permit.Rules, before, asked acp.ToolCall, dir string) (permit.Call, permit.Decision) {
	p := toolOf(before.Merge(asked), dir)
	d := rules.Decide(p)
	var in toolInput
	_ = json.Unmarshal(before.RawInput, &in)
	line := in.line()
	if p.Tool != permit.Bash || line == "" || line == p.Command {
		return p, d
	}
	said := p
	said.Command, said.Cut = line, false
	first := rules.Decide(said)
	if words, err := external.Split(p.Command); err == nil && len(words) == 1 && words[0] == line {
		return said, first
	}
	if app.AllowsLess(first.Verdict, d.Verdict) {
		return p, first
	}
	return p, d
}

// Updated returns a call with what an agent says of it now.
func Updated(call, now acp.ToolCall) acp.ToolCall {
	if len(now.RawInput) == 0 {
		now.RawInput = argumentsIn(now)
	}
	return call.Merge(now)
}

// OutputOf returns the first lines of what a call of a tool answered, without those that are empty or
// only mark a block: of what it shows, else of its output as it is.
func OutputOf(call acp.ToolCall, most int) (lines []string) {
	var texts []string
	for _, c := range call.Content {
		texts = append(texts, c.Content.Text)
	}
	if strings.TrimSpace(strings.Join(texts, "")) == "" {
		texts = outputIn(call.RawOutput)
	}
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "```") {
			continue
		}
		if lines = append(lines, app.Cut(line, 200)); len(lines) == most {
			break
		}
	}
	return lines
}

// outputIn finds the text in a tool's output, which agents write as they like.
func outputIn(raw json.RawMessage) []string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}
	}
	var out struct {
		Error, Stderr, Message, Output, Stdout string
	}
	_ = json.Unmarshal(raw, &out)
	return []string{out.Error, out.Stderr, out.Message, out.Output, out.Stdout}
}

// argumentsIn returns what a tool is called with if an agent shows just that, as kimi does
// before it asks; nil if it does not.
func argumentsIn(call acp.ToolCall) json.RawMessage {
	if len(call.Content) != 1 || call.Status != "" && call.Status != "pending" {
		return nil
	}
	var in map[string]json.RawMessage
	if text := []byte(call.Content[0].Content.Text); json.Unmarshal(text, &in) == nil {
		return text
	}
	return nil
}

// lineOf returns the line that a list of words is: what a shell is given with -c, or the
// words quoted.
func lineOf(words []string) string {
	shells := []string{"sh", "bash", "zsh", "dash"}
	if len(words) == 3 && slices.Contains(shells, filepath.Base(words[0])) && slices.Contains([]string{"-c", "-lc"}, words[1]) {
		return words[2]
	}
	quotedWords := make([]string, len(words))
	for i, w := range words {
		quotedWords[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quotedWords, " ")
}

// CallRecord is a call as a person is asked about it, and as it is recognized. input is
// what the tool is called with, for tools of which the rules know no more, or what
// tells a command from others that begin as it does.
func CallRecord(p permit.Call, input []byte) *thread.ToolCall {
	t := &thread.ToolCall{Tool: p.Tool, Command: p.Command}
	for _, path := range p.Paths {
		t.Paths = append(t.Paths, path.Real)
	}
	if p.Tool == permit.Bash && !p.Cut || len(t.Paths) > 0 {
		input = nil
	}
	sum := sha256.New()
	for _, part := range append([]string{p.Dir, t.Tool, t.Command, string(input)}, t.Paths...) {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	t.Digest = hex.EncodeToString(sum.Sum(nil)[:16])
	return t
}
