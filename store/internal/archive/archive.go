// Package archive knows the archive: the records of archived threads, one sealed line
// each, so that the cost of a state depends only on live threads. It works on lines;
// the store reads and appends them.
//
// A record is appended durably before the state drops it. A crash in between leaves it
// in both, and then the state's record counts; the same is true for a thread whose
// archiving was undone. Of several lines for one record the last counts. References
// and grants count while their thread is archived, and only if they were archived with
// it the last time.
//
// A damaged or missing line is noticed: objectives count their archived threads, and a
// line says how many lines of its operation follow. The journal has the same records.
package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// Line is one line of the archive.
type Line struct {
	Record string          `json:"record"` // TABLE/ID
	Value  json.RawMessage `json:"value"`
	Seq    thread.Revision `json:"seq"` // of the operation that archived it
	// Left is the number of following lines of the same operation.
	Left int `json:"left,omitempty"`
}

// LinesOf returns the lines that an operation writes for the records that it archived.
func LinesOf(changes []thread.Change, seq thread.Revision) []Line {
	out := make([]Line, len(changes))
	for i, c := range changes {
		value := c.After
		if value == nil {
			value = c.Before
		}
		out[i] = Line{c.Record, value, seq, len(changes) - 1 - i}
	}
	return out
}

// Seal returns the lines as they are written. Errors: T901.
func Seal(lines []Line) ([][]byte, error) {
	sealed := make([][]byte, len(lines))
	for i, line := range lines {
		body, err := jsonl.Marshal(line)
		if err != nil {
			return nil, err
		}
		sealed[i] = jsonl.Seal(body)
	}
	return sealed, nil
}

// Read calls fn for the intact lines of an archive, oldest first, and returns the
// number of damaged ones.
func Read(data []byte, fn func(Line)) (bad int) {
	for text := range bytes.Lines(data) {
		text = bytes.TrimSuffix(text, []byte("\n"))
		var line Line
		switch {
		case len(text) == 0:
		case !jsonl.Intact(text) || json.Unmarshal(text, &line) != nil:
			bad++
		default:
			fn(line)
		}
	}
	return bad
}

// Records has an archive's records, and what they say about each other and about the
// records of the state.
type Records struct {
	live     thread.Records
	revision thread.Revision
	last     map[string]Line // by record
	lines    map[place]bool
	left     map[thread.Revision]map[int]bool // which of an operation's lines are there
}

// place is a line without its value.
type place struct {
	record string
	seq    thread.Revision
}

// New returns the records of an empty archive next to the state of a revision.
func New(live thread.Records, revision thread.Revision) *Records {
	return &Records{live, revision, map[string]Line{}, map[place]bool{}, map[thread.Revision]map[int]bool{}}
}

// Put adds the next line of the archive.
func (r *Records) Put(line Line) {
	if line.Seq >= r.last[line.Record].Seq {
		r.last[line.Record] = line
	}
	r.lines[place{line.Record, line.Seq}] = true
	if r.left[line.Seq] == nil {
		r.left[line.Seq] = map[int]bool{}
	}
	r.left[line.Seq][line.Left] = true
}

// Add adds the missing ones of an operation's lines; counts reports whether one of
// them counts.
func (r *Records) Add(lines []Line) (counts bool) {
	for _, line := range lines {
		if !r.lines[place{line.Record, line.Seq}] {
			r.Put(line)
			counts = counts || !r.alive(line.Record)
		}
	}
	return counts
}

// Has reports whether there is a line of a record, whether or not it counts.
func (r *Records) Has(table, id string) bool {
	_, there := r.last[table+"/"+id]
	return there
}

// alive reports whether the state has the record.
func (r *Records) alive(record string) bool {
	table, id, _ := strings.Cut(record, "/")
	_, there := thread.LineOf(r.live[table], id)
	return there
}

