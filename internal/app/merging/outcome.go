package merging

import (
	"leslie/merge"
	"leslie/thread"
)

// Outcome is one file of the target as the merge would leave it.
type Outcome struct {
	Path string
	// After is the file; no file where the merge deletes it. With open conflicts it has
	// the conflicts between markers.
	After merge.File
	// Open is the number of conflicts that wait for a decision. Kept: one of them is
	// about the whole file, so that the target's file stays until then.
	Open    int
	Kept    bool
	content []byte
}

// Outcomes returns the paths that the merge changes or that wait for a decision, in
// order.
func (s *Session) Outcomes() []Outcome {
	var out []Outcome
	for _, f := range s.plan.Files {
		o := Outcome{Path: f.Path, After: f.After, Open: f.Open, content: f.Content}
		switch {
		case f.Open > 0 && f.Merge == nil:
			o.Kept = true
		case f.Open > 0:
			o.content = f.Marked(s.plan.Conflicts).Text
			o.After = merge.File{Hash: string(blobOf(o.content)), Size: int64(len(o.content)), Executable: f.Before.Executable}
		}
		out = append(out, o)
	}
	return out
}

// OutcomeContent returns the content of a file that the merge leaves. Errors: T507, T508, T509.
func (s *Session) OutcomeContent(o Outcome) ([]byte, error) {
	if o.content != nil {
		return o.content, nil
	}
	return s.inputs.reader.content(o.After.Hash)
}

// Hash is the content's hash.
func (o Outcome) Hash() thread.BlobID { return thread.BlobID(o.After.Hash) }
