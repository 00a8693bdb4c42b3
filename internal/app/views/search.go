package views

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/runs"
	"leslie/internal/search"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file searches threads for words: what they say of themselves, and what belongs to
// them. There is no index. Records and operations are decoded only if their bytes may have
// the words; files are read once, a few at a time, and only up to the line that has all.

// SearchPlace says where to search.
type SearchPlace string

// The places, in the order in which what is found there is shown.
const (
	InTitles      SearchPlace = "titles"
	InIntents     SearchPlace = "intents"     // with the title as their first line
	InArtifacts   SearchPlace = "artifacts"   // their paths and lines; binary files are left out
	InHistory     SearchPlace = "history"     // commands, actors and parameters of operations
	InTranscripts SearchPlace = "transcripts" // what agents were told, said and did
)

// SearchPlaces are all places.
func SearchPlaces() []SearchPlace {
	return []SearchPlace{InTitles, InIntents, InArtifacts, InHistory, InTranscripts}
}

// SearchRequest searches threads. All words have to be in one place: a title, an intent, a
// file, an operation, something that an agent said or did.
type SearchRequest struct {
	Words           []string
	In              []SearchPlace   // nil: everywhere
	All             bool            // archived threads too
	app.ActorFilter                 // who has claimed the thread
	Since           thread.Revision // only threads that changed after this revision
	From            time.Time       // only threads that changed at this time or later
	Limit           int             // 0: all
}

// Faults returns what is wrong with the request.
func (in SearchRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if _, ok := search.Parse(in.Words); !ok {
		k.Add("Words", strings.Join(in.Words, " "), "must be 1 to %d", search.MostWords)
	}
	for _, place := range in.In {
		app.OneOf(k, "In", place, SearchPlaces()...)
	}
	in.Check(k)
	return k.Faults
}

// SearchResult has the threads in which the words were found: those with the better places
// first, and among these the latest change first.
type SearchResult struct {
	app.Items[SearchItem]
	// Unread has files and transcripts that could not be read.
	Unread app.Items[SearchUnread] `json:"unread"`
	// Archived is how many archived threads were not searched.
	Archived int `json:"archived,omitempty"`
}

// SearchItem is a thread in which the words were found.
type SearchItem struct {
	ThreadID    thread.ThreadID      `json:"threadId"`
	Title       string               `json:"title"`
	Status      thread.Status        `json:"status"`
	ObjectiveID thread.ObjectiveID   `json:"objectiveId"`
	UpdatedAt   time.Time            `json:"updatedAt"`
	Hits        app.Items[SearchHit] `json:"hits"` // the best, the first three
}

// SearchHit is a place that has all words, with the line that has most of them.
type SearchHit struct {
	In   SearchPlace `json:"in"`
	Path string      `json:"path,omitempty"` // of an artifact
	// Line is the number of the line in an intent or an artifact, from 1; 0: its path, or
	// of an intent its title, has all words or most of them.
	Line int    `json:"line,omitempty"`
	Text string `json:"text"` // the line, around the first word if it is long
	// Of an operation.
	Seq         thread.Revision    `json:"seq,omitempty"`
	OperationID thread.OperationID `json:"operationId,omitempty"`
	Command     string             `json:"command,omitempty"`
	// Of a transcript.
	RunID thread.RunID `json:"runId,omitempty"`
	Turn  int          `json:"turn,omitempty"`
	Kind  string       `json:"kind,omitempty"`

	closeness search.Closeness
}

// SearchUnread is something that could not be read.
type SearchUnread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Path     string          `json:"path,omitempty"` // "" for the thread's folder or transcript
	Code     codes.Code      `json:"code"`
	Reason   string          `json:"reason"`
}

const (
	// mostHits is how many hits of a thread a result has.
	mostHits = 3
	// mostUnread is how many unreadable places a result names.
	mostUnread = 10
)

