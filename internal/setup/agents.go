package setup

import (
	"fmt"
	"slices"
	"strings"
)

// This file is the table of what each agent, and git, gets. When a text changes, the mark
// of the former one tells that it is older; of a value in JSON, keep the former version in
// older.

// Scope says whose files get the pieces.
type Scope string

// The scopes: the project's files, for everybody who works in it, or the user's own, for
// all projects.
const (
	ProjectScope Scope = "project"
	UserScope    Scope = "user"
)

// GitTarget is the target that is no agent.
const GitTarget = "git"

// Agents are the names of the agents that can be set up.
func Agents() []string { return []string{"claude", "codex", "gemini", "opencode", "qwen", "kimi"} }

// Targets are the agents, and git.
func Targets() []string { return append(Agents(), GitTarget) }

// Pieces are what a target gets in a scope.
func Pieces(target string, scope Scope) []Piece {
	user := scope == UserScope
	switch target {
	case "claude":
		return claude(user)
	case "codex":
		return codex(user)
	case "gemini":
		return gemini(user)
	case "opencode":
		return opencode(user)
	case "qwen":
		return qwen(user)
	case "kimi":
		return kimi(user)
	case GitTarget:
		return gitPieces(user)
	}
	return nil
}

// Notes says what a target needs besides, a sentence each.
func Notes(target string, scope Scope) []string {
	switch {
	case target == "claude" && scope == UserScope:
		return []string{"the file with your own tools is Claude Code's: claude mcp add --scope user leslie -- leslie mcp adds leslie's"}
	case target == "claude":
		return []string{"Claude Code asks once whether it may start the tools of a project"}
	case target == "codex":
		return []string{"Codex asks you to trust the project and its hooks before it uses them"}
	case target == "gemini" || target == "qwen":
		return []string{"hooks and tools of a project count in a folder that you trust (" + target + " asks)"}
	case target == "kimi" && scope == ProjectScope:
		return []string{
			"Kimi starts the tools of a project in a folder that you trust (it asks)",
			"Kimi has hooks only in your own configuration: leslie setup kimi --scope user",
		}
	}
	return nil
}

// either returns one of two values.
func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func claude(user bool) []Piece {
	base, folder := either(user, ClaudeHome, Project), either(user, "", ".claude/")
	out := skills(base, folder+"skills")
	for _, event := range []string{stopEvent, StartEvent} {
		out = append(out, hook("claude", event, base, folder+"settings.json", 5))
	}
	if user {
		return out
	}
	return append(out, tools(Project, ".mcp.json", "", "mcpServers", stdio), importGuide("CLAUDE.md"))
}

func codex(user bool) []Piece {
	base, folder := either(user, CodexHome, Project), either(user, "", ".codex/")
	out := agentsSkills(user)
	for _, event := range []string{stopEvent, StartEvent} {
		out = append(out, hook("codex", event, base, folder+"hooks.json", 5))
	}
	return append(out, Piece{Name: toolsName, Base: base, Path: folder + "config.toml", form: block{
		name: "tools", comment: hash(), body: "[mcp_servers.leslie]\ncommand = \"leslie\"\nargs = [\"mcp\"]\n",
		elsewhere: tableInTOML("mcp_servers", "leslie"), keeps: keepsTOML,
	}})
}

func gemini(user bool) []Piece {
	base, file := either(user, Home, Project), ".gemini/settings.json"
	out := agentsSkills(user)
	for _, event := range []string{"AfterAgent", StartEvent} {
		out = append(out, hook("gemini", event, base, file, 5000))
	}
	out = append(out, tools(base, file, "", "mcpServers", stdio))
	if user {
		return out
	}
	return append(out, importGuide("GEMINI.md"))
}

