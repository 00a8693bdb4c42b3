package app

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// logCall appends a call's error and warnings to the store's log, one line each,
// without lock or fsync. A call without either writes nothing. If the log cannot be
// written, a reading call is silent and a writing call adds W503. leslie never logs to
// another program's store.
func (c *Call) logCall(failure *codes.Error) {
	all := c.Warnings()
	if failure == nil && len(all) == 0 && c.note == "" || failure != nil && failure.Code() == codes.UnsupportedVersion {
		return
	}
	h := &logHandler{now: c.project.env.Now}
	logger := slog.New(h)
	for _, w := range all {
		logger.LogAttrs(c.ctx, slog.LevelWarn, w.Code.Entry().Title, c.logAttrs(string(w.Code), w.Context)...)
	}
	if failure != nil {
		logger.LogAttrs(c.ctx, slog.LevelError, failure.Code().Entry().Title, c.logAttrs(string(failure.Code()), failure.Facts())...)
	}
	if c.note != "" {
		var facts fact.List
		if c.note == noteUnchanged {
			facts = fact.New(fact.Of("revision", *c.revision))
		}
		logger.LogAttrs(c.ctx, slog.LevelInfo, c.note, c.logAttrs("", facts)...)
	}
	path := c.store.Path(store.LogsDir + "/leslie.log")
	// An uninstall has taken the store away.
	if err := c.store.AppendLog(h.lines); err != nil && !c.request.ReadOnly && Exists(c.store.Path("")) {
		c.Warn(warnings.LogUnwritable.New(fact.Of("path", c.store.Relative(path)), fact.Of("reason", codes.Reason(err))))
	}
}

// LogFailure appends one more error to the log: a bug in leslie that appeared while
// the result was shown.
func (c *Call) LogFailure(failure *codes.Error) {
	h := &logHandler{now: c.project.env.Now}
	slog.New(h).LogAttrs(c.ctx, slog.LevelError, failure.Code().Entry().Title, c.logAttrs(string(failure.Code()), failure.Facts())...)
	_ = c.store.AppendLog(h.lines)
}

// DebugLine returns a log line that says how a call was understood: in which folder,
// for which project ("" for none), by whom.
func DebugLine(ctx context.Context, env Environment, dir, root string, caller Caller, r Request) []byte {
	c := &Call{caller: caller, request: r, target: thread.ThreadID(caller.Thread)}
	h := &logHandler{now: env.Now}
	attrs := []slog.Attr{slog.String("dir", dir)}
	if root != "" {
		attrs = append(attrs, slog.String("root", root))
	}
	slog.New(h).LogAttrs(ctx, slog.LevelDebug, "Call", append(attrs, c.logAttrs("", nil)...)...)
	return h.lines
}

// logAttrs returns the facts of one line, without structured values: a line is for
// reading and counting, not for parsing. A fact with the name of one of a line's own keys
// (the code that W104 warns of, the actor whom T404 names) is logged as detailNAME.
func (c *Call) logAttrs(code string, facts fact.List) []slog.Attr {
	var attrs []slog.Attr
	if code != "" {
		attrs = append(attrs, slog.String("code", code))
	}
	if _, said := facts.Get("threadId"); !said && c.target != "" {
		attrs = append(attrs, slog.String("threadId", string(c.target)))
	}
	for _, f := range facts {
		if Structured(f.Value) {
			continue
		}
		key := f.Key
		switch key {
		case "time", "level", "code", "msg", "speaks", "line", "as", "actor": // lines are found and counted by these
			key = "detail" + strings.ToUpper(key[:1]) + key[1:]
		}
		attrs = append(attrs, slog.Any(key, f.Value))
	}
	if _, said := facts.Get("operation"); !said {
		attrs = append(attrs, slog.String("operation", c.request.Command))
	}
	if c.caller.Thread != "" {
		attrs = append(attrs, slog.String("speaks", c.caller.Thread))
	}
	// The actor comes last: recentFailures finds a caller's own lines by it.
	return append(attrs, slog.String("line", c.request.Digest), slog.String("as", string(c.caller.As)), slog.String("actor", c.caller.Actor))
}

// Structured reports whether a value is more than a word or a list of words.
func Structured(v any) bool {
	t := reflect.TypeOf(v)
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map, reflect.Struct, reflect.Slice, reflect.Interface:
		_, sentence := v.(fmt.Stringer)
		return !sentence
	}
	return false
}

// logHandler writes slog records as leslie's log lines:
//
//	time=2026-02-09T16:00:00Z level=warn threadId=thread-abc code=W202 msg="..." target=thread-old
//
// The time is in whole seconds UTC, msg is always quoted, threadId and code come before
// it, and a duration in milliseconds (durationMs) becomes duration, to 100 ms.
type logHandler struct {
	now   func() time.Time
	lines []byte
	attrs []slog.Attr
}

// Enabled reports true for every level.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle appends one line.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool { attrs = append(attrs, a); return true })
	front := fact.List{
		fact.Of("time", h.now().UTC().Format(time.RFC3339)),
		fact.Of("level", strings.ToLower(r.Level.String())),
	}
	var rest fact.List
	for _, key := range []string{"threadId", "code"} {
		for _, a := range attrs {
			if a.Key == key {
				front = front.With(fact.Of(key, a.Value.Any()))
			}
		}
	}
	for _, a := range attrs {
		if a.Key != "threadId" && a.Key != "code" {
			rest = rest.With(logFact(a))
		}
	}
	line := brief(front).AppendLogfmt(nil)[1:]
	line = append(line, " msg="...)
	line = strconv.AppendQuote(line, r.Message)
	h.lines = append(append(h.lines, brief(rest).AppendLogfmt(line)...), '\n')
	return nil
}

// maxLogged is how many characters of one fact are logged.
const maxLogged = 1000

// brief shortens a list for a line. A fact may contain an argument of any length, but
// the end of the log should contain whole lines.
func brief(l fact.List) fact.List {
	out := make(fact.List, len(l))
	for i, f := range l {
		out[i] = fact.Of(f.Key, Cut(l.Text(f.Key), maxLogged))
	}
	return out
}

func logFact(a slog.Attr) fact.Fact {
	name, isMs := strings.CutSuffix(a.Key, "Ms")
	if ms, ok := a.Value.Any().(int64); ok && isMs {
		return fact.Of(name, (time.Duration(ms) * time.Millisecond).Round(100*time.Millisecond))
	}
	return fact.Of(a.Key, a.Value.Any())
}

// WithAttrs returns a handler that adds these attributes to each line.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{now: h.now, attrs: append(slices.Clone(h.attrs), attrs...)}
}

// WithGroup returns the handler: leslie's lines have no groups.
func (h *logHandler) WithGroup(string) slog.Handler { return h }
