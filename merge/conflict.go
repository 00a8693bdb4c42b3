package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// This file holds conflicts as data: what is shown, asked and answered.

// ConflictKind is the kind of a conflict.
type ConflictKind string

// The kinds.
const (
	Content      ConflictKind = "content"       // sides changed the same lines
	AddAdd       ConflictKind = "add/add"       // sides added the path, differently
	ModifyDelete ConflictKind = "modify/delete" // one changed what another deleted
	Mode         ConflictKind = "mode"          // alike but for the executable bit
	BinaryFile   ConflictKind = "binary"        // a NUL in the first 8,000 bytes, or not UTF-8
	TooLarge     ConflictKind = "too_large"     // over 8 MiB or 200,000 lines
	PathClash    ConflictKind = "path"          // file against folder, special files, names equal but for case
)

// Status is whether a conflict has its decision.
type Status string

// The statuses.
const (
	Unresolved Status = "unresolved"
	Resolved   Status = "resolved"
)

// Conflict is a conflict as data. Its hunk is a part of the file, with markers in
// a rendering; of any kind but content and add/add, and of those where sources
// with different bases meet, it is the whole file.
type Conflict struct {
	MergeID string `json:"mergeId,omitempty"`
	// ID is a hash of path, kind, base and sorted sides: the same when the merge
	// is planned again or its sources are named in another order.
	ID   string       `json:"conflictId"`
	Path string       `json:"path"`
	Kind ConflictKind `json:"kind"`
	// Hunk counts the conflicts of the path, decided ones too, from 1 up to Of.
	Hunk int `json:"hunk"`
	Of   int `json:"of"`
	// Sides are the target and the sources that take part, in the order of the
	// merge.
	Sides   []ConflictSide  `json:"sides"`
	Base    ConflictBase    `json:"base"`
	Context ConflictContext `json:"context"`
	Status  Status          `json:"status"`
	// How says who or what settled it: a decision's How, or a merger's name.
	How string `json:"how,omitempty"`
	// Detail says what a conflict of paths is about.
	Detail string `json:"detail,omitempty"`

	settled bool // by a merger
}

// ConflictSide is what one thread has there.
type ConflictSide struct {
	Role   string `json:"role"` // ours, theirs
	Thread string `json:"threadId"`
	Title  string `json:"title,omitempty"`
	// Lines and Text are the conflict's part of the file. In a conflict of the
	// whole file Text is its content, and Lines is the zero Range where that is
	// not shown as text.
	Lines Range  `json:"lines"`
	Text  string `json:"text"`
	// Absent, Hash and Executable belong to a conflict of the whole file: the
	// thread has no such file, or this one.
	Absent     bool   `json:"absent,omitempty"`
	Hash       string `json:"sha256,omitempty"`
	Executable bool   `json:"executable,omitempty"`
}

// ConflictBase is what they began from. Of a conflict of the whole file it is
// empty when they began from different contents.
type ConflictBase struct {
	From  string `json:"from"`
	Lines Range  `json:"lines"`
	Text  string `json:"text"`
	Hash  string `json:"sha256,omitempty"`

	among []string // the hashes, when they differ
}

// ConflictContext are the lines around a conflict.
type ConflictContext struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Whole reports whether the file is in conflict as a whole, without markers.
func (d Conflict) Whole() bool {
	return slices.ContainsFunc(d.Sides, func(s ConflictSide) bool { return s.Absent || s.Hash != "" })
}

// identities numbers conflicts that are alike in one plan, so that each has an
// id of its own.
type identities map[string]int

// of is a conflict's id.
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

// identity is what a side stands for: not who brought it.
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

// contextLines is how many lines around a conflict are shown.
const contextLines = 3

// conflictOf makes a conflict of a hunk of the merge of the target with sides.
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
			continue // a source that left these lines alone
		}
		s := f.party(i, sides)
		s.Lines, s.Text = lines, string(r.Side(hunk, i))
		d.Sides = append(d.Sides, s)
	}
	before, after := r.Context(hunk, contextLines)
	d.Context = ConflictContext{Before: string(before), After: string(after)}
	return d
}

// party names side i of a merge of the target (0) with sides.
func (f *filePlan) party(i int, sides []side) ConflictSide {
	if i == 0 {
		return ConflictSide{Role: TakeOurs, Thread: f.in.Target}
	}
	return ConflictSide{Role: TakeTheirs, Thread: sides[i-1].thread, Title: sides[i-1].title}
}

// contentKind is the kind of a conflict of texts.
func (f *filePlan) contentKind() ConflictKind {
	if f.onlyAdded() {
		return AddAdd
	}
	return Content
}

// wholeConflict makes a conflict of the whole file. Texts that were read are
// shown.
func (f *filePlan) wholeConflict(kind ConflictKind) Conflict {
	d := Conflict{Path: f.path, Kind: kind, Hunk: 1, Of: 1, Status: Unresolved, Base: f.sharedBase()}
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

// sharedBase is the base of all sides, if they have one.
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

// shown is a version as text, where the kind of the conflict is about text.
func (f *filePlan) shown(kind ConflictKind, hash string) (string, Range) {
	text, known := f.texts[hash]
	textual := kind == Content || kind == AddAdd || kind == ModifyDelete
	if !known || !textual || Binary(text) {
		return "", Range{}
	}
	return string(text), Range{1, countLines(text)}
}
