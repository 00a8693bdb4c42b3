package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file finds the programs that a repository's own configuration names, and leaves
// them out. git-lfs is known: its filters are the user's own program, which however runs
// what further keys name. In a .lfsconfig, which comes with every clone, git-lfs itself
// obeys no key that names a program.

// Program is a setting of a repository's own configuration that names a program.
type Program struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	File  string `json:"file"` // where it stands
}

// Fingerprint tells one list of programs from another: what they are and in which order,
// not where they stand. It is "" for none.
func Fingerprint(all []Program) string {
	if len(all) == 0 {
		return ""
	}
	lines := make([][2]string, len(all))
	for i, p := range all {
		lines[i] = [2]string{p.Key, p.Value}
	}
	data, err := json.Marshal(lines)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// programKind says who would run what a key names.
type programKind int

const (
	noProgram  programKind = iota
	filter                 // of content: clean, smudge, process
	driver                 // of merges
	extension              // git-lfs, with each of its filters
	downloader             // git-lfs, when it downloads
)

// kindOf returns the kind of a key as git writes it: section and last part in lower case.
func kindOf(key string) programKind {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	if first < 0 {
		return noProgram
	}
	section, name, middle := key[:first], key[last+1:], ""
	if first < last {
		middle = key[first+1 : last]
	}
	switch section {
	case "filter":
		if name == "clean" || name == "smudge" || name == "process" {
			return filter
		}
	case "merge":
		if name == "driver" {
			return driver
		}
	case "lfs":
		if strings.HasPrefix(middle, "extension.") || strings.HasPrefix(middle, "customtransfer.") || name == "standalonetransferagent" {
			return extension
		}
	case "core":
		if key == "core.sshcommand" || key == "core.askpass" {
			return downloader
		}
	case "credential":
		if name == "helper" {
			return downloader
		}
	}
	return noProgram
}

// ofLFS reports whether a value is one that git lfs install writes, with --skip-smudge or
// without: a program that the user installed, and no other.
func ofLFS(key, value string) bool {
	switch key {
	case "filter.lfs.clean":
		return value == "git-lfs clean -- %f"
	case "filter.lfs.smudge":
		return value == "git-lfs smudge -- %f" || value == "git-lfs smudge --skip -- %f"
	case "filter.lfs.process":
		return value == "git-lfs filter-process" || value == "git-lfs filter-process --skip"
	}
	return false
}

// asLFSReads returns the keys that git-lfs finds in a setting, which it reads from a list
// of lines KEY=VALUE: what a name or a value with '=' or line breaks makes of that.
func asLFSReads(p Program) (keys []string) {
	for line := range strings.Lines(p.Key + "=" + p.Value) {
		key, _, _ := strings.Cut(line, "=")
		keys = append(keys, key)
	}
	return keys
}

// localPrograms are the programs that the repository's own configuration names.
type localPrograms struct {
	all     []Program
	refused string    // the first key for which git would run something; "" for none
	file    string    // where that stands
	filters []string  // the names of the filters that a command which only reads leaves out
	without []setting // see System
}

// programs reads the repository's own configuration, once. Every later run leaves out what
// git-lfs would run to download.
func (r *Repo) programs(ctx context.Context) (*localPrograms, error) {
	if r.local != nil {
		return r.local, nil
	}
	own, users, err := r.settings(ctx)
	if err != nil {
		return nil, err
	}
	lfs := slices.ContainsFunc(slices.Concat(own, users), func(p Program) bool { return ofLFS(p.Key, p.Value) })
	found := &localPrograms{}
	for _, p := range own {
		if !ofLFS(p.Key, p.Value) && (p.Key != "merge.leslie.driver" || p.Value != r.Driver) {
			found.add(p, lfs)
		}
	}
	seen := Fingerprint(found.all)
	if r.Trust || seen != "" && seen == r.Seen {
		found = &localPrograms{all: found.all}
	}
	if len(found.without) > 0 {
		for _, p := range users { // what is left out empties a list that these are in, too
			if kindOf(p.Key) == downloader {
				found.without = append(found.without, setting{p.Key, p.Value})
			}
		}
	}
	r.local, r.system.without = found, found.without
	return found, nil
}

// add adds a setting if it names a program. What only git-lfs runs counts if it is in use.
func (l *localPrograms) add(p Program, lfs bool) {
	keys := []string{p.Key}
	if lfs {
		keys = append(keys, asLFSReads(p)...)
	}
	for i, key := range keys {
		kind, refused := kindOf(key), key
		switch {
		case i > 0 && kind < extension: // git itself does not read it so
			continue
		case kind == noProgram, kind == extension && !lfs, kind == downloader && !lfs:
			continue
		case kind == filter, kind == driver:
			refused = key[:strings.LastIndex(key, ".")]
		}
		switch kind {
		case filter:
			l.filters = append(l.filters, strings.TrimPrefix(refused, "filter."))
		case extension:
			l.filters = append(l.filters, "lfs")
		}
		if kind == downloader {
			l.without = append(l.without, setting{key: key})
		} else if l.refused == "" {
			l.refused, l.file = refused, p.File
		}
		l.all = append(l.all, p)
		return
	}
}

// settings returns the settings of the repository's own configuration, sorted and each
// once, and all others. What holds only on some branch or in some worktree counts.
func (r *Repo) settings(ctx context.Context) (own, users []Program, err error) {
	out, err := r.at(ctx, command{args: []string{"config", "--null", "--show-scope", "--show-origin", "--list"}})
	if err != nil {
		return nil, nil, broken(err)
	}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		p := r.program(fields[i+1], fields[i+2])
		if scope := fields[i]; scope == "local" || scope == "worktree" {
			own = append(own, p)
		} else if scope != "command" {
			users = append(users, p)
		}
	}
	var files []string
	worktrees, _ := os.ReadDir(filepath.Join(r.Admin, "worktrees")) // none
	for _, w := range worktrees {
		files = append(files, filepath.Join(r.Admin, "worktrees", w.Name(), "config.worktree"))
	}
	for looked, read := 0, 0; looked < len(own) || read < len(files); {
		if looked < len(own) {
			file, err := r.included(own[looked])
			if err != nil {
				return nil, nil, err
			}
			if looked++; file != "" && !slices.Contains(files, file) {
				files = append(files, file)
			}
			continue
		}
		more, err := r.settingsIn(ctx, files[read])
		if err != nil {
			return nil, nil, err
		}
		own, read = append(own, more...), read+1
	}
	slices.SortFunc(own, func(a, b Program) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value), strings.Compare(a.File, b.File))
	})
	return slices.Compact(own), users, nil
}

