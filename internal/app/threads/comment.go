package threads

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/thread"
)

// This file handles comments: remarks on lines of a thread's artifacts or code. A comment
// keeps the file as it was; where its lines are by now is compared whenever it is shown.

// CommentRequest comments on lines of a file.
type CommentRequest struct {
	Thread string
	// Place is PATH, PATH:LINE or PATH:FIRST-LAST. A path of the thread's code begins with
	// "code:".
	Place string
	Text  string
}

// Faults returns what is wrong with the request.
func (in CommentRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Place", in.Place)
	if in.Place != "" {
		if _, _, problem := placeIn(in.Place); problem != "" {
			k.Add("Place", in.Place, "%s", problem)
		}
	}
	k.Content("Text", in.Text)
	return k.Faults
}

// placeIn splits a place into its path and its lines; no lines means all of them. problem
// says what is wrong with it.
func placeIn(place string) (name string, lines merge.Range, problem string) {
	name = place
	if at := strings.LastIndexByte(place, ':'); at > 0 && isLines(place[at+1:]) {
		first, last, several := strings.Cut(place[at+1:], "-")
		name, lines.First = place[:at], atLeast(first)
		if lines.Last = lines.First; several {
			lines.Last = atLeast(last)
		}
		if lines.First < 1 || lines.Last < lines.First {
			return "", lines, "has lines that are none: count from 1, FIRST-LAST, not " + app.Quoted(place[at+1:])
		}
	}
	if file := strings.TrimPrefix(name, thread.CodePrefix); path.Clean(file) != file || !fs.ValidPath(file) || file == "." {
		return "", lines, "must be PATH, PATH:LINE or PATH:FIRST-LAST, the path relative and without '..', not " + app.Quoted(place)
	}
	return name, lines, ""
}

// isLines reports whether what follows the last colon of a place is meant as lines.
func isLines(text string) bool {
	first, last, several := strings.Cut(text, "-")
	return isDigits(first) && (!several || isDigits(last))
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// atLeast reads a number; one beyond int is as large as can be.
func atLeast(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return int(^uint(0) >> 1)
	}
	return n
}

// CommentRecord is a comment, with its lines where they are now.
type CommentRecord struct {
	CommentID thread.CommentID `json:"commentId"`
	ThreadID  thread.ThreadID  `json:"threadId"`
	Path      string           `json:"path"`
	// Lines are where they are now, or where they were if the comment is outdated or
	// resolved. Blob is the file as it was when it was commented, and Was the lines in it.
	Lines   merge.Range         `json:"lines"`
	Was     merge.Range         `json:"was"`
	Blob    thread.BlobID       `json:"blob"`
	Quote   string              `json:"quote"`
	Comment string              `json:"comment"`
	State   thread.CommentState `json:"state"`
	// Outdated: none of the lines is in the file any more; Why says so.
	Outdated   bool            `json:"outdated"`
	Why        string          `json:"why,omitempty"`
	Sent       bool            `json:"sent"` // to the thread's agent, with review --send
	CreatedAt  time.Time       `json:"createdAt"`
	CreatedBy  app.Actor       `json:"createdBy"`
	ResolvedAt *time.Time      `json:"resolvedAt"`
	ResolvedBy *app.Actor      `json:"resolvedBy"`
	Revision   thread.Revision `json:"revision"`
}

func commentOf(c thread.Comment) CommentRecord {
	lines := merge.Range{First: c.Lines[0], Last: c.Lines[1]}
	d := CommentRecord{
		CommentID: c.ID, ThreadID: c.ThreadID, Path: c.Path, Lines: lines, Was: lines, Blob: c.Blob, Quote: c.Quote, Comment: c.Text,
		State: c.State, Sent: c.Message != "", CreatedAt: c.Created.At, CreatedBy: app.ActorOf(c.Created), Revision: c.Revision,
	}
	if c.Resolved != nil {
		by := app.ActorOf(*c.Resolved)
		d.ResolvedAt, d.ResolvedBy = &c.Resolved.At, &by
	}
	return d
}

// CommentResult is a comment after a change.
type CommentResult struct {
	CommentRecord
	app.Change
}

