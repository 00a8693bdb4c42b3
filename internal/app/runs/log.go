package runs

import (
	"context"
	"os"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/transcript"
	"leslie/store"
	"leslie/thread"
)

// LogResult has entries of a thread's transcript, the oldest first.
type LogResult struct {
	ThreadID thread.ThreadID `json:"threadId"`
	// Machine is the one on which the newest run is, or was, and has its entries, "" for this one.
	Machine string `json:"machine,omitempty"`
	// Damaged is how many lines of what was read could not be read.
	Damaged int `json:"damaged"`
	app.Items[TranscriptEntry]
}

// Log returns the entries of a thread's transcript. Errors: those of Transcript.
func Log(c *app.Call, in TranscriptRequest) (*LogResult, error) {
	d, err := Transcript(c, in)
	if err != nil {
		return nil, err
	}
	return &LogResult{ThreadID: d.ThreadID, Machine: d.Machine, Damaged: d.Damaged, Items: d.Items}, nil
}

// FollowTranscript calls emit with the entries that Transcript would return, and then
// with each new one, until the call's context ends. An error of emit ends it and is
// returned. Errors: those of Transcript, T904.
func FollowTranscript(c *app.Call, in TranscriptRequest, emit func(TranscriptEntry) error) error {
	c.CatchSignals()
	head, q, err := transcriptOf(c, in)
	if err != nil {
		return err
	}
	dir := Folder(c, head.ThreadID)
	var stopped error
	tell := func(e transcript.Entry) error {
		if q.Run == "" || e.Run == q.Run {
			stopped = emit(TranscriptEntry{e})
		}
		return stopped
	}
	since := q.Since
	if q.Limit > 0 {
		p, err := transcript.Newest(dir, q)
		if err != nil {
			return Unreadable(c, head.ThreadID, err)
		}
		for _, e := range p.Entries {
			since = e.N
			if err := emit(TranscriptEntry{e}); err != nil {
				return err
			}
		}
	}
	r := transcript.NewReader(dir, since)
	defer r.Close()
	watched := store.StateFile
	w := c.Store().Watch(watched) // before the look, so that no entry is missed
	defer func() { w.Close() }()
	for {
		// A run that begins makes the folder and writes the state. A watch of a folder that
		// is not there could only poll.
		if _, err := os.Stat(dir); err == nil && watched == store.StateFile {
			w.Close()
			watched = runPath(head.ThreadID) + "/" + transcript.Name
			w = c.Store().Watch(watched)
		}
		switch err := r.Each(tell); {
		case stopped != nil:
			return stopped
		case err != nil && c.Context().Err() == nil:
			return Unreadable(c, head.ThreadID, err)
		case c.Context().Err() != nil:
			return codes.Interrupted.Wrap(context.Cause(c.Context()))
		}
		if err := w.Next(c.Context(), 0); err != nil {
			return err
		}
	}
}
