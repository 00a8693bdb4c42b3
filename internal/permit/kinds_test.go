package permit_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/internal/permit"
)

// kindRules are the rules of a thread whose worktree is /w/api, in the project /p. /w/api/out is a link
// to a folder outside, /w/api/in one to a folder inside.
func kindRules(t testing.TB, allow ...string) permit.Rules {
	t.Helper()
	rs := rules(t, nil, nil, allow)
	rs.Reads, rs.Writes = []string{"/p"}, []string{"/p/.leslie/threads/api", "/tmp"}
	rs.Resolve = func(name string) string {
		if rest, found := strings.CutPrefix(name, "/w/api/out"); found {
			return "/etc" + rest
		}
		if rest, found := strings.CutPrefix(name, "/w/api/in"); found && (rest == "" || rest[0] == '/') {
			return path.Join("/w/api/src", rest)
		}
		return name
	}
	return rs
}

func TestCommandsThatOnlyReadAreAllowedInTheProject(t *testing.T) {
	t.Parallel()
	rs := kindRules(t, "Bash(read-only)")
	for line, want := range map[string]permit.Verdict{
		"ls": permit.Allow, "ls src": permit.Allow, "ls -la src/*.go": permit.Allow, "cat a.go | head -50 2>/dev/null; wc -l *.go || true": permit.Allow, "pwd": permit.Allow,
		"cat /w/api/a.go /p/README.md": permit.Allow, "cd src && cat a.go": permit.Allow, "cd /w/api/src; ls": permit.Allow, "cat in/a.go": permit.Allow,
		"grep -rn '/api/v1' src": permit.Allow, "grep -n \"$\" a.go": permit.Allow, "rg --files": permit.Allow, "find . -name '*.go' -not -path './.git/*'": permit.Allow,
		"sed -n '1,80p' a.go": permit.Allow, "sed -n '5p;9,$p' a.go": permit.Allow, "sort -u a | uniq -c": permit.Allow, "echo ---": permit.Allow, "test -f a && echo yes": permit.Allow,
		"git status --short": permit.Allow, "git diff main...HEAD --stat -- src": permit.Allow, "git --no-pager log --oneline -20": permit.Allow, "git show HEAD~1:a.go": permit.Allow,
		"git log --format='%h %s'": permit.Allow, "git branch -a": permit.Allow, "git branch --show-current": permit.Allow, "git branch --list 'leslie/x'": permit.Allow, "git stash list": permit.Allow,
		"git worktree list": permit.Allow, "git config --get user.name": permit.Allow, "git rev-parse --show-toplevel": permit.Allow, "git grep -n TODO": permit.Allow, "git remote -v": permit.Allow,
		"head -c 20 < /dev/null": permit.Allow,

		"cat /etc/passwd": permit.Ask, "cat ~/.ssh/id": permit.Ask, "cat $HOME/.ssh/id": permit.Ask, "cat ../other/a": permit.Ask, "cat src/../../x": permit.Ask, "ls /": permit.Ask,
		"cat out/passwd": permit.Ask, "cat out/*": permit.Ask, "cd out && cat passwd": permit.Ask, "cd .. && ls": permit.Ask, "cd": permit.Ask, "cd -": permit.Ask, "cd /p && ls": permit.Ask,
		"cat .*/a": permit.Ask, "cat {/etc/passwd,a}": permit.Ask, "grep -f/etc/passwd x a": permit.Ask, "grep x /etc/passwd": permit.Ask, "grep --file=/etc/passwd a": permit.Ask, "grep -f /etc/passwd a": permit.Ask, "grep -vf /etc/passwd a": permit.Ask, "grep --file /etc/passwd a": permit.Ask, "jq -f /etc/passwd a": permit.Ask, "grep -e x a": permit.Allow,
		"find . -delete": permit.Ask, "find . -exec rm {} +": permit.Ask, "find . -fprint x": permit.Ask, "find / -name x": permit.Ask, "sort -o a b": permit.Ask, "sort -uo a b": permit.Ask,
		"sort --out=a b": permit.Ask, "sort --compress-program=./x b": permit.Ask, "uniq a b": permit.Ask, "rg --pre ./x y": permit.Ask, "rg --pre=./x y": permit.Ask, "date -s 12:00": permit.Ask,
		"sed -i s/a/b/ a": permit.Ask, "sed -n 'w x' a": permit.Ask, "sed -n '1e rm x' a": permit.Ask, "sed -n 1p -i a": permit.Ask, "sed 1p a": permit.Ask, "awk 1 a": permit.Ask, "tee a": permit.Ask,
		"git diff --output=x": permit.Ask, "git log --output x": permit.Ask, "git log --outp x": permit.Ask, "git diff --ext-diff": permit.Ask, "git grep -O./x y": permit.Ask, "git grep --open-files-in-pager=./x y": permit.Ask,
		"git -c core.pager=./x log": permit.Ask, "git -C /etc status": permit.Ask, "git branch x": permit.Ask, "git branch -D x": permit.Ask, "git branch --list x -D y": permit.Ask, "git stash": permit.Ask, "git stash pop": permit.Ask,
		"git tag x": permit.Ask, "git remote add x y": permit.Ask, "git config user.name x": permit.Ask, "git config --get x --unset y": permit.Ask, "git reflog expire --all": permit.Ask, "git push": permit.Ask, "git commit -m x": permit.Ask, "git": permit.Ask,
		"git worktree list --x": permit.Ask, "git branch $X": permit.Ask,
		"ls > x": permit.Ask, "ls $(rm x)": permit.Ask, "ls | xargs rm": permit.Ask, "ls | sh": permit.Ask, "timeout 5 ls": permit.Ask, "X=1 ls": permit.Ask, "./ls": permit.Ask, "/evil/cat a": permit.Ask,
		"rm x": permit.Ask, "make": permit.Ask, "": permit.Ask, `cat C:\x`: permit.Ask, "cat C:/x": permit.Ask,
	} {
		assert.Equal(t, want, rs.Decide(permit.Call{Tool: permit.Bash, Command: line, Dir: "/w/api"}).Verdict, "%q", line)
	}
}