// Comment adds a comment on lines of a thread's artifact or code; the same open comment
// again is the one that there is. Errors: T903 (also for lines that the file does not have,
// and for a file that is not text), T101, T105, T107, T203 if there is no such file, T508,
// T802 if the thread has no code, those of reading and of a write.
func Comment(c *app.Call, in CommentRequest) (*CommentResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[CommentResult](c); ok || err != nil {
		return first, err
	}
	name, lines, _ := placeIn(in.Place)
	id := c.ThreadOr(in.Thread)
	var t thread.Thread
	if _, err := c.View(func(s *thread.State) (err error) { t, err = s.LiveThread(id); return err }); err != nil {
		return nil, err
	}
	content, err := commentable(c, t, name)
	if codes.Has(err, codes.ScopeNotFound) && t.OwnedCode() != nil { // a path of code needs no "code:"
		if ofCode, codeErr := commentable(c, t, thread.CodePrefix+name); codeErr == nil {
			name, content, err = thread.CodePrefix+name, ofCode, nil
		}
	}
	if err != nil {
		return nil, err
	}
	quote, count := merge.LinesOf(content, lines)
	if lines == (merge.Range{}) {
		lines = merge.Range{First: 1, Last: count}
		quote, _ = merge.LinesOf(content, lines)
	}
	if lines.Last > count {
		return nil, codes.InvalidArgument.New(fact.Of("reason", fmt.Sprintf("'%s' has no line %d: it has %d", name, lines.Last, count)),
			fact.Of("path", name), fact.Of("lines", count), fact.Of("threadId", t.ID))
	}
	stage, err := c.Store().Stage(c.Stamp().Operation)
	if err != nil {
		return nil, err
	}
	blob, err := stage.Put(content)
	if err == nil {
		err = c.RelyOn(stage)
	}
	if err != nil {
		c.EndStage(stage, false)
		return nil, err
	}
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*CommentResult, thread.ThreadID, error) {
		made, err := s.Comment(thread.NewComment{
			ID: newCommentID(c, s), Thread: string(t.ID), Path: name, Blob: blob, Lines: thread.Lines{lines.First, lines.Last}, Quote: app.CutBytes(quote, thread.MaxQuote), Text: in.Text,
		}, stamp)
		return &CommentResult{CommentRecord: commentOf(made)}, made.ThreadID, err
	})
	c.EndStage(stage, err == nil)
	return d, err
}

func newCommentID(c *app.Call, s *thread.State) thread.CommentID {
	return thread.CommentID(c.NewID("", thread.PrefixComment, func(id string) bool {
		_, taken := s.Comments.Peek(id)
		return taken
	}))
}

// commentable reads a file that is to be commented. Errors: T203 for none, T903 for one that
// is not text, T508, T802, those of reading.
func commentable(c *app.Call, t thread.Thread, name string) ([]byte, error) {
	content, err := commented(c, t, name)
	switch {
	case codes.Has(err, codes.TargetCorrupted):
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, codes.ScopeNotFound.New(fact.Of("path", name), fact.Of("threadId", t.ID)).WithNext("leslie artifacts " + string(t.ID))
	case err != nil:
		return nil, err
	case merge.Binary(content):
		return nil, codes.InvalidArgument.New(fact.Of("reason", "'"+name+"' is not text"), fact.Of("path", name), fact.Of("threadId", t.ID))
	case merge.TooLargeToDiff(content):
		return nil, codes.TooLarge.New(fact.Of("what", "'"+name+"'"), fact.Of("limit", "8 MiB"), fact.Of("threadId", t.ID))
	}
	return content, nil
}

// commented reads a thread's artifact, or a file of its code as it is in the worktree, or on the branch.
// Errors: fs.ErrNotExist, T802 if the thread has no worktree, those of reading.
func commented(c *app.Call, t thread.Thread, name string) ([]byte, error) {
	if file, isCode := strings.CutPrefix(name, thread.CodePrefix); isCode {
		return codeFile(c, t, file)
	}
	var content []byte
	err := c.ReadConsistent(func() (err error) {
		there, err := matchedFile(c, t.ID, name)
		if err == nil && !there {
			err = fs.ErrNotExist
		}
		if err == nil {
			content, err = c.Store().ReadArtifact(t.ID, name)
		}
		return err
	}, t.ID)
	return content, err
}

// matchedFile reports whether a thread has an artifact that is a file of this name.
func matchedFile(c *app.Call, id thread.ThreadID, name string) (bool, error) {
	entries, err := c.Store().Artifacts(id)
	return slices.ContainsFunc(contextFiles(entries), func(f ContextFile) bool { return f.Path == name }), err
}

// codeFile reads a file of a thread's worktree, or where that is not here, of its branch.
func codeFile(c *app.Call, t thread.Thread, name string) ([]byte, error) {
	if owned := t.OwnedCode(); owned != nil && owned.State != thread.CodeReady {
		content, _, err := code.FileOf(c, t.ID, name)
		if codes.Has(err, codes.ScopeNotFound) {
			err = fs.ErrNotExist
		}
		return content, err
	}
	dir := code.WorktreeDir(c, t)
	if dir == "" {
		return nil, thread.NoCode(t.ID, "it has no worktree").WithNext("leslie status " + string(t.ID))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, thread.NoCode(t.ID, "its worktree is not there").WithNext("leslie code")
	}
	defer func() { _ = root.Close() }()
	unreadable := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fs.ErrNotExist
		}
		return codes.ReadFailed.Wrap(err, fact.Of("path", thread.CodePrefix+name), fact.Of("reason", err.Error()), fact.Of("threadId", t.ID))
	}
	switch info, err := root.Stat(name); { // before it is opened: a pipe would wait for its writer
	case err != nil:
		return nil, unreadable(err)
	case !info.Mode().IsRegular():
		return nil, codes.InvalidArgument.New(fact.Of("reason", "'"+name+"' is no regular file"), fact.Of("path", thread.CodePrefix+name), fact.Of("threadId", t.ID))
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, merge.MaxText+1))
	if err != nil {
		return nil, unreadable(err)
	}
	return content, nil
}

