package permit

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/scope"
)

// Verdict is what becomes of a call.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// The tools that rules name, beside those of MCP servers (mcp__SERVER__TOOL).
const (
	Bash       = "Bash"
	Edit       = "Edit"
	Read       = "Read"
	WebFetch   = "WebFetch"
	SwitchMode = "SwitchMode" // the agent wants to leave its asking mode
	Other      = "Other"      // a tool that none of these names
)

// Call is what an agent wants to do.
type Call struct {
	Tool    string
	Command string // of Bash: the line for the shell
	Cut     bool   // Command is only its beginning
	Paths   []Path // of Edit and Read
	Dir     string // the working folder, absolute, its links resolved
	// Own: the folder is the thread's own, and that of another thread is as good.
	Own bool
}

// Path is a file that a call names, absolute: as it was named, and with its links
// resolved.
type Path struct{ Named, Real string }

// Decision is the verdict on a call. Reason says why, for the agent and for a person.
type Decision struct {
	Verdict Verdict
	Reason  string
}

// Rules are all rules of a run.
type Rules struct {
	Deny, Ask, Allow []Rule
	// Default is the verdict on what no rule matches; "" means Ask.
	Default Verdict
	// Store is the project's .leslie folder, absolute, its links resolved: no agent may
	// edit leslie's own records there.
	Store string
	// Config has the names of the user's configuration, absolute: no agent may edit it.
	Config []string
	// Home is the folder for which ~ stands in the paths of rules.
	Home string
	// Reads and Writes are the folders and files, absolute, their links resolved, in which commands may read
	// (Bash(read-only)) and work (Bash(inside)) besides the working folder.
	Reads, Writes []string
	// Resolve returns a path with its links resolved; nil: as it is.
	Resolve func(string) string
}

// Rule is one rule.
type Rule struct {
	text    string
	tool    string
	all     bool     // of the tool
	words   []string // of Bash: the first words of a command
	exactly bool     // the command has no more words
	kind    string   // of Bash: ReadOnly or Inside, "" for words
	path    string   // of Edit and Read
}

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// MarshalText implements encoding.TextMarshaler.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.text), nil }

// UnmarshalJSON parses a rule. Errors: those of Parse.
func (r *Rule) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	var err error
	*r, err = Parse(text)
	return err
}

// Parse parses a rule. Errors: T903 with the reason.
func Parse(text string) (Rule, error) {
	bad := func(reason string) (Rule, error) {
		return Rule{}, codes.InvalidArgument.New(fact.Of("reason", "the rule "+external.Word(text)+" "+reason), fact.Of("rule", text)).
			WithHint("A rule is a tool, and in parentheses what of it: Bash(git diff:*), Edit(./src/**), Read, mcp__SERVER__TOOL, *")
	}
	tool, of, some := strings.Cut(strings.TrimSpace(text), "(")
	if some {
		if !strings.HasSuffix(of, ")") {
			return bad("has no closing parenthesis")
		}
		of = strings.TrimSpace(of[:len(of)-1])
	}
	r := Rule{text: strings.TrimSpace(text), tool: tool, all: !some || of == "*"}
	if tool == "Write" {
		r.tool = Edit
	}
	switch {
	case !slices.Contains([]string{Bash, Edit, Read, WebFetch, SwitchMode, Other, "*"}, r.tool) && !isMCP(r.tool):
		return bad("names no tool that leslie knows")
	case r.all:
		return r, nil
	case of == "":
		return bad("has empty parentheses")
	case r.tool == Edit || r.tool == Read:
		if strings.HasPrefix(of, "~") && !strings.HasPrefix(of, "~/") {
			return bad("names another user's folder")
		}
		r.path = of
		if _, err := r.matcher("/d", "/h"); err != nil {
			return bad("is no valid path: " + err.Error())
		}
		return r, nil
	case r.tool != Bash:
		return bad("can only name the whole tool")
	}
	if of == ReadOnly || of == Inside {
		r.kind = of
		return r, nil
	}
	command := strings.TrimSuffix(strings.TrimSuffix(of, ":*"), " *")
	r.exactly = command == of
	words, err := external.Split(command)
	if err != nil {
		return bad("has a command that cannot be split into words")
	}
	if strings.ContainsAny(command, "*;&|<>()$`\n") {
		return bad("has a * or another special character; only :* at the end stands for any words")
	}
	r.words = words
	return r, nil
}

// isMCP reports whether a name is mcp__SERVER, for all its tools, or mcp__SERVER__TOOL.
func isMCP(name string) bool {
	server, found := strings.CutPrefix(name, "mcp__")
	return found && server != "" && !strings.ContainsAny(server, "*() ")
}

// names reports whether a rule is about a tool.
func (r Rule) names(tool string) bool {
	return r.tool == "*" || r.tool == tool || isMCP(r.tool) && strings.HasPrefix(tool, r.tool+"__")
}

// matcher returns the paths that a rule of files selects, without the leading slash.
// dir is the folder that relative ones start from.
func (r Rule) matcher(dir, home string) (scope.Set, error) {
	full := r.path
	switch {
	case strings.HasPrefix(full, "~/"):
		full = literally(home) + full[1:]
	case !strings.HasPrefix(full, "/"):
		full = literally(dir) + "/" + full
	}
	return scope.Parse([]string{strings.TrimPrefix(path.Clean(full), "/")})
}

