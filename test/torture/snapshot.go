//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// This file looks at a store from outside: what the reading commands answer,
// and every file. Ids, times and sums that differ from run to run are replaced,
// so that two runs of one command look the same.

const storeDir = ".leslie"

// readers are the commands by which a store is seen.
func readers() [][]string {
	return [][]string{
		{"history", "--limit", "0"}, {"list", "--all", "--limit", "0"}, {"status"}, {"objective", "list", "--limit", "0"},
		{"reference", "list", "--limit", "0"}, {"merge", "list", "--limit", "0"}, {"approvals", "--all", "--limit", "0"},
	}
}

// snapshot is a store as it was seen.
type snapshot struct {
	docs  []string          // what each reader answered
	files map[string]string // path -> mode and content
}

var (
	randomID    = regexp.MustCompile(`\b(thread|obj|ref|merge|appr|inj|op|ckpt)-[a-z2-7]{8}\b`)
	timeStamp   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	asideTime   = regexp.MustCompile(`set-aside-\d{8}T\d{6}Z`)
	asideNumber = regexp.MustCompile(`set-aside-TIME-\d+$`)
	undone      = regexp.MustCompile(`"pending":\[[^\]]*\]`)
	quarantine  = regexp.MustCompile(`"quarantined":\[([^][]|\[[^][]*\])*\]`)
	unfiled     = regexp.MustCompile(`,"(pending|quarantined)":\[([^][]|\[[^][]*\])*\]`)
	lineSum     = regexp.MustCompile(`crc32c:[0-9a-f]{8}`)
)

// normalizer replaces what differs from run to run. Ids that the prepared store had
// stay; others are numbered in the order in which they are met.
type normalizer struct {
	root  string
	known map[string]bool
	met   map[string]string
}

func (p *project) normalizer(known map[string]bool) *normalizer {
	return &normalizer{root: p.dir, known: known, met: map[string]string{}}
}

func (n *normalizer) text(s string) string {
	s = strings.ReplaceAll(s, n.root, "ROOT")
	s = timeStamp.ReplaceAllString(s, "TIME")
	s = asideTime.ReplaceAllString(s, "set-aside-TIME")
	s = lineSum.ReplaceAllString(s, "SUM")
	return randomID.ReplaceAllStringFunc(s, func(id string) string {
		if n.known[id] {
			return id
		}
		if n.met[id] == "" {
			kind, _, _ := strings.Cut(id, "-")
			n.met[id] = fmt.Sprintf("%s-#%d", kind, len(n.met)+1)
		}
		return n.met[id]
	})
}

// idsIn are the random ids that a store's files hold.
func idsIn(files map[string]string) map[string]bool {
	known := map[string]bool{}
	for name, content := range files {
		for _, id := range randomID.FindAllString(name+content, -1) {
			known[id] = true
		}
	}
	return known
}

// view asks the readers, whose warnings count like the rest. damaged: what a damaged store's readers warn of, and
// why they cannot read it, changes while it is mended; only that they do counts.
func (p *project) view(known map[string]bool, damaged bool) (docs []string, problem string) {
	n := p.normalizer(known)
	for _, argv := range readers() {
		o := p.call(argv...)
		// What is not in its place yet is told by status, and judged by the files.
		o.Stdout = undone.ReplaceAll(o.Stdout, []byte(`"pending":[]`))
		line := "leslie " + strings.Join(argv, " ")
		switch {
		case o.Doc == nil:
			return nil, line + " gave no JSON document: " + o.Text()
		case !damaged:
			docs = append(docs, line+": "+n.text(trimmed(o.Stdout)))
		case o.Status == 0:
			docs = append(docs, line+": "+n.text(withoutWarnings(o.Stdout)))
		default:
			docs = append(docs, line+": unreadable")
		}
	}
	return docs, ""
}

func withoutWarnings(answer []byte) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(answer, &fields) // it was read before
	delete(fields, "warnings")
	out, _ := json.Marshal(fields)
	return string(out)
}

// rawFiles reads every file of the project but the log, with names relative to
// it and folders as such.
func (p *project) rawFiles() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.dir, name)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case rel == storeDir+"/logs":
			return filepath.SkipDir
		case rel == ".":
		case d.IsDir():
			out[rel] = "folder"
		case !d.Type().IsRegular():
			out[rel] = d.Type().String()
		default:
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			out[rel] = info.Mode().Perm().String() + "\n" + string(data)
		}
		return nil
	})
	return out, err
}

// files are the project's files as two runs of one command leave them alike.
func (p *project) files(known map[string]bool) (map[string]string, error) {
	raw, err := p.rawFiles()
	if err != nil {
		return nil, err
	}
	return p.normalized(raw, known), nil
}

// normalized are files without what differs from run to run.
func (p *project) normalized(raw map[string]string, known map[string]bool) map[string]string {
	n := p.normalizer(known)
	n.text(unfiled.ReplaceAllString(raw[storeDir+"/operations.jsonl"], "")) // ids are numbered as they came
	out := map[string]string{}
	for _, name := range sorted(raw) {
		if !transient(name) {
			out[asideName(n.text(name), out)] = ordered(name, n.text(raw[name]))
		}
	}
	return out
}

// asideName is the name of something that was set aside, without the number that it
// gets where a name seemed to be taken: one that cannot be looked at is.
func asideName(name string, taken map[string]string) string {
	bare := asideNumber.ReplaceAllString(name, "set-aside-TIME")
	if _, both := taken[bare]; both {
		return name
	}
	return bare
}

// transient are folders that come and go without a meaning.
func transient(name string) bool {
	switch name {
	case storeDir + "/tmp", storeDir + "/requests", storeDir + "/merges", storeDir + "/blobs", storeDir + "/blobs/sha256":
		return true
	}
	return filepath.Dir(name) == storeDir+"/blobs/sha256"
}

