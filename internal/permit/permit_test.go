package permit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/permit"
)

func rules(t testing.TB, deny, ask, allow []string) permit.Rules {
	t.Helper()
	parse := func(texts []string) (out []permit.Rule) {
		for _, text := range texts {
			r, err := permit.Parse(text)
			require.NoError(t, err)
			out = append(out, r)
		}
		return out
	}
	return permit.Rules{Deny: parse(deny), Ask: parse(ask), Allow: parse(allow), Store: "/p/.leslie", Home: "/home/ann"}
}

func bash(line string) permit.Call {
	return permit.Call{Tool: permit.Bash, Command: line, Dir: "/p"}
}

func file(tool, name string) permit.Call {
	return permit.Call{Tool: tool, Paths: []permit.Path{{Named: name, Real: name}}, Dir: "/p"}
}

func TestACommandLineIsAllowedOnlyIfEachOfItsPartsIs(t *testing.T) {
	t.Parallel()
	rs := rules(t, nil, nil, []string{"Bash(git diff:*)", "Bash(ls)", "Bash(npm run test:*)", "Bash(go test *)"})
	for line, want := range map[string]permit.Verdict{
		"git diff": permit.Allow, "git diff --stat HEAD~1": permit.Allow, "ls": permit.Allow, "git diff | git diff; ls && git diff &": permit.Allow,
		"git diff 'a b' \"c $X\" $Y 2>&1 >/dev/null": permit.Allow, "'git' \"diff\"": permit.Allow, "go test ./...": permit.Allow, "git diff *.go": permit.Allow,
		"ls # and nothing else": permit.Allow, "git diff\nls": permit.Allow, "git diff \\\n --stat": permit.Allow, "! ls": permit.Allow,

		"": permit.Ask, "#": permit.Ask, "ls -l": permit.Ask, "git difftool": permit.Ask, "gitdiff": permit.Ask, "git push": permit.Ask, "npm run tests": permit.Ask,
		"git diff; rm x": permit.Ask, "git diff | sh": permit.Ask, "git diff && curl x": permit.Ask, "git diff & rm x": permit.Ask, "git diff\nrm x": permit.Ask,
		"git diff $(rm x)": permit.Ask, "git diff `rm x`": permit.Ask, "git diff \"$(rm x)\"": permit.Ask, "git diff <(rm x)": permit.Ask,
		"git diff ${X:-$(rm x)}": permit.Ask, "git diff ${X:=1}": permit.Ask, "git diff $((X=1))": permit.Ask, "git diff ${X@P}": permit.Ask,
		"git diff > x": permit.Ask, "git diff >> x": permit.Ask, "git diff < x": permit.Ask, "git diff <<E\n$(rm x)\nE": permit.Ask, "git diff <<<x": permit.Ask,
		"git diff &> x": permit.Ask, "git diff >&x": permit.Ask, "git diff >& 1": permit.Ask, "git diff\x00": permit.Ask, "git\r diff": permit.Ask, "git diff 2>/dev/null/x": permit.Ask,
		"(git diff)": permit.Ask, "{ git diff; }": permit.Ask, "if ls; then ls; fi": permit.Ask, "f() { ls; }": permit.Ask, "time ls": permit.Ask,
		"git diff 'open": permit.Ask, "X=1 git diff": permit.Ask, "PATH=/evil; git diff": permit.Ask, "env git diff": permit.Ask, "git -C / diff": permit.Ask,
		"/evil/git diff": permit.Ask, "./git diff": permit.Ask, "$X diff": permit.Ask, "g?t diff": permit.Ask, "{git,diff}": permit.Ask, "~/git diff": permit.Ask,
		"git $X": permit.Ask, "git dif*": permit.Ask, "git $'diff'": permit.Ask, "export git=diff": permit.Ask, "eval git diff": permit.Ask,
	} {
		assert.Equal(t, want, rs.Decide(bash(line)).Verdict, "%q", line)
	}
}