// located says where the lines of open comments are now. Each file is read once. What cannot
// be read leaves the lines where they were, and says why.
func located(c *app.Call, found []thread.Comment) []CommentRecord {
	type place struct {
		id   thread.ThreadID
		path string
	}
	type file struct {
		content []byte
		err     error
	}
	files := map[place]file{}
	out := make([]CommentRecord, len(found))
	for i, comment := range found {
		out[i] = commentOf(comment)
		if comment.State != thread.CommentOpen {
			continue
		}
		at := place{comment.ThreadID, comment.Path}
		now, known := files[at]
		if !known {
			now.content, now.err = nowOf(c, comment)
			files[at] = now
		}
		out[i].follow(c, now.content, now.err)
	}
	return out
}

// nowOf reads the file of a comment as it is now.
func nowOf(c *app.Call, comment thread.Comment) (content []byte, err error) {
	var t thread.Thread
	_, err = c.View(func(s *thread.State) (err error) { t, err = s.Thread(string(comment.ThreadID)); return err })
	if err != nil {
		return nil, err
	}
	return commented(c, t, comment.Path)
}

// follow finds the comment's lines in the file as it is now.
func (d *CommentRecord) follow(c *app.Call, now []byte, err error) {
	switch {
	case codes.Has(err, codes.TargetCorrupted):
		d.Why = "the thread's folder is missing"
		return
	case errors.Is(err, fs.ErrNotExist):
		d.Outdated, d.Why = true, "the file is gone"
		return
	case err != nil:
		d.Why = "cannot be compared: " + err.Error()
		return
	}
	was, err := c.Store().Blob(d.Blob)
	if err != nil {
		d.Why = "cannot be compared: " + err.Error()
		return
	}
	if merge.Binary(now) || merge.TooLargeToDiff(now) || merge.TooLargeToDiff(was) {
		d.Why = "cannot be compared by lines"
		return
	}
	lines, gone := merge.Follow(was, now, d.Was)
	if gone {
		d.Outdated, d.Why = true, "its lines are gone"
		return
	}
	d.Lines = lines
}

// ResolveCommentRequest resolves a comment.
type ResolveCommentRequest struct {
	Comment string // its id, or a prefix of it
}

// ResolveComment resolves a comment; it may be resolved already. Errors: T407, T105, T107
// if its thread is archived, those of a write.
func ResolveComment(c *app.Call, in ResolveCommentRequest) (*CommentResult, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*CommentResult, thread.ThreadID, error) {
		resolved, err := s.ResolveComment(in.Comment, stamp)
		return &CommentResult{CommentRecord: commentOf(resolved)}, resolved.ThreadID, err
	})
}

// ListCommentsRequest lists comments.
type ListCommentsRequest struct {
	All   bool // also resolved ones, and those on threads that have ended; these are listed if they are named
	Limit int  // 0: all
	app.RecordFilter
}

// ListCommentsResult has comments, ordered by thread, path and lines.
type ListCommentsResult struct{ app.Items[CommentRecord] }

// ListComments lists the open comments. Errors: T903, T101 and T105 for the filter, those of reading.
func ListComments(c *app.Call, in ListCommentsRequest) (*ListCommentsResult, error) {
	c.ReadOnly()
	var found []thread.Comment
	_, err := c.View(func(s *thread.State) (err error) {
		switch {
		case in.All:
			found, err = s.AllComments("")
		case len(in.Threads) > 0:
			found = slices.DeleteFunc(s.CommentsOf(""), func(c thread.Comment) bool { return c.State != thread.CommentOpen })
		default:
			found = s.OpenComments("")
		}
		if err == nil {
			found, err = app.Select(c, s, in.RecordFilter, found, func(c thread.Comment) app.Filterable {
				return app.Filterable{Threads: []thread.ThreadID{c.ThreadID}, Made: c.Created, Decided: c.Resolved, Changed: c.Revision}
			})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	shown := app.First(found, in.Limit)
	return &ListCommentsResult{app.Items[CommentRecord]{Items: located(c, shown.Items), Total: shown.Total, Truncated: shown.Truncated}}, nil
}
