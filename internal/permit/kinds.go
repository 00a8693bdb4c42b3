package permit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// This file has the two rules about commands that name none: those that only read, and
// those that name nothing outside.

// ReadOnly and Inside stand in the parentheses of a rule about Bash.
const (
	ReadOnly = "read-only" // commands that only read, in the folder and in Rules.Reads
	Inside   = "inside"    // commands that name no path outside of the folder and Rules.Writes, and reach no other machine
)

// programRule says what of a program a rule is about.
type programRule struct {
	letters  string   // short options with which it does more than read
	words    []string // the same for long ones, and those of one dash
	pattern  bool     // its first operand is no path
	anything bool     // its operands are no paths
	most     int      // how many operands it may have; 0: any number
}

// readers are the programs that only read, with what they must not be called with.
func readers() map[string]programRule {
	return map[string]programRule{
		"basename": {anything: true}, "cat": {}, "cksum": {}, "cmp": {}, "column": {}, "comm": {}, "cut": {}, "date": {letters: "sf", words: []string{"--set", "--file"}, anything: true},
		"df": {}, "diff": {}, "dirname": {anything: true}, "du": {}, "echo": {anything: true}, "egrep": {pattern: true}, "false": {}, "fgrep": {pattern: true},
		"file": {letters: "C", words: []string{"--compile"}}, "find": {words: []string{"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}},
		"fold": {}, "grep": {pattern: true}, "head": {}, "hexdump": {}, "id": {}, "jq": {pattern: true}, "ls": {}, "md5sum": {}, "nl": {}, "od": {}, "paste": {}, "printf": {anything: true}, "pwd": {},
		"readlink": {}, "realpath": {}, "rev": {}, "rg": {pattern: true, words: []string{"--pre", "--hostname-bin", "--search-zip"}, letters: "z"}, "seq": {}, "sha1sum": {}, "sha256sum": {}, "sleep": {},
		"sort": {letters: "oT", words: []string{"--output", "--compress-program", "--temporary-directory"}}, "stat": {}, "strings": {}, "tac": {}, "tail": {}, "test": {}, "[": {}, "tr": {anything: true},
		"tree": {letters: "o", words: []string{"--output"}}, "true": {}, "type": {}, "uname": {}, "uniq": {most: 1}, "wc": {}, "whereis": {anything: true}, "which": {anything: true}, "whoami": {},
	}
}

// gitReaders are the commands of git that only read, with what they must not be called with.
func gitReaders() map[string]programRule {
	gitWrites := []string{"--output", "--ext-diff", "--textconv"} // with which it writes a file or starts a program
	return map[string]programRule{
		"blame": {}, "cat-file": {words: []string{"--filters", "--textconv"}}, "describe": {}, "diff": {words: gitWrites}, "diff-files": {words: gitWrites}, "diff-index": {words: gitWrites}, "diff-tree": {words: gitWrites},
		"for-each-ref": {}, "grep": {pattern: true, letters: "O", words: []string{"--open-files-in-pager"}}, "log": {words: gitWrites}, "ls-files": {}, "ls-tree": {}, "merge-base": {}, "name-rev": {},
		"rev-list": {}, "rev-parse": {}, "shortlog": {words: gitWrites}, "show": {words: gitWrites}, "show-ref": {words: []string{"--exclude-existing"}}, "status": {}, "version": {}, "whatchanged": {words: gitWrites},
	}
}

// gitLists are commands of git that only list if they are called in one of these ways.
func gitLists() map[string]string {
	return map[string]string{
		"branch":   `^( (-a|-r|-v|-vv|-av|-avv|--all|--remotes|--verbose|--show-current|--no-color))*( (--list|-l)( [^-]\S*)*)?$`,
		"config":   `^( (--local|--global|--show-origin))*( (--list|-l|list)| (--get|--get-all|get) \S+)$`,
		"reflog":   `^( show( .*)?)?$`,
		"remote":   `^( -v)?$`,
		"stash":    `^ (list|show)( -p)?( stash@\{\d+\})?$`,
		"tag":      `^(( -l| --list)( [^-]\S*)*)?$`,
		"worktree": `^ list( --porcelain)?$`,
	}
}

// printedLines is what a script of sed looks like that only prints lines.
const printedLines = `^([0-9]+(,([0-9]+|\$))?p;?)+$`

// elsewhere are the programs with which a command reaches other machines, other users or the
// system, with those of their commands that do; nil: all.
func elsewhere() map[string][]string {
	return map[string][]string{
		"apt": nil, "apt-get": nil, "at": nil, "aws": nil, "az": nil, "brew": nil, "crontab": nil, "curl": nil, "dd": nil, "dnf": nil, "doas": nil, "docker": nil, "ftp": nil, "gcloud": nil, "gh": nil, "glab": nil,
		"helm": nil, "kill": nil, "killall": nil, "kubectl": nil, "mount": nil, "nc": nil, "ncat": nil, "npx": nil, "pip": nil, "pip3": nil, "pipx": nil, "pkill": nil, "podman": nil, "reboot": nil, "rsync": nil,
		"scp": nil, "sftp": nil, "shutdown": nil, "ssh": nil, "su": nil, "sudo": nil, "systemctl": nil, "telnet": nil, "terraform": nil, "umount": nil, "wget": nil, "yum": nil,
		"git":   {"clone", "config", "fetch", "filter-branch", "gc", "ls-remote", "prune", "pull", "push", "reflog", "remote", "request-pull", "send-email", "submodule", "update-ref", "worktree"},
		"npm":   {"access", "add", "adduser", "ci", "exec", "i", "init", "install", "login", "publish", "unpublish", "update"},
		"pnpm":  {"add", "dlx", "i", "install", "publish", "update"},
		"yarn":  {"add", "dlx", "install", "npm", "publish", "upgrade"},
		"cargo": {"add", "install", "login", "owner", "publish", "yank"},
		"go":    {"env", "get", "install"},
		"gem":   {"install", "push"},
		"uv":    {"add", "pip", "publish", "sync", "tool"},
	}
}

// kindAllows reports whether a rule about a kind of commands allows one that runs in dir.
func (rs Rules) kindAllows(kind string, cmd command, dir, folder string) bool {
	if len(cmd) == 0 || !cmd[0].known {
		return false
	}
	if cmd[0].text == "cd" { // the commands behind it run there
		return len(cmd) == 2 && !strings.HasPrefix(cmd[1].text, "-") && rs.within(cmd[1], dir, []string{folder})
	}
	if kind == ReadOnly {
		return rs.readsOnly(cmd, dir, append([]string{folder, "/dev/null"}, rs.Reads...))
	}
	for _, c := range cmd.programs() {
		if some, is := elsewhere()[path.Base(c[0].text)]; is && (some == nil || slices.ContainsFunc(some, func(name string) bool { return c.has([]string{c[0].text, name}, false) })) {
			return false
		}
	}
	return rs.allWithin(cmd[1:], dir, append([]string{folder, "/dev/null"}, rs.Writes...))
}

// readsOnly reports whether a command only reads, and only in these folders.
func (rs Rules) readsOnly(cmd command, dir string, folders []string) bool {
	name, args := cmd[0].text, cmd[1:]
	rule, is := readers()[name]
	switch {
	case name == "sed" && len(args) >= 2:
		return args[0].text == "-n" && args[1].known && regexp.MustCompile(printedLines).MatchString(args[1].text) && rs.allWithin(args[2:], dir, folders) &&
			!slices.ContainsFunc(args[2:], func(w word) bool { return strings.HasPrefix(w.text, "-") })
	case name == "git":
		for len(args) > 0 && (args[0].text == "--no-pager" || args[0].text == "-P") {
			args = args[1:]
		}
		if len(args) == 0 {
			return false
		}
		if list, lists := gitLists()[args[0].text]; lists {
			text, known := "", true
			for _, w := range args[1:] {
				text, known = text+" "+w.text, known && w.known
			}
			return known && regexp.MustCompile(list).MatchString(text)
		}
		rule, is = gitReaders()[args[0].text]
		args = args[1:]
	}
	if !is || slices.ContainsFunc(args, rule.forbids) {
		return false
	}
	if rule.anything {
		return true
	}
	if rule.pattern && !slices.ContainsFunc(args, namesPattern) {
		if at := slices.IndexFunc(args, func(w word) bool { return !strings.HasPrefix(w.text, "-") }); at >= 0 && args[at].known {
			args = slices.Concat(args[:at], args[at+1:])
		}
	}
	operands := slices.DeleteFunc(slices.Clone(args), func(w word) bool { return strings.HasPrefix(w.text, "-") })
	return (rule.most == 0 || len(operands) <= rule.most) && rs.allWithin(args, dir, folders)
}

// namesPattern reports whether a word may be the option of a program that looks for a pattern which says
// what the pattern is, or where: the first operand is a path then.
func namesPattern(w word) bool {
	if long, is := strings.CutPrefix(w.text, "--"); is {
		return strings.HasPrefix(long, "file") || strings.HasPrefix(long, "regexp") || strings.HasPrefix(long, "from")
	}
	return strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "ef")
}

// forbids reports whether a word is an option with which a program does more than read, shortened
// or with its value behind it.
func (r programRule) forbids(w word) bool {
	option, _, _ := strings.Cut(w.text, "=")
	switch {
	case !strings.HasPrefix(option, "-") || option == "--":
		return false
	case slices.Contains(r.words, option):
		return true
	case strings.HasPrefix(option, "--"):
		return slices.ContainsFunc(r.words, func(long string) bool { return len(option) > len("--x") && strings.HasPrefix(long, option) })
	}
	return strings.ContainsAny(option[1:], r.letters)
}

func (rs Rules) allWithin(words []word, dir string, folders []string) bool {
	return !slices.ContainsFunc(words, func(w word) bool { return !rs.within(w, dir, folders) })
}

// within reports whether a word names nothing outside of the folders, if it is a path or an
// option with one. What a shell makes of the word must be known, except for the names that a
// pattern finds.
func (rs Rules) within(w word, dir string, folders []string) bool {
	text := w.text
	if strings.HasPrefix(text, "-") {
		if _, value, found := strings.Cut(text, "="); found {
			text = value
		} else if at := strings.Index(text, "/"); at >= 0 && !strings.HasPrefix(text, "--") {
			text = text[at:] // -f/a/path
		} else if w.known {
			return true
		}
	}
	parts := strings.Split(text, "/")
	odd := func(part string) bool { return part == ".." || !w.known && strings.HasPrefix(part, ".") && part != "." }
	switch {
	case !w.known && !w.pattern, slices.ContainsFunc(parts, odd), strings.HasPrefix(text, "~"), strings.Contains(text, `\`), len(text) > 1 && text[1] == ':' && text[0] != ':':
		return false
	case !w.known:
		text = path.Dir(text[:strings.IndexAny(text+"*", "*?[")] + "x") // the folder in which the pattern begins
	}
	if !path.IsAbs(text) {
		text = path.Join(dir, text)
	}
	if rs.Resolve != nil {
		text = rs.Resolve(text)
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		rest, in := strings.CutPrefix(path.Clean(text), strings.TrimSuffix(folder, "/"))
		return folder != "" && in && (rest == "" || rest[0] == '/')
	})
}
