package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// This file computes merges without touching a worktree.

// Blob is one version of a path in a tree: its mode as git writes it ("100644",
// "100755", "120000" for a link, "160000" for a submodule) and its object. The zero value
// means that the path is not there.
type Blob struct{ Mode, Object string }

// There reports whether the path exists.
func (b Blob) There() bool { return b.Object != "" }

// File reports whether it is a regular file.
func (b Blob) File() bool { return b.Mode == "100644" || b.Mode == "100755" }

// Submodule reports whether it is a commit of a submodule.
func (b Blob) Submodule() bool { return b.Mode == "160000" }

// Unmerged is a path that git could not merge.
type Unmerged struct {
	Path               string
	Base, Ours, Theirs Blob
}

// Message says what git did with some paths, or could not do.
type Message struct {
	Paths []string
	// Kind is git's short name ("CONFLICT (contents)", "Auto-merging").
	Kind, Text string
}

// Merge is a merge of two commits as git computed it.
type Merge struct {
	// Tree is the result; in it, unmerged paths have conflict markers or one of the versions.
	Tree     string
	Unmerged []Unmerged // in the order of their paths
	Messages []Message
}

// MergeTree merges one commit into another as git merge would in a worktree of the first,
// and writes only objects. in is that worktree, whose attributes hold; nil takes the
// attributes of the commit. base, if not "", takes the place of the merge base. Errors:
// T808; T801 for histories that have nothing in common.
func (r *Repo) MergeTree(ctx context.Context, in *Worktree, base, ours, theirs Commit) (Merge, error) {
	if err := r.CheckPrograms(ctx); err != nil {
		return Merge{}, err
	}
	if base != "" {
		var err error
		if ours, theirs, err = r.onBase(ctx, base, ours, theirs); err != nil {
			return Merge{}, err
		}
	}
	merge := command{args: []string{"merge-tree", "--write-tree", "-z", "--messages", string(ours), string(theirs)}}
	var out []byte
	var err error
	if in != nil {
		out, err = in.run(ctx, merge)
	} else {
		err = r.withIndex(ctx, string(ours), func(index *index) error {
			out, err = index.run(ctx, merge)
			return err
		})
	}
	if err != nil && !exited(err, 1) {
		if strings.Contains(lastLine(stderrOf(err)), "unrelated histories") {
			return Merge{}, unavailable(err, "the branches have no commit in common")
		}
		return Merge{}, broken(err)
	}
	merged, ok := parseMerge(out, r.hash)
	if !ok { // exit status 1 also says that a commit is missing
		return Merge{}, broken(err)
	}
	return merged, nil
}

// onBase returns commits with the same trees whose merge base is the given one.
func (r *Repo) onBase(ctx context.Context, base, ours, theirs Commit) (a, b Commit, err error) {
	if a, err = r.TemporaryCommit(ctx, string(ours)+"^{tree}", base); err == nil {
		b, err = r.TemporaryCommit(ctx, string(theirs)+"^{tree}", base)
	}
	return a, b, err
}

// parseMerge reads what merge-tree prints; ok is false if that does not begin with a tree.
func parseMerge(out []byte, hash int) (m Merge, ok bool) {
	fields := strings.Split(string(out), "\x00")
	if len(fields[0]) != hash || strings.Trim(fields[0], "0123456789abcdef") != "" {
		return Merge{}, false
	}
	m.Tree, fields = fields[0], fields[1:]
	for len(fields) > 0 && fields[0] != "" {
		m.addStage(fields[0])
		fields = fields[1:]
	}
	if len(fields) > 0 {
		fields = fields[1:]
	}
	for len(fields) > 2 {
		n := number(fields[0])
		if n < 0 || len(fields) < n+3 {
			break
		}
		m.Messages = append(m.Messages, Message{Paths: fields[1 : n+1], Kind: fields[n+1], Text: strings.TrimSpace(fields[n+2])})
		fields = fields[n+3:]
	}
	return m, true
}

// addStage reads "MODE OBJECT STAGE\tPATH".
func (m *Merge) addStage(line string) {
	head, path, _ := strings.Cut(line, "\t")
	parts := strings.Fields(head)
	if len(parts) != 3 {
		return
	}
	if n := len(m.Unmerged); n == 0 || m.Unmerged[n-1].Path != path {
		m.Unmerged = append(m.Unmerged, Unmerged{Path: path})
	}
	u := &m.Unmerged[len(m.Unmerged)-1]
	stages := map[string]*Blob{"1": &u.Base, "2": &u.Ours, "3": &u.Theirs}
	if stage := stages[parts[2]]; stage != nil {
		*stage = Blob{parts[0], parts[1]}
	}
}

// Blobs reads the content of objects. Errors: T801 for one that is not there.
func (r *Repo) Blobs(ctx context.Context, objects []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if len(objects) == 0 {
		return out, nil
	}
	raw, err := r.at(ctx, command{stdin: []byte(strings.Join(objects, "\n") + "\n"), args: []string{"cat-file", "--batch"}})
	if err != nil {
		return nil, broken(err)
	}
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		parts := strings.Fields(string(line))
		if len(parts) != 3 {
			return nil, unavailable(nil, "git has lost the object "+string(line))
		}
		size, err := strconv.Atoi(parts[2])
		if err != nil || size < 0 || len(rest) < size+1 {
			return nil, unavailable(err, "git cat-file: unexpected answer")
		}
		out[parts[0]], raw = rest[:size:size], rest[size+1:]
	}
	return out, nil
}