// Search searches threads for words, whatever their case. What cannot be read is left out
// and named. Errors: T903, those of reading.
func Search(c *app.Call, in SearchRequest) (*SearchResult, error) {
	c.ReadOnly()
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	words, _ := search.Parse(in.Words)
	s := &searching{c: c, words: words, hits: map[thread.ThreadID]*app.Items[SearchHit]{}}
	_, err := c.View(func(state *thread.State) (err error) {
		f := thread.Filter{All: in.All, Holder: in.Actor(c), Now: c.Now(), Since: in.Since, From: in.From}
		if s.lines, err = state.ThreadLines(f); err != nil || in.All {
			return err
		}
		f.Status = thread.Archived
		left, err := state.ThreadLines(f)
		s.archived = len(left)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		place SearchPlace
		do    func() error
	}{{InTitles, s.titles}, {InIntents, s.intents}, {InArtifacts, s.artifacts}, {InHistory, s.history}, {InTranscripts, s.transcripts}} {
		if len(in.In) > 0 && !slices.Contains(in.In, step.place) {
			continue
		}
		if err := step.do(); err != nil {
			return nil, err
		}
	}
	return s.result(in.Limit)
}

// searching is one search.
type searching struct {
	c     *app.Call
	words search.Words
	lines []thread.Line
	// archived is how many archived threads are not among lines.
	archived int

	mu     sync.Mutex // of what follows
	hits   map[thread.ThreadID]*app.Items[SearchHit]
	unread []SearchUnread
	waits  warnings.List
}

// found adds hits of a thread.
func (s *searching) found(id thread.ThreadID, hits ...SearchHit) {
	if len(hits) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.hits[id]
	if own == nil {
		own = &app.Items[SearchHit]{}
		s.hits[id] = own
	}
	own.Total += len(hits)
	own.Items = append(own.Items, hits...)
	slices.SortStableFunc(own.Items, SearchHit.compare)
	own.Items = own.Items[:min(len(own.Items), mostHits)]
	own.Truncated = len(own.Items) < own.Total
}

// notRead says why something of a thread was not searched.
func notRead(c *app.Call, id thread.ThreadID, path string, err error) SearchUnread {
	e := codes.Of(runs.Unreadable(c, id, err))
	return SearchUnread{ThreadID: id, Path: strings.ToValidUTF8(path, "\uFFFD"), Code: e.Code(), Reason: codes.Reason(e)}
}

// compare orders hits: by place, then by closeness.
func (h SearchHit) compare(o SearchHit) int {
	at := func(h SearchHit) int { return slices.Index(SearchPlaces(), h.In) }
	return cmp.Or(cmp.Compare(at(h), at(o)), cmp.Compare(o.closeness, h.closeness))
}

// records calls fn with each thread whose record may have the words.
func (s *searching) records(fn func(*search.Searcher, thread.Thread)) error {
	searcher := s.words.Searcher()
	for _, line := range s.lines {
		if !searcher.JSON(line.JSON) {
			continue
		}
		var t thread.Thread
		if err := thread.Decode(line.JSON, &t); err != nil {
			return codes.Internal.Wrap(err)
		}
		fn(searcher, t)
	}
	return nil
}

func (s *searching) titles() error {
	return s.records(func(searcher *search.Searcher, t thread.Thread) {
		if f, ok := searcher.Text("", t.Title); ok {
			s.found(t.ID, SearchHit{In: InTitles, Text: f.Text, closeness: f.Closeness})
		}
	})
}

func (s *searching) intents() error {
	return s.records(func(searcher *search.Searcher, t thread.Thread) {
		if f, ok := searcher.Text(t.Title, t.Intent); ok && f.Line > 0 {
			s.found(t.ID, SearchHit{In: InIntents, Line: f.Line, Text: f.Text, closeness: f.Closeness})
		}
	})
}

// bring brings the files here that other machines have published; threads whose files cannot
// be had whole are named. Errors: T402, T512, T904.
func (s *searching) bring() error {
	ids := make([]thread.ThreadID, len(s.lines))
	for i, line := range s.lines {
		ids[i] = thread.ThreadID(line.ID)
	}
	err := s.c.Fetch(ids...)
	if !codes.Has(err, codes.RemoteDamaged) {
		return err
	}
	for _, id := range ids {
		err := s.c.Fetch(id)
		if err != nil && !codes.Has(err, codes.RemoteDamaged) {
			return err
		}
		if err != nil {
			s.unread = append(s.unread, notRead(s.c, id, "", err))
		}
	}
	return nil
}

// artifacts searches the files of all threads, several threads at once.
func (s *searching) artifacts() error {
	if err := s.bring(); err != nil {
		return err
	}
	return s.severalAtOnce("searching artifacts", s.lines, func(searcher *search.Searcher, id thread.ThreadID) error {
		var hits []SearchHit
		var unread []SearchUnread
		lacking, err := s.c.Store().ReadConsistent(s.c.Context(), []thread.ThreadID{id}, func() error {
			hits, unread = nil, nil
			err := s.c.Store().EachFile(id, func(rel string, content io.Reader, err error) error {
				if err == nil {
					var hit *SearchHit
					if hit, err = inFile(searcher, rel, content); hit != nil {
						hits = append(hits, *hit)
					}
				}
				if err != nil {
					unread = append(unread, notRead(s.c, id, rel, err))
				}
				return s.c.Context().Err()
			})
			if codes.Has(err, codes.TargetCorrupted) {
				unread, err = append(unread, notRead(s.c, id, "", err)), nil
			}
			return err
		})
		s.found(id, hits...)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unread = append(s.unread, unread...)
		s.waits.Add(lacking...)
		return err
	})
}

// inFile searches a file; it returns nil for one that has not all words, or is not text.
func inFile(searcher *search.Searcher, rel string, content io.Reader) (*SearchHit, error) {
	f, ok, err := searcher.Read(rel, content)
	if errors.Is(err, search.ErrBinary) {
		f, ok = searcher.Text(rel, "") // its name is text
		err = nil
	}
	if !ok || err != nil {
		return nil, err
	}
	return &SearchHit{In: InArtifacts, Path: strings.ToValidUTF8(rel, "\uFFFD"), Line: f.Line, Text: f.Text, closeness: f.Closeness}, nil
}

// severalAtOnce calls do for each thread, for several at a time. What one of them cannot
// read is no error. Errors: T904.
func (s *searching) severalAtOnce(what string, lines []thread.Line, do func(*search.Searcher, thread.ThreadID) error) error {
	searchers := sync.Pool{New: func() any { return s.words.Searcher() }}
	var counting sync.Mutex // what is told only grows
	begun := int64(0)
	begin := func() {
		counting.Lock()
		defer counting.Unlock()
		s.c.Report(app.Progress{What: what, Done: begun, Total: int64(len(lines))})
		begun++
	}
	code.SeveralAtOnce(len(lines), func(i int) {
		begin()
		if s.c.Context().Err() != nil {
			return
		}
		searcher := searchers.Get().(*search.Searcher)
		defer searchers.Put(searcher)
		id := thread.ThreadID(lines[i].ID)
		if err := do(searcher, id); err != nil && s.c.Context().Err() == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.unread = append(s.unread, notRead(s.c, id, "", err))
		}
	})
	if s.c.Context().Err() != nil {
		return codes.Interrupted.Wrap(context.Cause(s.c.Context()))
	}
	return nil
}

