//go:build unix

package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// BackupFile is the state before the newest operation.
const BackupFile = StateFile + ".bak"

// RandomID matches the ids that leslie draws.
var RandomID = regexp.MustCompile(`\b(thread|obj|ref|merge|appr|inj|op|ckpt|q|c|run)-[a-z2-7]{8}\b`)

// Fixture is a store that is being prepared. After the first failure, Err, its methods
// do nothing.
type Fixture struct {
	*Project
	Err error
	// Die runs a command and kills it after its commit.
	Die func(argv []string) error
}

// Ok runs a line that must succeed.
func (f *Fixture) Ok(line string) { f.Ends(0, line) }

// Ends runs a line that must end with a status.
func (f *Fixture) Ends(status int, line string) {
	if f.Err != nil {
		return
	}
	if o := f.Call(f.Filled(strings.Fields(line))...); o.Err != nil || o.Status != status {
		f.Err = failed(line, o)
	}
}

func failed(line string, o Outcome) error {
	return fmt.Errorf("leslie %s ended with %d: %s", line, o.Status, o.Text())
}

// Crash runs a line and kills it after its commit.
func (f *Fixture) Crash(line string) {
	if f.Err == nil {
		f.Err = f.Die(strings.Fields(line))
	}
}

// Filled replaces {merge}, {ref}, {op} and their like with the newest id of that kind.
func (p *Project) Filled(argv []string) []string {
	out := slices.Clone(argv)
	for i, arg := range argv {
		if kind, is := strings.CutPrefix(arg, "{"); is {
			out[i] = p.newest(strings.TrimSuffix(kind, "}"))
		}
	}
	return out
}

// newest returns the last id of a kind in the state file.
func (p *Project) newest(kind string) (id string) {
	data, err := os.ReadFile(p.Path(StateFile))
	if err != nil {
		return ""
	}
	for _, found := range RandomID.FindAllString(string(data), -1) {
		if strings.HasPrefix(found, kind+"-") {
			id = found
		}
	}
	return id
}

// all returns the ids of a kind in the order in which they were made.
func (f *Fixture) all(kind string) (ids []string) {
	if f.Err != nil {
		return nil
	}
	journal, err := os.ReadFile(f.Path("operations.jsonl"))
	f.Err = err
	for _, id := range RandomID.FindAllString(string(journal), -1) {
		if strings.HasPrefix(id, kind+"-") && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Put writes a file of the project.
func (f *Fixture) Put(name, content string) {
	if f.Err != nil {
		return
	}
	full := filepath.Join(f.Dir, name)
	f.Err = errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644))
}

// Write writes an artifact of a thread.
func (f *Fixture) Write(thread, name, content string) {
	f.Put(filepath.Join(StoreDir, "threads", thread, name), content)
}

// Prepend puts a line in front of a file of the store.
func (f *Fixture) Prepend(name, line string) {
	if f.Err != nil {
		return
	}
	raw, err := os.ReadFile(f.Path(name))
	if f.Err = err; err == nil {
		f.Put(filepath.Join(StoreDir, name), line+string(raw))
	}
}

// Remove removes an artifact of a thread.
func (f *Fixture) Remove(thread, name string) {
	if f.Err == nil {
		f.Err = os.Remove(f.Path(filepath.Join("threads", thread, name)))
	}
}

// Halve truncates a file of the store to half its size.
func (f *Fixture) Halve(name string) {
	if f.Err != nil {
		return
	}
	info, err := os.Stat(f.Path(name))
	if err == nil {
		err = os.Truncate(f.Path(name), info.Size()/2)
	}
	f.Err = err
}

// Git runs git in a folder of the project.
func (f *Fixture) Git(dir string, argv ...string) {
	if f.Err == nil {
		_, f.Err = f.Project.Git(dir, argv...)
	}
}

// Git runs git in a folder of the project.
func (p *Project) Git(dir string, argv ...string) (string, error) {
	cmd := exec.Command("git", argv...)
	cmd.Dir, cmd.Env = filepath.Join(p.Dir, dir), p.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return string(out), err
}