// PutBlobs stores contents and returns their objects in the same order.
func (r *Repo) PutBlobs(ctx context.Context, contents [][]byte) ([]string, error) {
	if len(contents) == 0 {
		return nil, nil
	}
	dir, remove, err := r.scratch()
	if err != nil {
		return nil, err
	}
	defer remove()
	names := make([]string, len(contents))
	for i, content := range contents {
		names[i] = filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(names[i], content, 0o600); err != nil {
			return nil, writeFailed(names[i], err)
		}
	}
	return r.putFiles(ctx, names)
}

// putFiles stores files as they are, and returns their objects. No name has a line break.
func (r *Repo) putFiles(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out, err := r.at(ctx, command{stdin: []byte(strings.Join(names, "\n") + "\n"), args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}})
	if err != nil {
		return nil, broken(err)
	}
	objects := strings.Fields(string(out))
	if len(objects) != len(names) {
		return nil, unavailable(nil, "git hash-object: unexpected answer")
	}
	return objects, nil
}

// Replace returns a tree that differs from another in some paths; a version that is not
// there removes its path.
func (r *Repo) Replace(ctx context.Context, tree string, with map[string]Blob) (string, error) {
	if len(with) == 0 {
		return tree, nil
	}
	var changed string
	err := r.withIndex(ctx, tree, func(index *index) error {
		var lines strings.Builder
		for path, b := range with { // removals first: a file may take the place of a folder
			if !b.There() {
				lines.WriteString("0 " + strings.Repeat("0", r.hash) + "\t" + path + "\x00")
			}
		}
		for path, b := range with {
			if b.There() {
				lines.WriteString(b.Mode + " " + b.Object + "\t" + path + "\x00")
			}
		}
		if _, err := index.run(ctx, command{stdin: []byte(lines.String()), args: []string{"update-index", "-z", "--index-info"}}); err != nil {
			return err
		}
		out, err := index.run(ctx, command{args: []string{"write-tree"}})
		changed = strings.TrimSpace(string(out))
		return err
	})
	return changed, broken(err)
}

// index is a private index, in an empty folder.
type index struct {
	repo *Repo
	dir  string
}

func (i *index) run(ctx context.Context, c command) ([]byte, error) {
	c.dir = i.dir
	c.env = append(c.env, "GIT_DIR="+i.repo.Admin, "GIT_WORK_TREE="+i.dir, "GIT_INDEX_FILE="+filepath.Join(i.dir, ".git-index"))
	return i.repo.system.run(ctx, c)
}

// withIndex calls fn with a private index that has a tree.
func (r *Repo) withIndex(ctx context.Context, tree string, fn func(*index) error) error {
	dir, remove, err := r.scratch()
	if err != nil {
		return err
	}
	defer remove()
	i := &index{r, dir}
	if _, err := i.run(ctx, command{args: []string{"read-tree", tree}}); err != nil {
		return err
	}
	return fn(i)
}

// CommitTree makes a commit. Its author is who git says it is; where git knows nobody,
// the actor with an address that leads nowhere.
func (r *Repo) CommitTree(ctx context.Context, tree string, parents []Commit, message, actor string) (Commit, error) {
	return r.commitTree(ctx, tree, parents, message, actor)
}

// commitTree is CommitTree with variables for git, such as who the author is.
func (r *Repo) commitTree(ctx context.Context, tree string, parents []Commit, message, actor string, env ...string) (Commit, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	c := command{args: args, stdin: []byte(message + "\n"), env: env}
	out, err := r.at(ctx, c)
	if exited(err, 128) && strings.Contains(stderrOf(err), "empty ident name") || strings.Contains(stderrOf(err), "tell me who you are") {
		for _, role := range []string{"AUTHOR", "COMMITTER"} {
			c.env = append(c.env, "GIT_"+role+"_NAME="+actor, "GIT_"+role+"_EMAIL="+address(actor))
		}
		out, err = r.at(ctx, c)
	}
	if err != nil {
		return "", broken(err)
	}
	return Commit(strings.TrimSpace(string(out))), nil
}

// TemporaryCommit makes a commit that only a computation needs, and no ref names. It says neither who made it nor when:
// the same content gives the same commit, and looking again adds nothing to the repository.
func (r *Repo) TemporaryCommit(ctx context.Context, tree string, parents ...Commit) (Commit, error) {
	var env []string
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+role+"_NAME=leslie", "GIT_"+role+"_EMAIL="+address("leslie"), "GIT_"+role+"_DATE=@0 +0000")
	}
	return r.commitTree(ctx, tree, parents, "leslie: temporary", "leslie", env...)
}

// address is an address for somebody whom git does not know.
func address(actor string) string {
	plain := strings.Map(func(c rune) rune {
		if strings.ContainsRune("<>@ \t\n", c) || c < ' ' {
			return '-'
		}
		return c
	}, actor)
	return plain + "@leslie.invalid"
}
