package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

const skippedFiles = warnings.SkippedFiles

// artifactData is one entry of a thread's folder; the last three are there for
// files only.
type artifactData struct {
	Path       string          `json:"path"`
	Type       store.EntryType `json:"type"`
	Size       *int64          `json:"size,omitempty"`
	SHA256     thread.BlobID   `json:"sha256,omitempty"`
	ModifiedAt *time.Time      `json:"modifiedAt,omitempty"`
}

func artifactsOf(entries []store.Entry) []artifactData {
	out := make([]artifactData, len(entries))
	for i, e := range entries {
		out[i] = artifactData{Path: strings.ToValidUTF8(e.Path, "\uFFFD"), Type: e.Type}
		if e.Type == store.TypeFile {
			modified := e.ModTime.UTC().Truncate(time.Millisecond)
			out[i].Size, out[i].SHA256, out[i].ModifiedAt = &e.Size, e.SHA256, &modified
		}
	}
	return out
}

func artifactsTable(p *page, list items[artifactData]) {
	var rows [][]string
	for _, a := range list.Items {
		row := []string{a.Path, string(a.Type), "", "", ""}
		if a.Size != nil {
			row[2] = strconv.FormatInt(*a.Size, 10)
			row[3] = cut(string(a.SHA256), 13)
			row[4] = a.ModifiedAt.Format(time.RFC3339)
		}
		rows = append(rows, row)
	}
	p.table("PATH TYPE SIZE SHA256 MODIFIED", rows)
	p.rest(len(list.Items), list.Total)
}

type artifactList struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Folder   string          `json:"folder"`
	items[artifactData]
}

func (d *artifactList) Text(p *page) {
	artifactsTable(p, d.items)
	if d.Total == 0 {
		p.line("no artifacts in %s", d.Folder)
	}
}

func artifactsCommand() *command {
	return &command{
		name: "artifacts", summary: "list the files in a thread's folder",
		teach:    lesson{sharing, "artifacts ID"},
		example:  "leslie artifacts thread-a1b2c3d4 --scope 'design/**'",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("scope", scopes("GLOB"), "only these: paths, folders, globs"),
			limitFlag(),
		},
		run: runArtifacts,
	}
}

func runArtifacts(c *call) (Data, error) {
	arg := c.subject()
	set := c.scope()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	var t thread.Thread
	_, err = c.view(func(s *thread.State) (err error) {
		t, err = s.Thread(arg)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.safeScope(t.ID); err != nil {
		return nil, err
	}
	var shown items[store.Entry]
	var hashed []store.Entry
	err = c.settled(st, func() error {
		entries, err := c.matched(st, t.ID, set)
		if err == nil {
			shown = firstItems(entries, c.count("limit", defaultLimit))
			hashed, err = st.Hash(c.ctx, t.ID, shown.Items)
		}
		return err
	}, t.ID)
	if err != nil {
		return nil, err
	}
	return &artifactList{ThreadID: t.ID, Folder: threadPath(t.ID),
		items: items[artifactData]{Items: artifactsOf(hashed), Total: shown.Total, Truncated: shown.Truncated}}, nil
}

// artifacts lists a thread's artifacts as no operation has them half done.
func (c *call) artifacts(st *store.Store, id thread.ThreadID) (entries []store.Entry, err error) {
	err = c.settled(st, func() error { entries, err = st.Artifacts(id); return err }, id)
	return entries, err
}

// matched lists a thread's artifacts in a scope. A pattern that matches nothing
// is T203, one that leads out through a link T507.
func (c *call) matched(st *store.Store, id thread.ThreadID, set scope.Set) ([]store.Entry, error) {
	for _, path := range set.Exact() {
		if err := st.CheckPath(id, path); err != nil {
			return nil, err
		}
	}
	entries, err := st.ArtifactsIn(id, set)
	if err != nil {
		return nil, err
	}
	if none := set.Unmatched(matchable(entries)); len(none) > 0 {
		return nil, codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", id), fact.Of("paths", none))
	}
	return entries, nil
}

// matchable are the paths of entries as a scope matches them.
func matchable(entries []store.Entry) []string {
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
		if e.Type == store.TypeFolder {
			paths[i] += "/"
		}
	}
	return paths
}

func countFiles(entries []store.Entry) int {
	n := 0
	for _, e := range entries {
		if e.Type == store.TypeFile {
			n++
		}
	}
	return n
}

// scope reads --scope; a pattern that leads out is safeScope's to refuse, since
// that is no fault of spelling.
func (c *call) scope() scope.Set {
	set, _ := scope.Parse(c.parts("scope"))
	return set
}

// safeScope is T507 for a pattern of --scope that leads out of the folder of a
// thread, "" for one that was not found.
func (c *call) safeScope(id thread.ThreadID) error {
	_, err := scope.Parse(c.parts("scope"))
	if e := codes.Of(err); e != nil && id != "" {
		return e.With(fact.Of("threadId", id))
	}
	return err
}