// Lack describes the missing records, "" if none is known to be missing.
func (r *Records) Lack() string {
	threads, parts := r.counted(), 0
	for record, line := range r.last {
		if r.alive(record) {
			continue
		}
		if strings.HasPrefix(record, thread.TableThreads+"/") {
			threads--
		}
		if line.Left > 0 && line.Seq <= r.revision && !r.left[line.Seq][line.Left-1] {
			parts++
		}
	}
	switch {
	case threads > 0:
		return fmt.Sprintf("%d archived threads are missing", threads)
	case parts > 0:
		return fmt.Sprintf("references of %d archived threads are missing", parts)
	}
	return ""
}

// counted is how many threads the objectives count as archived.
func (r *Records) counted() (n int) {
	for _, line := range r.live[thread.TableObjectives] {
		var o thread.Objective
		if json.Unmarshal(line.JSON, &o) == nil {
			n += o.Archived
		}
	}
	return n
}

// Lines returns the lines that count, ordered by their records.
func (r *Records) Lines() (out []Line) {
	for _, record := range slices.Sorted(maps.Keys(r.last)) {
		if line := r.last[record]; !r.alive(record) && r.wentWithItsThread(record, line) {
			out = append(out, line)
		}
	}
	return out
}

// Tables returns the records that count, ordered by id.
func (r *Records) Tables() map[string][]thread.Line {
	out := map[string][]thread.Line{}
	for _, line := range r.Lines() {
		table, id, _ := strings.Cut(line.Record, "/")
		out[table] = append(out[table], thread.Line{ID: id, JSON: line.Value})
	}
	return out
}

// wentWithItsThread reports whether a reference, a grant, a question or a comment was archived with its
// thread the last time: after an undo the thread may have come back, lost it, and been
// archived without it.
func (r *Records) wentWithItsThread(record string, line Line) bool {
	table, _, _ := strings.Cut(record, "/")
	var owner struct {
		From     string `json:"from"`     // of a reference
		ThreadID string `json:"threadId"` // of the others
	}
	if !slices.Contains([]string{thread.TableReferences, thread.TableApprovals, thread.TableQuestions, thread.TableComments}, table) || json.Unmarshal(line.Value, &owner) != nil {
		return true
	}
	own := thread.TableThreads + "/" + owner.From + owner.ThreadID
	last, known := r.last[own]
	return !r.alive(own) && (!known || line.Seq >= last.Seq)
}

// Comparison is what archive and journal have together, and what each lacks.
type Comparison struct {
	*Records
	Counting    []Line // the lines that count, in the order of their records
	Missing     []Line // what the journal has and the archive lacks, by operation
	Unjournaled []Line // what counts and the journal lacks
}

// Compare adds to the records what the journal has and they lack. journaled has the
// lines of each operation, oldest first.
func (r *Records) Compare(journaled [][]Line) Comparison {
	out := Comparison{Records: r}
	known := map[place]bool{}
	for _, lines := range journaled {
		for _, line := range lines {
			known[place{line.Record, line.Seq}] = true
		}
		out.Missing = append(out.Missing, r.restore(lines)...)
	}
	out.Counting = r.Lines()
	for _, line := range out.Counting {
		if !known[place{line.Record, line.Seq}] {
			out.Unjournaled = append(out.Unjournaled, line)
		}
	}
	return out
}

// restore adds the lines of an operation if one of them is missing, and returns them:
// all of them, because a line counts those that follow it.
func (r *Records) restore(lines []Line) (missing []Line) {
	lacking := map[thread.Revision]bool{}
	for _, line := range lines {
		if !r.lines[place{line.Record, line.Seq}] && !r.alive(line.Record) {
			lacking[line.Seq] = true
		}
	}
	for _, line := range lines {
		if lacking[line.Seq] {
			missing = append(missing, line)
			r.Put(line)
		}
	}
	return missing
}

// DamagedLines says how many lines of a file are damaged.
func DamagedLines(lines int) string {
	if lines == 1 {
		return "1 line is damaged"
	}
	return fmt.Sprintf("%d lines are damaged", lines)
}
