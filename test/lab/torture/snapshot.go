//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"leslie/test/lab"
)

// This file takes a snapshot of a store from outside: the answers of the reading
// commands, and every file. It replaces ids, times and checksums that differ between
// runs, so that two runs of one command compare equal.

// readers returns the commands whose answers a snapshot holds.
func readers() [][]string {
	return [][]string{
		{"history", "--limit", "0"}, {"list", "--all", "--limit", "0"}, {"status"}, {"objective", "list", "--limit", "0"},
		{"reference", "list", "--limit", "0"}, {"merge", "list", "--limit", "0"}, {"approvals", "--all", "--limit", "0"},
	}
}

// snapshot is a store at one moment.
type snapshot struct {
	docs  []string          // the answer of each reader
	files map[string]string // path -> mode and content
}

var (
	timeStamp       = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	displacedTime   = regexp.MustCompile(`set-aside-\d{8}T\d{6}Z`)
	displacedNumber = regexp.MustCompile(`set-aside-TIME-\d+$`)
	pendingSteps    = regexp.MustCompile(`"pending":\[[^\]]*\]`)
	quarantine      = regexp.MustCompile(`"quarantined":\[([^][]|\[[^][]*\])*\]`)
	fileSteps       = regexp.MustCompile(`,"(pending|quarantined)":\[([^][]|\[[^][]*\])*\]`)
	lineSum         = regexp.MustCompile(`crc32c:[0-9a-f]{8}`)
	fileTimes       = regexp.MustCompile(`,"(modifiedAt|changedAt)":"[^"]*"`)
)

// normalizer replaces what differs between runs. It keeps ids that the fixture has, and
// numbers the others in the order of their first occurrence.
type normalizer struct {
	root      string
	known     map[string]bool
	numbers   map[string]string
	manifests *strings.Replacer // the names of manifests, by those without file times
}

func (p *project) normalizer(known map[string]bool) *normalizer {
	return &normalizer{root: p.Dir, known: known, numbers: map[string]string{}, manifests: timelessManifests(p.manifests())}
}

// manifests returns the store's manifests by their names below the folder of blobs.
func (p *project) manifests() map[string]string {
	out := map[string]string{}
	names, _ := filepath.Glob(filepath.Join(p.Dir, blobsDir, "sha256", "*", "*"))
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && isManifest(string(data)) {
			out[filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)] = string(data)
		}
	}
	return out
}

func isManifest(content string) bool { return strings.HasPrefix(content, `{"version":`) }

// timelessManifests gives each manifest the name that it has without the times of its
// files. A manifest has them only for files that are two seconds old, so on a busy
// machine two runs of one command differ in them.
func timelessManifests(manifests map[string]string) *strings.Replacer {
	var pairs []string
	for _, name := range lab.Sorted(manifests) {
		sum := sha256.Sum256([]byte(fileTimes.ReplaceAllString(manifests[name], "")))
		id := hex.EncodeToString(sum[:])
		pairs = append(pairs, name, id[:2]+"/"+id[2:], strings.Replace(name, "/", "", 1), id)
	}
	return strings.NewReplacer(pairs...)
}

func (n *normalizer) text(s string) string {
	// A failed write is a failure, too, so that it may be the one which suspends a thread.
	s = strings.ReplaceAll(s, `"lastCode":"T505"`, `"lastCode":"T101"`)
	s = n.manifests.Replace(strings.ReplaceAll(s, n.root, "ROOT"))
	s = timeStamp.ReplaceAllString(s, "TIME")
	s = displacedTime.ReplaceAllString(s, "set-aside-TIME")
	s = lineSum.ReplaceAllString(s, "SUM")
	return lab.RandomID.ReplaceAllStringFunc(s, func(id string) string {
		if n.known[id] {
			return id
		}
		if n.numbers[id] == "" {
			kind, _, _ := strings.Cut(id, "-")
			n.numbers[id] = fmt.Sprintf("%s-#%d", kind, len(n.numbers)+1)
		}
		return n.numbers[id]
	})
}