func TestACommandIsSeenBehindWhatStartsIt(t *testing.T) {
	t.Parallel()
	rs := rules(t, []string{"Bash(rm:*)"}, []string{"Bash(git push:*)", "Bash(make)"}, []string{"Bash"})
	for line, want := range map[string]permit.Verdict{
		"rm x": permit.Deny, "/bin/rm x": permit.Deny, "X=1 rm x": permit.Deny, "env -i X=1 rm x": permit.Deny, "sudo -u root rm x": permit.Deny,
		"ls | xargs rm": permit.Deny, "find . -exec rm {} +": permit.Deny, "timeout 5 rm x": permit.Deny, "sh -c 'ls; rm x'": permit.Deny,
		"bash -lc \"sh -c 'rm x'\"": permit.Deny, "eval rm x": permit.Deny, "echo $(rm x)": permit.Deny, "echo `rm x`": permit.Deny, "(rm x)": permit.Deny,
		"if true; then rm x; fi": permit.Deny, "f() { rm x; }": permit.Deny, "cat <(rm x)": permit.Deny, "rm 'open": permit.Deny, "ls; 'r'm x": permit.Deny,
		"r\\m x": permit.Deny, "cat <<E\n$(rm x)\nE": permit.Deny, "git push; rm x": permit.Deny, "nohup nice rm x &": permit.Deny,
		"git push": permit.Ask, "git -C /x push": permit.Ask, "git --no-pager -c a=b push origin": permit.Ask, "cd x && git push": permit.Ask,
		"make": permit.Ask, "make -s": permit.Ask, "make install": permit.Allow,
		"echo rm": permit.Allow, "rmdir x": permit.Allow, "git pushx": permit.Allow, "git log push": permit.Allow, "grep 'rm x' f": permit.Allow,
		"echo $(date) > f": permit.Allow, // all commands are allowed
	} {
		assert.Equal(t, want, rs.Decide(bash(line)).Verdict, "%q", line)
	}
}

func TestALineThatIsTooComplicatedIsAsked(t *testing.T) {
	t.Parallel()
	rs := rules(t, []string{"Bash(rm:*)"}, nil, []string{"*"})
	for name, line := range map[string]string{
		"words": "env " + strings.Repeat("env ", 30_000), "shells": "env " + strings.Repeat("sh ", 20_000), "length": "echo " + strings.Repeat("x", 100_000),
		"nesting": "sh -c 'sh -c \"sh -c \\\"sh -c sh\\\"\"'", "substitutions": strings.Repeat("$(sh ", 300) + strings.Repeat(")", 300),
	} {
		assert.Equal(t, permit.Ask, rs.Decide(bash(line)).Verdict, "%s", name)
		assert.Equal(t, permit.Deny, rs.Decide(bash("rm x; "+line)).Verdict, "%s", name)
	}
}

func TestACommandOfWhichOnlyTheBeginningIsShownIsAsked(t *testing.T) {
	t.Parallel()
	rs := rules(t, []string{"Bash(rm:*)"}, nil, []string{"*"})
	rs.Default = permit.Allow
	for line, want := range map[string]permit.Verdict{"ls…": permit.Ask, "rm x…": permit.Deny} {
		c := bash(line)
		c.Cut = true
		assert.Equal(t, want, rs.Decide(c).Verdict, "%q", line)
	}
}

func TestARuleAllowsNothingThatRunsOtherPrograms(t *testing.T) {
	t.Parallel()
	rs := rules(t, nil, nil, []string{"Bash(leslie:*)", "Edit(./**)"})
	for line, want := range map[string]permit.Verdict{
		"leslie merge --sources a --target b": permit.Allow, "leslie merge --sources a --target b --validate 'rm x'": permit.Ask,
		"leslie merge land b --validate=x": permit.Ask, "leslie merge --agent x --sources a": permit.Ask, "leslie pull --agent=x": permit.Ask,
		"leslie run b --agent claude": permit.Allow,
	} {
		assert.Equal(t, want, rs.Decide(bash(line)).Verdict, "%q", line)
	}
	for name, want := range map[string]permit.Verdict{
		"/p/x.go": permit.Allow, "/p/.git": permit.Ask, "/p/sub/.git/hooks/pre-commit": permit.Ask, "/p/.GIT/config": permit.Ask, "/p/.gitignore": permit.Allow,
	} {
		assert.Equal(t, want, rs.Decide(file(permit.Edit, name)).Verdict, "%s", name)
	}
}