// history searches the operations; each belongs to the thread that it is about.
func (s *searching) history() error {
	s.c.Report(app.Progress{What: "searching the history"})
	searcher := s.words.Searcher()
	cursor := s.c.Store().Cursor(store.CursorQuery{Want: searcher.JSON})
	found, err := cursor.Read(s.c.Context(), 0, func(op thread.Operation) error {
		if op.ThreadID == "" {
			return nil
		}
		var params any
		_ = json.Unmarshal(op.Params, &params) // there may be none
		var body strings.Builder
		writeTexts(&body, params)
		if f, ok := searcher.Text(op.Command+" "+op.Actor, body.String()); ok {
			s.found(op.ThreadID, SearchHit{In: InHistory, Text: f.Text, Seq: op.Seq, OperationID: op.ID, Command: op.Command, closeness: f.Closeness})
		}
		return nil
	})
	s.c.Warn(found...)
	return err
}

// writeTexts writes the texts in a JSON value, each on lines of its own.
func writeTexts(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, part := range v {
			writeTexts(b, part)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeTexts(b, v[name])
		}
	}
}

// transcripts searches the transcripts of threads that have one.
func (s *searching) transcripts() error {
	folders, err := os.ReadDir(s.c.Store().Path(store.RunsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return codes.ReadFailed.OfPath(s.c.Store().Path(store.RunsDir), err)
	}
	var with []thread.Line
	for _, line := range s.lines {
		if _, has := slices.BinarySearchFunc(folders, line.ID, func(e os.DirEntry, id string) int { return cmp.Compare(e.Name(), id) }); has {
			with = append(with, line)
		}
	}
	return s.severalAtOnce("searching transcripts", with, func(searcher *search.Searcher, id thread.ThreadID) error {
		return runs.EachPart(s.c, id, func(part *runs.ConversationPart) {
			f, ok := searcher.Text("", runs.JoinTexts("\n", part.Text, part.Outcome))
			if ok {
				s.found(id, SearchHit{In: InTranscripts, Text: f.Text, RunID: thread.RunID(part.Run), Turn: part.Turn, Kind: part.Kind, closeness: f.Closeness})
			}
		})
	})
}

// result arranges what was found.
func (s *searching) result(limit int) (*SearchResult, error) {
	s.c.Warn(s.waits...)
	var items []SearchItem
	for _, line := range s.lines {
		hits := s.hits[thread.ThreadID(line.ID)]
		if hits == nil {
			continue
		}
		var t thread.Thread
		if err := thread.Decode(line.JSON, &t); err != nil {
			return nil, codes.Internal.Wrap(err)
		}
		items = append(items, SearchItem{ThreadID: t.ID, Title: t.Title, Status: t.Status, ObjectiveID: t.ObjectiveID, UpdatedAt: t.Updated, Hits: *hits})
	}
	slices.SortFunc(items, func(a, b SearchItem) int {
		return cmp.Or(a.Hits.Items[0].compare(b.Hits.Items[0]), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ThreadID, b.ThreadID))
	})
	slices.SortFunc(s.unread, func(a, b SearchUnread) int {
		return cmp.Or(cmp.Compare(a.ThreadID, b.ThreadID), cmp.Compare(a.Path, b.Path))
	})
	return &SearchResult{Items: app.First(items, limit), Unread: app.First(s.unread, mostUnread), Archived: s.archived}, nil
}
