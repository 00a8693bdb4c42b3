//go:build unix

package lab

import (
	"os"
	"path/filepath"
)

// This file prepares the repositories of the rows that start git.

// CommonGit makes the project that all these rows start with.
func CommonGit(f *Fixture) {
	f.Git(".", "init", "-q")
	f.Put("a.txt", "one\n")
	f.Put("b.txt", "one\n")
	f.Put(".gitignore", "*.log\n")
	f.Git(".", "add", "-A")
	f.Git(".", "commit", "-q", "-m", "first")
	f.Ok("init --no-agents --here")
	f.Ok("objective create Ship --id ship")
	f.Ok("spawn --code --id lead --intent Lead")
	f.Ok("spawn --code --id api --intent Api --parent lead")
	f.Write("api", "plan.md", "the plan\n")
	f.Put(api+"/a.txt", "two\n")
	f.Put(api+"/new/c.txt", lines("new", 50))
	f.Git(api, "add", "-A")
	f.Git(api, "commit", "-q", "-m", "api")
	f.Put(lead+"/b.txt", "local work\n")
}

const (
	lead = "../project.worktrees/lead"
	api  = "../project.worktrees/api"
	docs = "../project.worktrees/docs"
)

func withNoCheckout(f *Fixture) { f.Git(lead, "checkout", "-q", "--detach") }

// withBranchNowhere: a branch that no worktree has checked out.
func withBranchNowhere(f *Fixture) { f.Git(".", "branch", "release") }

func withQueueOfCode(f *Fixture) {
	f.Ok("spawn --code --id docs --intent Docs --parent lead")
	f.Put(docs+"/docs.txt", "docs\n")
	f.Git(docs, "add", "-A")
	f.Git(docs, "commit", "-q", "-m", "docs")
	f.Ok("merge --sources api --target lead --queue")
	f.Ok("merge --sources docs --target lead --queue")
}

// withLocalWork: work that is staged, not staged, not tracked and ignored.
func withLocalWork(f *Fixture) {
	f.Put(api+"/a.txt", "staged\n")
	f.Git(api, "add", "-A")
	f.Put(api+"/a.txt", "not staged\n")
	f.Put(api+"/untracked.txt", "untracked\n")
	f.Put(api+"/ignored.log", "ignored\n")
}

func withRemovedWorktree(f *Fixture) {
	withLocalWork(f)
	f.Ok("code remove api")
}

// withMovedWorktree: somebody renamed the folder.
func withMovedWorktree(f *Fixture) {
	withLocalWork(f)
	if f.Err == nil {
		f.Err = os.Rename(filepath.Join(f.Dir, api), filepath.Join(f.Dir, "../project.worktrees/renamed"))
	}
}

func withLandedCode(f *Fixture) { f.Ok("merge --sources api --target lead") }

func withPrunable(f *Fixture) {
	withLandedCode(f)
	f.Ok("done api")
}

// goOnMerging continues the merge if it is pending.
func goOnMerging(p *Project) []string {
	var pending struct {
		Items []struct {
			MergeID string `json:"mergeId"`
		} `json:"items"`
	}
	p.Call("merge", "list").Into(&pending)
	if len(pending.Items) == 0 {
		return nil
	}
	return []string{"merge", "continue", pending.Items[0].MergeID}
}

// withTurn: a turn of an agent was kept, and all of its files were changed since.
func withTurn(f *Fixture) {
	f.Put(api+"/a.txt", "kept\n")
	f.Put(api+"/untracked.txt", "kept\n")
	f.Ends(17, "run api --agent fake --turns 1")
	f.Put(api+"/a.txt", "two\n")
	f.Put(api+"/later.txt", "later\n")
	f.Git(api, "add", "-A")
	f.Git(api, "commit", "-q", "-m", "later")
	f.Put(api+"/untracked.txt", "later\n")
	f.Write("api", "plan.md", "another plan\n")
}
