package thread

import (
	"cmp"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles comments: remarks on lines of a thread's artifacts or code. They stay
// open until somebody resolves them, and keep its agent from completing the thread and
// others from merging it.

// PrefixComment is the prefix of a comment's id.
const PrefixComment = "c-"

// CodePrefix stands before the path of a file of a thread's code, where paths of artifacts
// have none.
const CodePrefix = "code:"

// maxComments is how many open comments a thread may have.
const maxComments = 200

// MaxQuote is how many bytes of the lines a comment quotes.
const MaxQuote = 2000

// Comment is a remark on lines of a file as it was then. Where the lines are by now is
// computed from Blob by whoever shows it.
type Comment struct {
	ID       CommentID `json:"commentId"`
	ThreadID ThreadID  `json:"threadId"`
	// Path is that of an artifact, or of a file of the thread's code behind CodePrefix.
	Path string `json:"path"`
	// Blob is the file's content, and Lines the lines in it.
	Blob  BlobID `json:"blob"`
	Lines Lines  `json:"lines"`
	// Quote has these lines, at most MaxQuote bytes of them.
	Quote    string       `json:"quote"`
	Text     string       `json:"comment"`
	State    CommentState `json:"state"`
	Created  Attribution  `json:"created"`
	Resolved *Attribution `json:"resolved,omitempty"`
	// Message is the injection by which it reached the thread's agent, "" for none yet.
	Message  InjectionID `json:"message,omitempty"`
	Revision Revision    `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Lines are the first and the last of some lines of a text, counted from 1.
type Lines [2]int

// CommentState is the state of a comment.
type CommentState string

// The states of comments.
const (
	CommentOpen     CommentState = "open"
	CommentResolved CommentState = "resolved"
)

// NewComment has the parameters of a new comment.
type NewComment struct {
	ID     CommentID
	Thread string
	Path   string
	Blob   BlobID
	Lines  Lines
	Quote  string
	Text   string
}

// Comment adds a comment to a thread. The same open comment again is returned as it is, so
// that a retry doubles nothing. Errors: T101, T105, T107 if the thread is terminated, T508
// if it has too many open comments.
func (s *State) Comment(in NewComment, stamp Stamp) (Comment, error) {
	t, err := s.LiveThread(in.Thread)
	if err != nil {
		return Comment{}, err
	}
	c := Comment{
		ID: in.ID, ThreadID: t.ID, Path: in.Path, Blob: in.Blob, Lines: in.Lines,
		Quote: strings.ToValidUTF8(in.Quote, "\uFFFD"), Text: strings.ToValidUTF8(in.Text, "\uFFFD"),
		State: CommentOpen, Created: Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor},
	}
	open := s.OpenComments(t.ID)
	for _, o := range open {
		if o.Path == c.Path && o.Blob == c.Blob && o.Lines == c.Lines && o.Text == c.Text && o.Created.Actor == c.Created.Actor {
			return o, nil
		}
	}
	if len(open) >= maxComments {
		return Comment{}, codes.TooLarge.New(
			fact.Of("what", "the number of open comments on '"+string(t.ID)+"'"), fact.Of("limit", maxComments), fact.Of("threadId", t.ID)).
			WithHint("Resolve some first: leslie comment resolve C").WithNext("leslie comments " + string(t.ID))
	}
	return s.Comments.Put(c), nil
}

// ResolveComment resolves a comment; one that is resolved stays as it is. Errors: T407,
// T105, T107 if its thread is archived.
func (s *State) ResolveComment(arg string, stamp Stamp) (Comment, error) {
	c, err := s.AnyComment(arg)
	if err != nil || c.State == CommentResolved {
		return c, err
	}
	if _, live := s.Comments.Peek(string(c.ID)); !live {
		return Comment{}, notWritable(Thread{ID: c.ThreadID, Status: Archived})
	}
	c.State, c.Resolved = CommentResolved, &Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor}
	return s.Comments.Put(c), nil
}

// SendComments records that these open comments reached the thread's agent by one message,
// which is returned. Errors: those of Inject.
func (s *State) SendComments(id ThreadID, sent []CommentID, message NewInjection, stamp Stamp) (Injection, error) {
	i, _, err := s.Inject(message, stamp)
	if err != nil {
		return Injection{}, err
	}
	for _, c := range s.OpenComments(id) {
		if slices.Contains(sent, c.ID) {
			c.Message = i.ID
			s.Comments.Put(c)
		}
	}
	return i, nil
}

// AnyComment returns the comment that arg names, also one of an archived thread. Errors:
// T407, T105.
func (s *State) AnyComment(arg string) (Comment, error) {
	return find(arg, PrefixComment, &s.Comments, s.archiveLines(TableComments, func() bool { return true }),
		func(near string) error {
			err := codes.CommentNotFound.New(fact.Of("commentId", arg))
			if near != "" {
				err = err.With(fact.Of("nearest", near))
			}
			return err
		})
}

// CommentsOf returns the comments on a thread, or on all for "", ordered by thread, path
// and lines.
func (s *State) CommentsOf(id ThreadID) []Comment {
	mark := ""
	if id != "" {
		mark = `"threadId":"` + string(id) + `"`
	}
	return commentsInOrder(s.Comments.where(mark, func(c Comment) bool { return id == "" || c.ThreadID == id }))
}

// OpenComments returns the open comments on a thread, or for "" those on all threads that
// are not terminated, in the same order.
func (s *State) OpenComments(id ThreadID) []Comment {
	return commentsInOrder(s.Comments.where(`"state":"open"`, func(c Comment) bool {
		if c.State != CommentOpen || id != "" {
			return c.State == CommentOpen && c.ThreadID == id
		}
		t, live := s.Threads.Peek(string(c.ThreadID))
		return live && !t.Status.Terminated()
	}))
}

// AllComments returns every comment on a thread, or on all for "", including those of
// archived threads, in the same order. Errors: those of reading the archive.
func (s *State) AllComments(id ThreadID) ([]Comment, error) {
	lines, err := s.archivedLines(TableComments)
	if err != nil {
		return nil, err
	}
	all := s.CommentsOf(id)
	for _, line := range lines {
		if c := decode[Comment](line.JSON); id == "" || c.ThreadID == id {
			all = append(all, c)
		}
	}
	return commentsInOrder(all), nil
}

func commentsInOrder(all []Comment) []Comment {
	slices.SortStableFunc(all, func(a, b Comment) int {
		return cmp.Or(cmp.Compare(a.ThreadID, b.ThreadID), cmp.Compare(a.Path, b.Path), slices.Compare(a.Lines[:], b.Lines[:]),
			byTime(a.Created.At, b.Created.At), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Reviewed returns T408 for the first of these threads that has open comments among those
// that count, nil if none has.
func (s *State) Reviewed(threads []ThreadID, counts func(Comment) bool) error {
	for _, id := range threads {
		open := slices.DeleteFunc(s.OpenComments(id), func(c Comment) bool { return !counts(c) })
		if len(open) > 0 {
			return codes.CommentsOpen.New(fact.Of("threadId", id), fact.Of("count", len(open)), fact.Of("commentId", open[0].ID), fact.Of("path", open[0].Path))
		}
	}
	return nil
}
