package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// This file defines conflicts as data.

// ConflictKind is the kind of a conflict.
type ConflictKind string

// The kinds.
const (
	Content      ConflictKind = "content"       // sides changed the same lines
	AddAdd       ConflictKind = "add/add"       // sides added the path, differently
	ModifyDelete ConflictKind = "modify/delete" // one changed what another deleted
	Mode         ConflictKind = "mode"          // only the executable bit differs
	BinaryFile   ConflictKind = "binary"        // a NUL in the first 8,000 bytes, or not UTF-8
	TooLarge     ConflictKind = "too_large"     // over 8 MiB or 200,000 lines
	PathClash    ConflictKind = "path"          // file against folder, special files, names that differ only in case, contested paths
)

// Status says whether a conflict has a decision.
type Status string

// The statuses.
const (
	Unresolved Status = "unresolved"
	Resolved   Status = "resolved"
)

// Conflict is a conflict as data. A conflict of the kind content or add/add is a part
// of the file, with markers in a rendering. It is the whole file for any other kind,
// and if sources with different bases meet.
type Conflict struct {
	MergeID string `json:"mergeId,omitempty"`
	// ID is a hash of path, kind, base and sorted sides. It stays the same if the
	// merge is planned again or its sources are named in another order.
	ID   string       `json:"conflictId"`
	Path string       `json:"path"`
	Kind ConflictKind `json:"kind"`
	// Hunk numbers the conflicts of the path, including decided ones, from 1 to Of.
	Hunk int `json:"hunk"`
	Of   int `json:"of"`
	// Sides has the target and the sources that take part, in the order of the
	// merge.
	Sides   []ConflictSide  `json:"sides,omitzero"`
	Base    ConflictBase    `json:"base,omitzero"`
	Context ConflictContext `json:"context,omitzero"`
	Status  Status          `json:"status"`
	// How says who or what resolved it: a decision's How, or a merger's name.
	How string `json:"how,omitempty"`
	// Result is what a resolved conflict became.
	Result *ConflictResult `json:"result,omitempty"`
	// Detail explains a path conflict.
	Detail string `json:"detail,omitempty"`

	settled bool // by a merger
	// choice: every version of a path conflict can be written.
	choice bool
}