// ordered puts the records of a state, which lie in the order of their ids, in
// the order of what is left of them. A line of the journal names steps that were
// not done when it was written; what became of them is judged by the files.
func ordered(name, content string) string {
	base := filepath.Base(name)
	switch {
	case filepath.Dir(name) != storeDir:
	case base == "operations.jsonl":
		return unfiled.ReplaceAllString(content, "")
	case strings.HasPrefix(base, statePath):
		if base == backupPath { // of a moment at which a step was still to be done
			content = quarantine.ReplaceAllString(content, `"quarantined":[]`)
		}
		lines := strings.Split(strings.ReplaceAll(content, ",\n", "\n"), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	return content
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// take is a whole snapshot.
func (p *project) take(known map[string]bool, damaged bool) (s snapshot, err error) {
	docs, problem := p.view(known, damaged)
	if problem != "" {
		return s, fmt.Errorf("%s", problem)
	}
	s.docs = docs
	s.files, err = p.files(known)
	return s, err
}

// unlikeDocs is the first difference of two views, "" when there is none.
func unlikeDocs(want, got []string) string {
	for i := range want {
		if want[i] != got[i] {
			return firstDifference(want[i], got[i])
		}
	}
	return ""
}

// unlikeFiles is the first difference of two trees. Blobs and lines of the
// archive that no record names may lie about: they do not count.
func unlikeFiles(want, got map[string]string) string {
	for _, name := range sorted(want) {
		have, there := got[name]
		switch {
		case !there && strings.HasPrefix(name, blobsDir) && !namesBlob(want, name):
		case !there:
			return name + " is missing"
		case name == storeDir+"/archive.jsonl" && containsLines(have, want[name]):
		case have != want[name]:
			return name + ": " + firstDifference(want[name], have)
		}
	}
	for _, name := range sorted(got) {
		if _, there := want[name]; !there && !unreferenced(name) {
			return name + " should not be there"
		}
	}
	return ""
}

func unreferenced(name string) bool {
	return strings.HasPrefix(name, blobsDir) || name == storeDir+"/archive.jsonl"
}

func containsLines(have, want string) bool {
	for line := range strings.Lines(want) {
		if !strings.Contains(have, line) {
			return false
		}
	}
	return true
}

// firstDifference shows where two texts part.
func firstDifference(want, got string) string {
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	from := max(0, n-60)
	cut := func(s string) string { return fmt.Sprintf("%q", s[from:min(len(s), n+100)]) }
	return "expected ..." + cut(want) + ", found ..." + cut(got)
}

// mixed is the first artifact that is neither as before nor as after, "" when
// there is none: while files are exchanged, one may be missing, none be half.
func mixed(before, after, now map[string]string) string {
	for _, name := range sorted(now) {
		if !artifact(name) {
			continue
		}
		is := now[name]
		whole := is == before[name] || is == after[name]
		if !whole && !(lineByLine(name) && begun(before[name], after[name], is)) {
			return name + " is neither as before nor as after: " + firstDifference(after[name], is)
		}
	}
	return ""
}

// lineByLine reports whether a file in a thread's folder is one that leslie
// appends to; a line may have been begun, and the next write has it whole.
func lineByLine(name string) bool { return strings.HasSuffix(name, "/.meta/injections.jsonl") }

// begun reports whether a file holds all that it held, and of what was to be
// added a part.
func begun(before, after, is string) bool {
	if before == "" { // there was no such file; its mode comes first
		before, _, _ = strings.Cut(after, "\n")
	}
	return strings.HasPrefix(is, before) && strings.HasPrefix(after, is)
}

func artifact(name string) bool { return strings.HasPrefix(name, storeDir+"/threads/") }

// only are those files of a tree that want picks.
func only(files map[string]string, want func(string) bool) map[string]string {
	out := map[string]string{}
	for name, content := range files {
		if want(name) {
			out[name] = content
		}
	}
	return out
}

// missingBlob is the first blob that a tree names and another lacks. A blob that
// nothing names may be missing: what is taken away is kept as one for people.
func missingBlob(want, got map[string]string) string {
	for _, name := range sorted(want) {
		if strings.HasPrefix(name, blobsDir) && got[name] != want[name] && namesBlob(want, name) {
			return name
		}
	}
	return ""
}

const (
	blobsDir = storeDir + "/blobs/"
	keptDir  = blobsDir + "kept/"
)

// namesBlob reports whether a blob's sum stands anywhere in the store's own files.
func namesBlob(files map[string]string, blob string) bool {
	sum := filepath.Base(filepath.Dir(blob)) + filepath.Base(blob)
	for name, content := range files {
		if strings.HasPrefix(name, keptDir) {
			continue // a list of what was taken away, for people
		}
		if (strings.HasPrefix(name, blobsDir) || filepath.Dir(name) == storeDir) && strings.Contains(content, sum) {
			return true
		}
	}
	return false
}

// copyTo makes a copy of the project in another folder, with modes, owned by
// whoever is to work there.
func (p *project) copyTo(dir string, uid int) (*project, error) {
	err := filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.dir, name)
		return copyOne(name, filepath.Join(dir, rel), d, uid)
	})
	return &project{rig: p.rig, dir: dir, uid: uid}, err
}

func copyOne(from, to string, d fs.DirEntry, uid int) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if d.IsDir() {
		err = os.Mkdir(to, info.Mode().Perm())
		if os.IsExist(err) {
			err = nil
		}
	} else {
		var data []byte
		if data, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, data, info.Mode().Perm())
		}
	}
	if err == nil && uid != 0 {
		err = os.Chown(to, uid, uid)
	}
	return err
}

func trimmed(b []byte) string { return string(bytes.TrimSpace(b)) }
