package permit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func exactly(t *testing.T, c Call) []string {
	t.Helper()
	rules, err := Exactly(c)
	require.NoError(t, err)
	d := Rules{Allow: rules, Home: "/home/kim"}.Decide(c)
	assert.Equal(t, Allow, d.Verdict, "%+v: %s", c, d.Reason)
	var out []string
	for _, r := range rules {
		out = append(out, r.String())
	}
	return out
}

func file(name string) Path { return Path{Named: name, Real: name} }

func TestExactRulesAllowTheCallAndLittleElse(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"Bash(git push origin main)"}, exactly(t, Call{Tool: Bash, Command: "git push origin main"}))
	assert.Equal(t, []string{"Bash(make test)", "Bash(wc -l)"}, exactly(t, Call{Tool: Bash, Command: "make test | wc -l 2>/dev/null"}))
	assert.Equal(t, []string{`Bash(git commit -m 'it'\''s done')`}, exactly(t, Call{Tool: Bash, Command: `git commit -m "it's done"`}))
	assert.Equal(t, []string{"Edit(/p/a b.go)", "Edit(/p/[[]x].go)"}, exactly(t, Call{Tool: Edit, Paths: []Path{file("/p/a b.go"), file("/p/[x].go")}, Dir: "/p"}))
	assert.Equal(t, []string{"Read(/etc/hosts)"}, exactly(t, Call{Tool: Read, Paths: []Path{file("/etc/hosts")}, Dir: "/p"}))
	assert.Equal(t, []string{"mcp__github__create_issue"}, exactly(t, Call{Tool: "mcp__github__create_issue"}))

	rules, err := Exactly(Call{Tool: Bash, Command: "git push"})
	require.NoError(t, err)
	for _, more := range []string{"git push --force", "git push origin", "git", "git push; rm x", "GIT_DIR=x git push"} {
		assert.NotEqual(t, Allow, Rules{Allow: rules}.Decide(Call{Tool: Bash, Command: more}).Verdict, more)
	}
	rules, err = Exactly(Call{Tool: Edit, Paths: []Path{file("/p/[x].go")}, Dir: "/p"})
	require.NoError(t, err)
	assert.NotEqual(t, Allow, Rules{Allow: rules}.Decide(Call{Tool: Edit, Paths: []Path{file("/p/x.go")}, Dir: "/p"}).Verdict)
}

func TestExactRulesAboutTheThreadsOwnFolderHoldInTheNextOne(t *testing.T) {
	t.Parallel()
	const dir, next = "/w/p.worktrees/[1] a", "/w/p.worktrees/2"
	tests := []struct {
		call  Call
		rules []string
		same  Call // in the next folder
		other Call // there, too
	}{
		{
			Call{Tool: Edit, Paths: []Path{file(dir + "/src/[x].go")}}, []string{"Edit(./src/[[]x].go)"},
			Call{Tool: Edit, Paths: []Path{file(next + "/src/[x].go")}}, Call{Tool: Edit, Paths: []Path{file(dir + "/src/[x].go")}},
		},
		{
			Call{Tool: Read, Paths: []Path{file("/etc/hosts"), file(dir)}}, []string{"Read(/etc/hosts)", "Read(.)"},
			Call{Tool: Read, Paths: []Path{file("/etc/hosts"), file(next)}}, Call{Tool: Read, Paths: []Path{file(dir)}},
		},
		{
			Call{Tool: Bash, Command: "cd '" + dir + "' && go test -o='" + dir + "/out' ./..."}, []string{"Bash(cd .)", "Bash(go test -o=./out ./...)"},
			Call{Tool: Bash, Command: "cd " + next + " && go test -o=" + next + "/out ./..."}, Call{Tool: Bash, Command: "cd '" + dir + "'"},
		},
		{
			Call{Tool: Bash, Command: "cat '" + dir + "/../2/x'"}, []string{"Bash(cat '" + dir + "/../2/x')"},
			Call{Tool: Bash, Command: "cat '" + dir + "/../2/x'"}, Call{Tool: Bash, Command: "cat ./../2/x"},
		},
	}
	for _, test := range tests {
		test.call.Dir, test.call.Own = dir, true
		test.same.Dir, test.other.Dir = next, next
		assert.Equal(t, test.rules, exactly(t, test.call))
		rules, err := Exactly(test.call)
		require.NoError(t, err)
		assert.Equal(t, Allow, Rules{Allow: rules}.Decide(test.same).Verdict, "%+v", test.same)
		assert.NotEqual(t, Allow, Rules{Allow: rules}.Decide(test.other).Verdict, "%+v", test.other)
	}
	rule, err := Parse("Bash(rm ./x)")
	require.NoError(t, err)
	assert.Equal(t, Deny, Rules{Deny: []Rule{rule}}.Decide(Call{Tool: Bash, Command: "rm -f " + next + "/x", Dir: next}).Verdict)
}

func TestWhatNoExactRuleAllowsIsRefused(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "echo $(id)", "echo $HOME", "echo x > file", "(make)", "X=1 make", "rm *", "find . -name '*.go'", "echo 'a;b'", "make \"", "cat <<E\nx\nE", "leslie merge a b --agent sh", "ls ~/x",
	} {
		_, err := Exactly(Call{Tool: Bash, Command: command})
		assert.Error(t, err, command)
	}
	for _, c := range []Call{
		{Tool: Other}, {Tool: WebFetch}, {Tool: SwitchMode}, {Tool: Edit}, {Tool: Edit, Paths: []Path{file("/p/.git/config")}},
	} {
		_, err := Exactly(c)
		assert.Error(t, err, "%+v", c)
	}
}

func TestNobodysAgentEditsTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	all, err := Parse("Edit")
	require.NoError(t, err)
	rs := Rules{Allow: []Rule{all}, Config: []string{"/home/kim/.leslie/config.json", "/dotfiles/leslie.json"}}
	for _, name := range rs.Config {
		assert.Equal(t, Deny, rs.Decide(Call{Tool: Edit, Paths: []Path{file(name)}}).Verdict, name)
	}
	assert.Equal(t, Deny, rs.Decide(Call{Tool: Edit, Paths: []Path{{Named: "/p/link", Real: "/dotfiles/leslie.json"}}}).Verdict)
	assert.Equal(t, Allow, rs.Decide(Call{Tool: Edit, Paths: []Path{file("/home/kim/.leslie/notes.md")}}).Verdict)
}