// literally returns a path as a pattern that only it matches.
func literally(name string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(name)
}

// covers reports whether the rule selects a path. A pattern that matches nothing in this
// folder selects nothing.
func (r Rule) covers(name, dir, home string) bool {
	set, err := r.matcher(dir, home)
	return err == nil && set.Match(strings.TrimPrefix(name, "/"))
}

// Decide decides about a call.
func (rs Rules) Decide(c Call) Decision {
	line := shellLine{plain: true}
	if c.Tool == Bash {
		line = parseShell(c.Command)
	}
	if reason := rs.builtIn(c, line); reason != "" {
		return Decision{Deny, reason}
	}
	for _, step := range []struct {
		rules   []Rule
		verdict Verdict
	}{{rs.Deny, Deny}, {rs.Ask, Ask}} {
		for _, r := range step.rules {
			if r.names(c.Tool) && (r.all || rs.touches(r, c, line)) {
				return Decision{step.verdict, "the rule " + r.text + " says " + string(step.verdict)}
			}
		}
	}
	if c.Cut {
		return Decision{Ask, "the agent shows only the beginning of this command"}
	}
	if line.hidden {
		return Decision{Ask, "this command line is too complicated to be looked through"}
	}
	if c.Tool == WebFetch || c.Tool == SwitchMode { // whatever is allowed
		return Decision{Ask, "this is always asked"}
	}
	for _, r := range rs.Allow {
		if r.names(c.Tool) && r.all {
			return Decision{Allow, "the rule " + r.text}
		}
	}
	if rs.allows(c, line) {
		return Decision{Allow, "rules"}
	}
	switch {
	case rs.Default == Allow && (!line.plain || c.Tool == Bash && len(line.commands) == 0):
		return Decision{Ask, "not all that this command line does can be seen"}
	case rs.Default == "":
		return Decision{Ask, "no rule matches it"}
	}
	return Decision{rs.Default, "no rule matches it"}
}

// ofGit reports whether a path is git's own.
func ofGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

// touches reports whether a rule matches any part of a call.
func (rs Rules) touches(r Rule, c Call, line shellLine) bool {
	if c.Tool == Bash {
		return slices.ContainsFunc(line.commands, func(cmd command) bool {
			if r.kind != "" {
				return rs.kindAllows(r.kind, cmd, c.Dir, c.Dir)
			}
			return cmd.runs(r.words, r.exactly) || cmd.within(c.Dir).runs(r.words, r.exactly)
		})
	}
	return slices.ContainsFunc(c.Paths, func(p Path) bool {
		return r.covers(p.Named, c.Dir, rs.Home) || r.covers(p.Real, c.Dir, rs.Home)
	})
}

// allows reports whether the rules together allow every part of a call. A rule about
// leslie allows no other command that leslie is to run, and one about a folder nothing
// that git may run.
func (rs Rules) allows(c Call, line shellLine) bool {
	some := func(match func(Rule) bool) bool {
		return slices.ContainsFunc(rs.Allow, func(r Rule) bool { return r.names(c.Tool) && match(r) })
	}
	switch c.Tool {
	case Bash:
		if !line.plain || len(line.commands) == 0 {
			return false
		}
		dir := c.Dir
		for _, cmd := range line.commands {
			local := cmd.within(c.Dir)
			matches := func(r Rule) bool {
				if r.kind != "" {
					return rs.kindAllows(r.kind, cmd, dir, c.Dir)
				}
				return cmd.starts(r.words, r.exactly) || local.starts(r.words, r.exactly)
			}
			if cmd.names() || !some(matches) {
				return false
			}
			if cmd[0].text == "cd" && len(cmd) > 1 {
				dir = path.Join(dir, cmd[1].text)
				if path.IsAbs(cmd[1].text) {
					dir = path.Clean(cmd[1].text)
				}
			}
		}
		return true
	case Edit, Read:
		for _, p := range c.Paths {
			if c.Tool == Edit && ofGit(p.Real) || !some(func(r Rule) bool { return r.covers(p.Real, c.Dir, rs.Home) }) {
				return false
			}
		}
		return len(c.Paths) > 0
	}
	return false
}

// builtIn has the rules that no configuration changes: an agent neither decides what a
// person is asked, nor passes for one, nor edits or deletes leslie's records. It says why a call is
// denied, "" if it is not.
func (rs Rules) builtIn(c Call, line shellLine) string {
	for _, cmd := range line.commands {
		if reason := cmp.Or(cmd.decides(), cmd.wipes()); reason != "" {
			return reason
		}
	}
	if c.Tool != Edit {
		return ""
	}
	for _, p := range c.Paths {
		for _, name := range []string{p.Named, p.Real} {
			if slices.Contains(rs.Config, name) {
				return "only a person changes their own configuration"
			}
			if rs.Store != "" && path.Dir(name) == rs.Store && strings.Contains(path.Base(name), ".json") {
				return "only leslie writes its records; use its commands"
			}
		}
	}
	return ""
}