// settingsIn returns the settings of a file, nil if it is not there.
func (r *Repo) settingsIn(ctx context.Context, file string) (found []Program, err error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	out, err := r.at(ctx, command{args: []string{"config", "--null", "--show-origin", "--includes", "--list", "--file", file}})
	if err != nil {
		return nil, broken(err)
	}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		found = append(found, r.program(fields[i], fields[i+1]))
	}
	return found, nil
}

// program reads a setting from git's answer.
func (r *Repo) program(origin, text string) Program {
	key, value, _ := strings.Cut(text, "\n")
	file := strings.TrimPrefix(origin, "file:")
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.Admin, file)
	}
	return Program{Key: key, Value: value, File: file}
}

// included returns the file that a setting includes on a condition, "" if it does not.
// Errors: T808 for one that only git can find.
func (r *Repo) included(p Program) (string, error) {
	if !strings.HasPrefix(p.Key, "includeif.") || !strings.HasSuffix(p.Key, ".path") {
		return "", nil
	}
	below, ofHome := strings.CutPrefix(p.Value, "~/")
	switch {
	case ofHome:
		return filepath.Join(r.system.value("HOME"), below), nil
	case strings.HasPrefix(p.Value, "~"), strings.HasPrefix(p.Value, "%("):
		return "", untrusted(p.Key, p.File)
	case filepath.IsAbs(p.Value):
		return filepath.Clean(p.Value), nil
	}
	return filepath.Join(filepath.Dir(p.File), p.Value), nil
}

// untrusted is T808.
func untrusted(key, file string) *codes.Error {
	return codes.UntrustedGitConfig.New(fact.Of("key", key), fact.Of("path", file))
}

// Programs returns the settings of the repository's own configuration for which a program
// would run if the repository is trusted, and does not otherwise. Hooks, file system
// monitors, editors, pagers and programs for signatures never run.
func (r *Repo) Programs(ctx context.Context) ([]Program, error) {
	local, err := r.programs(ctx)
	if err != nil {
		return nil, err
	}
	return local.all, nil
}

// withoutFilters returns the settings that leave the repository's own filters out, for
// a command that only reads; none if the repository is trusted.
func (r *Repo) withoutFilters(ctx context.Context) ([]setting, error) {
	if r.Trust {
		return nil, nil
	}
	local, err := r.programs(ctx)
	if err != nil {
		return nil, err
	}
	var with []setting
	for _, name := range local.filters {
		for _, key := range []string{"clean", "smudge", "process"} {
			with = append(with, setting{key: "filter." + name + "." + key})
		}
		with = append(with, setting{"filter." + name + ".required", "false"})
	}
	return with, nil
}

// CheckPrograms returns T808 if checking out or merging would run a program that the
// repository's own configuration names, unless the repository is trusted.
func (r *Repo) CheckPrograms(ctx context.Context) error {
	if r.Trust {
		return nil
	}
	local, err := r.programs(ctx)
	if err != nil || local.refused == "" {
		return err
	}
	return untrusted(local.refused, local.file)
}