func TestNoAgentDecidesForAPerson(t *testing.T) {
	t.Parallel()
	rs := rules(t, nil, nil, []string{"*"})
	rs.Default = permit.Allow
	for line, want := range map[string]permit.Verdict{
		"leslie approve appr-1": permit.Deny, "/usr/bin/leslie deny appr-1": permit.Deny, "leslie --dir x revoke g-1": permit.Deny,
		"leslie done t --as user": permit.Deny, "leslie --as=user done t": permit.Deny, "LESLIE_AS=user leslie done t": permit.Deny,
		"env LESLIE_AS=user leslie done t": permit.Deny, "export LESLIE_AS=user": permit.Deny, "sh -c 'leslie approve x'": permit.Deny,
		"echo $(leslie approve x)": permit.Deny, "yes | leslie approve x": permit.Deny, "leslie -v approve 'open": permit.Deny,
		"leslie answer q-1 approve": permit.Allow, "leslie done t": permit.Allow, "leslie inject t 'approve it'": permit.Allow, "leslie --as agent done t": permit.Allow,
	} {
		assert.Equal(t, want, rs.Decide(bash(line)).Verdict, "%q", line)
	}
	for name, want := range map[string]permit.Verdict{
		"/p/.leslie/state.json": permit.Deny, "/p/.leslie/operations.jsonl": permit.Deny, "/p/.leslie/state.json.bak": permit.Deny,
		"/p/.leslie/threads/a/plan.json": permit.Allow, "/p/state.json": permit.Allow,
	} {
		assert.Equal(t, want, rs.Decide(file(permit.Edit, name)).Verdict, "%s", name)
	}
	linked := permit.Call{Tool: permit.Edit, Dir: "/p", Paths: []permit.Path{{Named: "/p/x", Real: "/p/.leslie/state.json"}}}
	assert.Equal(t, permit.Deny, rs.Decide(linked).Verdict)
}

func TestNoAgentHasGitTakeTheStoreAway(t *testing.T) {
	t.Parallel()
	rs := rules(t, nil, nil, []string{"*"})
	rs.Default = permit.Allow
	for line, want := range map[string]permit.Verdict{
		"git clean -fdx": permit.Deny, "git clean -xdf": permit.Deny, "git clean -ffdx": permit.Deny, "git clean -f -d -x": permit.Deny,
		"git -C . clean -x": permit.Deny, "git clean -X": permit.Deny, "git clean -fdX .": permit.Deny, "sh -c 'git clean -fdx'": permit.Deny,
		"cd .. && /usr/bin/git clean -fdx": permit.Deny, "env A=1 git -c clean.requireForce=false clean -x": permit.Deny, "git clean -fxe build": permit.Deny,
		"git stash --all": permit.Deny, "git stash -a": permit.Deny, "git stash push -ua -m x": permit.Deny, "git stash save --al": permit.Deny,
		"git clean -fd": permit.Allow, "git clean -n -x": permit.Allow, "git clean --dry-run -x": permit.Allow, "git clean -fe x": permit.Allow, "git clean -fd -- -x": permit.Allow,
		"git stash": permit.Allow, "git stash -u": permit.Allow, "git stash push -m all": permit.Allow, "git stash apply": permit.Allow,
		"git commit -m clean -x": permit.Allow, "echo git clean -x": permit.Allow, "make clean -x": permit.Allow,
	} {
		assert.Equal(t, want, rs.Decide(bash(line)).Verdict, "%q", line)
	}
}