func opencode(user bool) []Piece {
	base, folder := either(user, ConfigHome, Project), either(user, "opencode/", ".opencode/")
	file := either(user, "opencode/opencode.json", "opencode.json")
	return append(agentsSkills(user),
		tools(base, file, file+"c", "mcp", `{"type": "local", "command": ["leslie", "mcp"]}`),
		Piece{Name: "plugin", Base: base, Path: folder + "plugins/leslie.js", form: whole{"plugin", comment{"// ", ""}, opencodePlugin}})
}

func qwen(user bool) []Piece {
	base, file := either(user, Home, Project), ".qwen/settings.json"
	out := agentsSkills(user)
	for _, event := range []string{stopEvent, StartEvent} {
		out = append(out, hook("qwen", event, base, file, 5))
	}
	return append(out, tools(base, file, "", "mcpServers", stdio))
}

func kimi(user bool) []Piece {
	out := agentsSkills(user)
	if !user {
		return append(out, tools(Project, ".mcp.json", "", "mcpServers", stdio))
	}
	return append(out,
		tools(KimiHome, "mcp.json", "", "mcpServers", stdio),
		Piece{Name: "hooks", Base: KimiHome, Path: "config.toml", form: block{
			name: "hooks", comment: hash(), body: kimiHook(kimiStart, StartEvent) + "\n" + kimiHook(stopEvent, stopEvent),
			elsewhere: textInTOML("leslie hook "), keeps: keepsTOML,
		}})
}

// kimiStart is the event at which Kimi listens to a hook: it does not at the start of a
// session, so leslie speaks with the first prompt of one.
const kimiStart = "UserPromptSubmit"

// kimiHook is a hook as Kimi writes it.
func kimiHook(event, as string) string {
	return fmt.Sprintf("[[hooks]]\nevent = %q\ncommand = %q\ntimeout = 5\n", event, hookLine("kimi", as))
}

// MergeDriver is the value of merge.leslie.driver. Without leslie git merges by itself: a
// driver that is missing would count as a conflict without markers.
const MergeDriver = "command -v leslie >/dev/null || exec git merge-file --diff3 %A %O %B; " +
	"leslie merge-file --in-place -L %X -L %S -L %Y %A %O %B"

func gitPieces(user bool) []Piece {
	driver := block{
		name: "merge driver", comment: hash(), body: "[merge \"leslie\"]\n\tname = leslie's merge of lines\n\tdriver = \"" + MergeDriver + "\"\n",
		elsewhere: lineThat(Edited, func(line string) bool { return strings.EqualFold(line, `[merge "leslie"]`) }),
	}
	attributes := block{
		name: "merge driver", comment: hash(), body: "*.md merge=leslie\n",
		elsewhere: lineThat(Installed, func(line string) bool { return line == "*.md merge=leslie" }),
	}
	return []Piece{
		{Name: "merge driver", Base: either(user, Home, Git), Path: either(user, ".gitconfig", "config"), form: driver},
		{Name: "attributes", Base: either(user, ConfigHome, Project), Path: either(user, "git/attributes", ".gitattributes"), form: attributes},
	}
}

// The events of hooks, as most agents call them.
const (
	StartEvent = "SessionStart"
	stopEvent  = "Stop"
)

// hookOf is the command of leslie for an event, without what follows.
func hookOf(event string) string {
	return "leslie hook " + either(event == StartEvent, "start", "stop")
}

// hookLine is the command of a hook. It succeeds without leslie, too: whoever else works
// in the project may not have it.
func hookLine(agent, event string) string {
	return hookOf(event) + " --for " + agent + " 2>/dev/null || true"
}

// hook is a hook in the form that Claude Code has introduced. What timeout counts depends
// on the agent.
func hook(agent, event string, base Base, path string, timeout int) Piece {
	return Piece{Name: "hook " + event, Base: base, Path: path, form: value{
		path: []string{"hooks", event}, holds: hookOf(event),
		json: fmt.Sprintf(`{"hooks": [{"type": "command", "command": %s, "timeout": %d}]}`, quote(hookLine(agent, event)), timeout),
	}}
}

// toolsName is the name of the piece that has leslie mcp.
const toolsName = "tools"