// ConflictSide is the version of one thread.
type ConflictSide struct {
	Role   string `json:"role"` // ours, theirs
	Thread string `json:"threadId"`
	Title  string `json:"title,omitempty"`
	// Lines and Text are the conflict's part of the file. In a conflict of the
	// whole file Text is its content, and Lines is the zero Range if the content is
	// not shown as text.
	Lines Range  `json:"lines"`
	Text  string `json:"text"`
	// Absent, Hash and Executable are set in a conflict of the whole file: the
	// thread has no such file, or has this one.
	Absent     bool   `json:"absent,omitempty"`
	Hash       string `json:"sha256,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// ConflictBase is the base of the sides. In a conflict of the whole file it is empty
// if the sides have different bases.
type ConflictBase struct {
	From  string `json:"from"`
	Lines Range  `json:"lines"`
	Text  string `json:"text"`
	Hash  string `json:"sha256,omitempty"`

	among []string // the hashes, if they differ
	brief bool     // left out of a Brief conflict
}

// IsZero reports whether JSON leaves the base out.
func (b ConflictBase) IsZero() bool { return b.brief }

// ConflictContext has the lines around a conflict.
type ConflictContext struct {
	Before string `json:"before"`
	After  string `json:"after"`

	brief bool // left out of a Brief conflict
}

// IsZero reports whether JSON leaves the context out.
func (c ConflictContext) IsZero() bool { return c.brief }

// ConflictResult is what a conflict became: the text that replaces it or, if a decision
// was about the whole file, the file.
type ConflictResult struct {
	Take string `json:"take,omitempty"` // the choice; "" if a merger resolved it
	// Text is a part of the file. For a whole file it is the given text only.
	Text string `json:"text"`
	// Absent: there is no such file. Hash is the file's content.
	Absent bool   `json:"absent,omitempty"`
	Hash   string `json:"sha256,omitempty"`
}

// resultOf is the result of a decision about a whole file.
func resultOf(d Decision, c Change) *ConflictResult {
	r := &ConflictResult{Take: d.Take, Absent: !c.After.There(), Hash: c.After.Hash}
	if d.Take == TakeText {
		r.Text = string(d.Text)
	}
	return r
}

// Brief returns the conflict without its sides, base and context.
func (d Conflict) Brief() Conflict {
	d.Sides, d.Base, d.Context = nil, ConflictBase{brief: true}, ConflictContext{brief: true}
	return d
}

// Additions reports whether all sides only added lines in the conflict, and both can
// answer it: it drops nothing.
func (d Conflict) Additions() bool { return d.Base.Lines.Len() == 0 && d.misfit(TakeBoth) == nil }

// Whole reports whether the file is in conflict as a whole, without markers.
func (d Conflict) Whole() bool {
	return slices.ContainsFunc(d.Sides, func(s ConflictSide) bool { return s.Absent || s.Hash != "" })
}

// identities numbers equal conflicts of one plan, so that each has its own id.
type identities map[string]int

// of returns a conflict's id.
func (ids identities) of(d Conflict) string {
	var sides []string
	for _, s := range d.Sides {
		sides = append(sides, s.identity())
	}
	slices.Sort(sides)
	parts := append([]string{d.Path, string(d.Kind), d.Base.Hash, d.Base.Text}, sides...)
	if d.Whole() {
		parts[3] = strings.Join(d.Base.among, " ")
	}
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	id := hex.EncodeToString(h.Sum(nil)[:6])
	ids[id]++
	if n := ids[id]; n > 1 {
		id += "-" + strconv.Itoa(n)
	}
	return id
}

// identity identifies a side's content, whichever thread it belongs to.
func (s ConflictSide) identity() string {
	switch {
	case s.Absent:
		return "absent"
	case s.Hash != "":
		return "file " + s.Hash + " " + strconv.FormatBool(s.Executable)
	default:
		return "text " + s.Text
	}
}

// contextLines is how many lines before and after a conflict are shown.
const contextLines = 3

// conflictOf returns the conflict for a hunk of the merge of the target with sides.
func (f *filePlan) conflictOf(r *Result, hunk int, sides []side) Conflict {
	h := r.Hunks[hunk]
	d := Conflict{
		Path: f.path, Kind: f.contentKind(), Status: Unresolved,
		Base: ConflictBase{From: sides[0].base.From, Lines: h.Base, Text: string(r.Base(hunk))},
	}
	if h.Kind == Settled {
		d.Status, d.How, d.settled = Resolved, h.How, true
	}
	for i, lines := range h.Sides {
		if i > 0 && !slices.Contains(h.By, i) {
			continue // a source that did not change these lines
		}
		s := f.party(i, sides)
		s.Lines, s.Text = lines, string(r.Side(hunk, i))
		d.Sides = append(d.Sides, s)
	}
	before, after := r.Context(hunk, contextLines)
	d.Context = ConflictContext{Before: string(before), After: string(after)}
	return d
}

// party describes side i of a merge of the target (0) with sides.
func (f *filePlan) party(i int, sides []side) ConflictSide {
	if i == 0 {
		return ConflictSide{Role: TakeOurs, Thread: f.in.Target}
	}
	return ConflictSide{Role: TakeTheirs, Thread: sides[i-1].thread, Title: sides[i-1].title}
}

// contentKind returns the kind of a conflict between texts.
func (f *filePlan) contentKind() ConflictKind {
	if f.onlyAdded() {
		return AddAdd
	}
	return Content
}

// wholeConflict returns a conflict of the whole file. It includes the texts that were
// read.
func (f *filePlan) wholeConflict(kind ConflictKind) Conflict {
	d := Conflict{Path: f.path, Kind: kind, Hunk: 1, Of: 1, Status: Unresolved, Base: f.sharedBase()}
	d.Detail, d.choice = f.in.Contested[f.path], kind == PathClash
	d.Base.Text, d.Base.Lines = f.shown(kind, d.Base.Hash)
	for i := range len(f.sides) + 1 {
		s, file := f.party(i, f.sides), f.ours
		if i > 0 {
			file = f.sides[i-1].file
		}
		s.Absent, s.Hash, s.Executable = !file.There(), file.Hash, file.Executable
		s.Text, s.Lines = f.shown(kind, file.Hash)
		d.Sides = append(d.Sides, s)
	}
	return d
}

// sharedBase returns the common base of all sides, if they have one.
func (f *filePlan) sharedBase() ConflictBase {
	if f.oneBase() {
		return ConflictBase{From: f.sides[0].base.From, Hash: f.sides[0].base.Hash}
	}
	var among []string
	for _, s := range f.sides {
		among = append(among, s.base.Hash)
	}
	slices.Sort(among)
	return ConflictBase{among: slices.Compact(among)}
}

// shown returns a version as text if the conflict is of a kind between texts.
func (f *filePlan) shown(kind ConflictKind, hash string) (string, Range) {
	text, known := f.texts[hash]
	textual := kind == Content || kind == AddAdd || kind == ModifyDelete
	if !known || !textual || Binary(text) {
		return "", Range{}
	}
	return string(text), Range{1, countLines(text)}
}