func TestFilesAreSelectedFromTheWorkingFolder(t *testing.T) {
	t.Parallel()
	rs := rules(t, []string{"Read(./.env)", "Read(~/.ssh)"}, []string{"Edit(./go.mod)"}, []string{"Read", "Edit(./**)", "Edit(/tmp/x*)", "Write(notes/*.md)"})
	for _, c := range []struct {
		tool, name string
		want       permit.Verdict
	}{
		{permit.Read, "/etc/hosts", permit.Allow}, {permit.Read, "/p/.env", permit.Deny}, {permit.Read, "/p/sub/.env", permit.Allow},
		{permit.Read, "/home/ann/.ssh/id", permit.Deny}, {permit.Edit, "/p/a/b.go", permit.Allow}, {permit.Edit, "/p/go.mod", permit.Ask},
		{permit.Edit, "/q/a.go", permit.Ask}, {permit.Edit, "/tmp/x1", permit.Allow}, {permit.Edit, "/tmp/y", permit.Ask}, {permit.Edit, "/pp/a", permit.Ask},
	} {
		assert.Equal(t, c.want, rs.Decide(file(c.tool, c.name)).Verdict, "%s %s", c.tool, c.name)
	}
	outside := permit.Call{Tool: permit.Edit, Dir: "/p", Paths: []permit.Path{{Named: "/p/link", Real: "/etc/passwd"}}}
	assert.Equal(t, permit.Ask, rs.Decide(outside).Verdict, "a link that leads out of the folder")
	hidden := permit.Call{Tool: permit.Read, Dir: "/p", Paths: []permit.Path{{Named: "/p/.env", Real: "/q/env"}}}
	assert.Equal(t, permit.Deny, rs.Decide(hidden).Verdict, "a name that is denied, wherever it leads")
	two := permit.Call{Tool: permit.Edit, Dir: "/p", Paths: []permit.Path{{Named: "/p/a", Real: "/p/a"}, {Named: "/q", Real: "/q"}}}
	assert.Equal(t, permit.Ask, rs.Decide(two).Verdict, "one of two files")
	assert.Equal(t, permit.Ask, rs.Decide(permit.Call{Tool: permit.Edit, Dir: "/p"}).Verdict, "no file is named")
	odd := rules(t, nil, nil, []string{"Edit(./**)"})
	assert.Equal(t, permit.Ask, odd.Decide(permit.Call{Tool: permit.Edit, Dir: "/p[ab]*", Paths: []permit.Path{{Named: "/pa1/x", Real: "/pa1/x"}}}).Verdict)
	assert.Equal(t, permit.Allow, odd.Decide(permit.Call{Tool: permit.Edit, Dir: "/p[ab]*", Paths: []permit.Path{{Named: "/p[ab]*/x", Real: "/p[ab]*/x"}}}).Verdict)
}

func TestOtherToolsAreNamedWhole(t *testing.T) {
	t.Parallel()
	rs := rules(t, []string{"mcp__github__delete_repo"}, nil, []string{"mcp__github", "WebFetch", "SwitchMode", "Read"})
	for tool, want := range map[string]permit.Verdict{
		"mcp__github__list": permit.Allow, "mcp__github__delete_repo": permit.Deny, "mcp__githubx__list": permit.Ask, permit.Other: permit.Ask,
		permit.WebFetch: permit.Ask, permit.SwitchMode: permit.Ask, permit.Read: permit.Allow,
	} {
		assert.Equal(t, want, rs.Decide(permit.Call{Tool: tool}).Verdict, "%s", tool)
	}
}

func TestTheDefaultDecidesWhatNoRuleMatches(t *testing.T) {
	t.Parallel()
	for _, want := range []permit.Verdict{permit.Allow, permit.Ask, permit.Deny} {
		rs := permit.Rules{Default: want}
		assert.Equal(t, want, rs.Decide(bash("ls")).Verdict)
		assert.Equal(t, want, rs.Decide(file(permit.Edit, "/x")).Verdict)
	}
	assert.Equal(t, permit.Ask, permit.Rules{}.Decide(bash("ls")).Verdict)
	assert.Equal(t, permit.Ask, permit.Rules{Default: permit.Allow}.Decide(bash("ls $(rm x)")).Verdict, "what is not seen is not allowed by default")
	assert.Equal(t, permit.Deny, permit.Rules{Default: permit.Deny}.Decide(bash("ls $(rm x)")).Verdict)
}

func TestRulesThatWouldNotDoWhatTheySayAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "bash", "Bsh(ls)", "Bash(", "Bash()", "Bash(ls", "Bash(npm * test)", "Bash(a; b)", "Bash('open)", "Bash(ls > x)", "Bash(:*)",
		"Edit()", "Edit(../[)", "Edit(~bob/x)", "mcp__", "mcp__a*", "mcp__a(x)", "WebFetch(x)", "*(ls)", "Read(a\\b)",
	} {
		_, err := permit.Parse(text)
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%q: %v", text, err)
	}
	var r permit.Rule
	require.NoError(t, json.Unmarshal([]byte(`"Write(./a/**)"`), &r))
	assert.Equal(t, "Write(./a/**)", r.String())
	assert.Error(t, json.Unmarshal([]byte(`"Bsh"`), &r))
	assert.Error(t, json.Unmarshal([]byte(`{}`), &r))
}
