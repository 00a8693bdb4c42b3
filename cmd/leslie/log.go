package main

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/warnings"
)

// log appends this call's error and warnings to the store's log, one line each,
// without lock or fsync. A call without either writes nothing. Where the log
// cannot be written a reading command says nothing and a writing one adds W503.
// In another program's store nothing is touched, so nothing is logged there.
func (c *call) log(failure *codes.Error) {
	if failure == nil && len(c.warnings) == 0 && c.note == "" || failure != nil && failure.Code() == codes.UnsupportedVersion {
		return
	}
	st, err := c.store()
	if err != nil {
		return
	}
	h := &logHandler{now: c.env.now}
	logger := slog.New(h)
	for _, w := range c.warnings {
		logger.LogAttrs(c.ctx, slog.LevelWarn, w.Code.Entry().Title, c.logAttrs(string(w.Code), w.Context)...)
	}
	if failure != nil {
		logger.LogAttrs(c.ctx, slog.LevelError, failure.Code().Entry().Title, c.logAttrs(string(failure.Code()), failure.Facts())...)
	}
	if c.note != "" {
		logger.LogAttrs(c.ctx, slog.LevelInfo, c.note, c.logAttrs("", nil)...)
	}
	path := st.Path(store.LogsDir + "/leslie.log")
	if err := st.AppendLog(h.lines); err != nil && c.writes() {
		c.warnings.Add(warnings.LogUnwritable.New(fact.Of("path", st.Relative(path)), fact.Of("reason", plainReason(err))))
	}
}

// debugLine says, with --debug, what the call was taken for.
func (c *call) debugLine() []byte {
	if !c.who.debug {
		return nil
	}
	if c.op != nil {
		return c.op.DebugLine(c.who.dir)
	}
	attrs := []slog.Attr{slog.String("dir", c.who.dir)}
	if c.st != nil {
		attrs = append(attrs, slog.String("root", c.st.Root()))
	}
	h := &logHandler{now: c.env.now}
	slog.New(h).LogAttrs(c.ctx, slog.LevelDebug, "Call", append(attrs, c.logAttrs("", nil)...)...)
	return h.lines
}

// logAttrs are the facts of one line. Structures stay out: a line is for
// reading and for counting, not for parsing.
func (c *call) logAttrs(code string, facts fact.List) []slog.Attr {
	var attrs []slog.Attr
	if code != "" {
		attrs = append(attrs, slog.String("code", code))
	}
	if _, said := facts.Get("threadId"); !said && c.about != "" {
		attrs = append(attrs, slog.String("threadId", string(c.about)))
	}
	for _, f := range facts {
		if structured(f.Value) {
			continue
		}
		attrs = append(attrs, slog.Any(f.Key, f.Value))
	}
	if _, said := facts.Get("operation"); !said {
		attrs = append(attrs, slog.String("operation", c.operation()))
	}
	if c.who.thread != "" {
		attrs = append(attrs, slog.String("speaks", c.who.thread))
	}
	// Who acts stands at the end: recall tells a caller's own lines by it.
	return append(attrs, slog.String("line", c.lineDigest()), slog.String("as", string(c.who.as)), slog.String("actor", c.who.actor))
}

// logHandler writes slog records as leslie's log lines:
//
//	time=2026-02-09T16:00:00Z level=warn threadId=thread-abc code=W202 msg="..." target=thread-old
//
// time in whole seconds UTC, msg always quoted, threadId and code in front, a
// duration in milliseconds (durationMs) as duration to 100 ms.
type logHandler struct {
	now   func() time.Time
	lines []byte
	attrs []slog.Attr
}

// Enabled reports true: leslie logs what it is asked to.
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

// brief is a list as a line has it. A fact may hold an argument of any length, and a
// look at the log's tail is to find whole lines.
func brief(l fact.List) fact.List {
	out := make(fact.List, len(l))
	for i, f := range l {
		out[i] = fact.Of(f.Key, cut(l.Text(f.Key), maxLogged))
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

// WithAttrs returns a handler whose lines carry these attributes too.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{now: h.now, attrs: append(slices.Clone(h.attrs), attrs...)}
}

// WithGroup returns the handler: leslie's lines have no groups.
func (h *logHandler) WithGroup(string) slog.Handler { return h }