func TestCommandsThatNameNothingOutsideAreAllowedInside(t *testing.T) {
	t.Parallel()
	rs := kindRules(t, "Bash(inside)")
	for line, want := range map[string]permit.Verdict{
		"make": permit.Allow, "go test ./... -run X": permit.Allow, "rm -rf build": permit.Allow, "mkdir -p a/b && touch a/b/c": permit.Allow, "sed -i s/a/b/ a.go": permit.Allow, "python3 x.py": permit.Allow,
		"cp a /tmp/a": permit.Allow, "cd src && rm a": permit.Allow, "git checkout -b x": permit.Allow, "git reset --hard": permit.Allow, "npm test": permit.Allow, "sh -c 'rm a'": permit.Allow, "/usr/bin/make": permit.Allow,
		"echo x >/dev/null": permit.Allow, "rm /p/.leslie/threads/api/plan.md": permit.Allow, "rm in/a": permit.Allow,

		"rm -rf /p": permit.Ask, "rm -rf ../other": permit.Ask, "rm -rf ~": permit.Ask, "rm -rf $X": permit.Ask, "rm out/a": permit.Ask, "rm -rf /w/api2": permit.Ask, "cd .. && rm a": permit.Ask, "cd out && rm a": permit.Ask,
		"cp a /p/a": permit.Ask, "tar --directory=/etc xf a": permit.Ask, "cc -o/etc/x a.c": permit.Ask, "sh -c 'rm /etc/x'": permit.Ask,
		"git push": permit.Ask, "git -C . push": permit.Ask, "git fetch": permit.Ask, "git worktree add x": permit.Ask, "git config x y": permit.Ask, "curl x": permit.Ask, "/usr/bin/curl x": permit.Ask, "env curl x": permit.Ask,
		"find . -exec curl {} +": permit.Ask, "npm install": permit.Ask, "npm --silent publish": permit.Ask, "sudo ls": permit.Ask, "sh -c 'curl x'": permit.Ask, "ssh x": permit.Ask, "go get x": permit.Ask,
		"$X": permit.Ask, "echo x > a": permit.Ask, "rm $(cat a)": permit.Ask,
	} {
		assert.Equal(t, want, rs.Decide(permit.Call{Tool: permit.Bash, Command: line, Dir: "/w/api"}).Verdict, "%q", line)
	}
	asks := kindRules(t, "Bash")
	asks.Deny = kindRules(t, "Bash(read-only)").Allow
	assert.Equal(t, permit.Deny, asks.Decide(bash("make; ls")).Verdict, "a kind denies, too")
}

// Each profile allows what the one before it does.
func TestProfilesWiden(t *testing.T) {
	t.Parallel()
	var before []string
	for _, p := range permit.Profiles() {
		every, own := p.Allows()
		all := append(every, own...)
		assert.Subset(t, all, before, p)
		assert.Greater(t, len(all), len(before), p)
		rules(t, nil, nil, all)
		before = all
	}
}