// idsIn returns the random ids in a store's files.
func idsIn(files map[string]string) map[string]bool {
	known := map[string]bool{}
	for name, content := range files {
		for _, id := range lab.RandomID.FindAllString(name+content, -1) {
			known[id] = true
		}
	}
	return known
}

// view returns the answers of the readers, with their warnings. damaged: the warnings and
// errors of readers of a damaged store change during the repair, so they do not count.
func (p *project) view(known map[string]bool, damaged bool) (docs []string, problem string) {
	n := p.normalizer(known)
	for _, argv := range readers() {
		o := p.Call(argv...)
		// status lists pending file work; the comparison of files covers it.
		o.Stdout = pendingSteps.ReplaceAll(o.Stdout, []byte(`"pending":[]`))
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
	_ = json.Unmarshal(answer, &fields) // parsed before
	delete(fields, "warnings")
	out, _ := json.Marshal(fields)
	return string(out)
}

// rawFiles reads every file and folder of the project except the log. The names are
// relative to the project.
func (p *project) rawFiles() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(p.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.Dir, name)
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case rel == lab.StoreDir+"/logs":
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

// files returns the project's files, normalized.
func (p *project) files(known map[string]bool) (map[string]string, error) {
	raw, err := p.rawFiles()
	if err != nil {
		return nil, err
	}
	return p.normalized(raw, known), nil
}

// normalized returns files without what differs between runs.
func (p *project) normalized(raw map[string]string, known map[string]bool) map[string]string {
	n := p.normalizer(known)
	n.text(fileSteps.ReplaceAllString(raw[lab.StoreDir+"/operations.jsonl"], "")) // numbers ids in the order of operations
	out := map[string]string{}
	for _, name := range lab.Sorted(raw) {
		if !transient(name) {
			content := raw[name]
			if strings.HasPrefix(name, blobsDir) {
				content = fileTimes.ReplaceAllString(content, "")
			}
			out[displacedName(n.text(name), out)] = ordered(name, n.text(content))
		}
	}
	return out
}

// displacedName returns the name of a displaced file without the number that makes it
// unique: leslie also numbers it when it cannot read whether the name is taken.
func displacedName(name string, taken map[string]string) string {
	bare := displacedNumber.ReplaceAllString(name, "set-aside-TIME")
	if _, both := taken[bare]; both {
		return name
	}
	return bare
}

// transient reports whether a folder's existence means nothing.
func transient(name string) bool {
	switch name {
	case lab.StoreDir + "/tmp", lab.StoreDir + "/requests", lab.StoreDir + "/merges", lab.StoreDir + "/blobs", lab.StoreDir + "/blobs/sha256":
		return true
	}
	return filepath.Dir(name) == lab.StoreDir+"/blobs/sha256"
}

// ordered sorts the records of a normalized state, which are in the order of their
// original ids. It also removes the pending steps from the journal's lines: the
// comparison of files covers them.
func ordered(name, content string) string {
	base := filepath.Base(name)
	switch {
	case filepath.Dir(name) != lab.StoreDir:
	case base == "operations.jsonl":
		return fileSteps.ReplaceAllString(content, "")
	case strings.HasPrefix(base, lab.StateFile):
		if base == lab.BackupFile { // from before the step was done
			content = quarantine.ReplaceAllString(content, `"quarantined":[]`)
		}
		lines := strings.Split(strings.ReplaceAll(content, ",\n", "\n"), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	return content
}

// take takes a snapshot.
func (p *project) take(known map[string]bool, damaged bool) (s snapshot, err error) {
	docs, problem := p.view(known, damaged)
	if problem != "" {
		return s, fmt.Errorf("%s", problem)
	}
	s.docs = docs
	s.files, err = p.files(known)
	return s, err
}

// diffDocs returns the first difference between two views, or "".
func diffDocs(want, got []string) string {
	for i := range want {
		if want[i] != got[i] {
			return firstDifference(want[i], got[i])
		}
	}
	return ""
}

// diffFiles returns the first difference between two trees, or "". Additional blobs and
// lines of the archive that no record names do not count.
func diffFiles(want, got map[string]string) string {
	for _, name := range lab.Sorted(want) {
		have, there := got[name]
		switch {
		case !there && strings.HasPrefix(name, blobsDir) && !namesBlob(want, name):
		case !there:
			return name + " is missing"
		case name == lab.StoreDir+"/archive.jsonl" && containsLines(have, want[name]):
		case have != want[name]:
			return name + ": " + firstDifference(want[name], have)
		}
	}
	for _, name := range lab.Sorted(got) {
		if _, there := want[name]; !there && !unreferenced(name) {
			return name + " should not be there"
		}
	}
	return ""
}

func unreferenced(name string) bool {
	return strings.HasPrefix(name, blobsDir) || name == lab.StoreDir+"/archive.jsonl"
}

func containsLines(have, want string) bool {
	for line := range strings.Lines(want) {
		if !strings.Contains(have, line) {
			return false
		}
	}
	return true
}

// firstDifference shows where two texts begin to differ.
func firstDifference(want, got string) string {
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	from := max(0, n-60)
	cut := func(s string) string { return fmt.Sprintf("%q", s[from:min(len(s), n+100)]) }
	return "expected ..." + cut(want) + ", found ..." + cut(got)
}

// firstTorn returns the first artifact that is neither as before nor as after, or "".
// While files are being replaced one may be missing, but none may be incomplete.
func firstTorn(before, after, now map[string]string) string {
	for _, name := range lab.Sorted(now) {
		if !artifact(name) {
			continue
		}
		is := now[name]
		whole := is == before[name] || is == after[name]
		if !whole && !(appendOnly(name) && partlyAppended(before[name], after[name], is)) {
			return name + " is neither as before nor as after: " + firstDifference(after[name], is)
		}
	}
	return ""
}

// appendOnly reports whether leslie appends to a file in a thread's folder. Its last line
// may be incomplete until the next write.
func appendOnly(name string) bool { return strings.HasSuffix(name, "/.meta/injections.jsonl") }

// partlyAppended reports whether a file holds all of its old content and a part of what
// was to be added.
func partlyAppended(before, after, is string) bool {
	if before == "" { // a new file; content starts with its mode
		before, _, _ = strings.Cut(after, "\n")
	}
	return strings.HasPrefix(is, before) && strings.HasPrefix(after, is)
}

func artifact(name string) bool { return strings.HasPrefix(name, lab.StoreDir+"/threads/") }

// filter returns the files of a tree that want selects.
func filter(files map[string]string, want func(string) bool) map[string]string {
	out := map[string]string{}
	for name, content := range files {
		if want(name) {
			out[name] = content
		}
	}
	return out
}

// missingBlob returns the first blob that one tree names and the other lacks, or "". A
// blob that nothing names may be missing: it keeps removed content for people.
func missingBlob(want, got map[string]string) string {
	for _, name := range lab.Sorted(want) {
		if strings.HasPrefix(name, blobsDir) && got[name] != want[name] && namesBlob(want, name) {
			return name
		}
	}
	return ""
}

const (
	blobsDir = lab.StoreDir + "/blobs/"
	keptDir  = blobsDir + "kept/"
)

// namesBlob reports whether any of the store's own files contains a blob's hash.
func namesBlob(files map[string]string, blob string) bool {
	sum := filepath.Base(filepath.Dir(blob)) + filepath.Base(blob)
	for name, content := range files {
		if strings.HasPrefix(name, keptDir) {
			continue // a list of removed content, for people
		}
		if (strings.HasPrefix(name, blobsDir) || filepath.Dir(name) == lab.StoreDir) && strings.Contains(content, sum) {
			return true
		}
	}
	return false
}

// copyTo copies the project with modes into another folder, owned by the user who will
// run leslie there.
func (p *project) copyTo(dir string, uid int) (*project, error) {
	err := filepath.WalkDir(p.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.Dir, name)
		return copyOne(name, filepath.Join(dir, rel), d, uid)
	})
	return p.rig.project(dir, uid), err
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