// stdio is leslie mcp as most agents write a server.
const stdio = `{"command": "leslie", "args": ["mcp"]}`

// tools is leslie mcp among an agent's servers of tools.
func tools(base Base, path, or, list, entry string) Piece {
	return Piece{Name: toolsName, Base: base, Path: path, Or: or, form: value{path: []string{list}, key: "leslie", json: entry}}
}

func hash() comment { return comment{"# ", ""} }

func html() comment { return comment{"<!-- ", " -->"} }

// guideFile is the file with leslie's instructions for agents.
const guideFile = "AGENTS.md"

// importGuide has an agent read AGENTS.md that reads only a file of its own.
func importGuide(file string) Piece {
	return Piece{Name: "instructions", Base: Project, Path: file, Only: guideFile, form: block{
		name: "instructions", comment: html(), body: "@" + guideFile + "\n",
		elsewhere: lineThat(Installed, func(line string) bool { return slices.Contains(strings.Fields(line), "@"+guideFile) }),
	}}
}

// agentsSkills are the skills in the folder that most agents read.
func agentsSkills(user bool) []Piece {
	return skills(either(user, Home, Project), ".agents/skills")
}

// skill is a short text that sends an agent to leslie's own help.
type skill struct{ name, about, text string }

// skillTexts are the skills. They name topics of leslie help and say little else, so they
// stay right when leslie changes.
func skillTexts() []skill {
	return []skill{
		{
			"leslie-thread", "Work in a thread of leslie. Use it when LESLIE_THREAD is set, when you are told to take or continue a thread, or when the project has a folder .leslie and you are about to begin, hand over or finish a piece of work.",
			"Run `leslie help working` first and work as it says. `leslie context` shows your thread: messages, what to deliver, files, what is next.\n" +
				"`leslie help COMMAND` explains a command, `leslie explain CODE` an error.\n",
		},
		{
			"leslie-relations", "Find out what another thread of leslie knows, or make its work available to yours. Use it when you need the plan, design or findings of other work, when you split work into threads, or when you must choose between referencing, inheriting and merging.",
			"Run `leslie help relations` first: it says when to reference, inherit or merge, and where to read what.\n" +
				"`leslie graph` shows how the threads belong together, `leslie search WORDS` finds text in all of them.\n",
		},
		{
			"leslie-merge", "Merge threads of leslie and resolve the conflicts of a merge. Use it when leslie merge reports conflicts (T301), when a merge is pending, or before you bring finished work to a parent thread.",
			"Run `leslie help merging` first. `leslie merge status MERGE` shows what is open, `leslie help merge resolve` how to decide it.\n" +
				"Keep what both sides want wherever that is possible. Never take a side only to be done.\n",
		},
	}
}

// skills are the skills in a folder, each with a folder of its own.
func skills(base Base, folder string) (out []Piece) {
	for _, s := range skillTexts() {
		name := "skill " + s.name
		out = append(out, Piece{Name: name, Base: base, Path: folder + "/" + s.name + "/SKILL.md", form: whole{
			name, html(), "---\nname: " + s.name + "\ndescription: " + s.about + "\n---\n\n" + s.text + "\n",
		}})
	}
	return out
}

// opencodePlugin adds to the system prompt of each session what leslie says at its start,
// once, so that the prompt stays the same.
const opencodePlugin = `import { execFile } from "node:child_process"

export const Leslie = async ({ directory }) => {
  const sessions = new Map()
  const begin = () =>
    new Promise((done) => {
      const options = { cwd: directory, timeout: 5000 }
      const child = execFile("leslie", ["hook", "start", "--for", "opencode"], options, (error, out) => done(error ? "" : out.trim()))
      child.stdin?.on("error", () => {})
      child.stdin?.end()
    })
  return {
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID) return
      if (!sessions.has(input.sessionID)) sessions.set(input.sessionID, begin())
      const text = await sessions.get(input.sessionID)
      if (text) output.system.push(text)
    },
  }
}
`
