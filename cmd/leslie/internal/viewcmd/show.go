package viewcmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/decidecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/cmd/leslie/internal/threadcmd"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/app/threads"
	"leslie/internal/app/views"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/thread"
)

// This file shows one thing by its name: a thread, a version's files, a file, an
// operation.

// showFileText is a file's content: at a terminal without characters that it would act
// on, elsewhere byte by byte.
type showFileText struct{ *views.ShowFileResult }

func (d showFileText) Text(p *page.Page) {
	switch {
	case !p.Terminal:
		p.B.Write(d.Raw)
	case merge.Binary(d.Raw):
		p.Line("%s is not text: %s; redirect the output to keep it", d.Path, fact.Plural(len(d.Raw), "byte"))
	default:
		for line := range bytes.Lines(d.Raw) {
			p.Content("", string(bytes.TrimSuffix(line, []byte("\n"))))
		}
	}
}

type showVersionText struct{ *views.ShowVersionResult }

func (d showVersionText) Text(p *page.Page) {
	p.Line("%s %s", string(d.Version.Kind), d.Version.String())
	if ck := d.Checkpoint; ck != nil {
		p.Field("name", ck.Name)
		p.Field("created", ck.CreatedAt.Format(time.RFC3339)+" by "+ck.CreatedBy.Actor+" ("+string(ck.CreatedBy.As)+")")
	}
	p.Field("files", d.Files.Total)
	var rows [][]string
	for _, f := range d.Files.Items {
		rows = append(rows, []string{f.Path, strconv.FormatInt(f.Size, 10), app.Cut(string(f.SHA256), maxShownHash)})
	}
	p.Table("PATH SIZE SHA256", rows)
	p.Rest(len(rows), d.Files.Total)
}

type showOperationText struct{ *views.ShowOperationResult }

func (d showOperationText) Text(p *page.Page) {
	p.Line("operation %s  %s", d.OperationID, d.Command)
	p.Field("revision", int64(d.Seq))
	p.Field("time", d.Time.Format(time.RFC3339))
	p.Field("by", d.Actor+" ("+string(d.As)+")")
	if d.ThreadID != nil {
		p.Field("thread", string(*d.ThreadID))
	}
	if params := string(d.Params); params != "" && params != "{}" {
		p.Field("params", app.Cut(params, MaxShownValue))
	}
	for _, l := range d.Lines {
		p.Line("line %d: %s", l.Line, l.Command)
	}
	for _, change := range d.Changes {
		p.Line("%s  %s", change.Record, change.How)
		for _, f := range change.Fields {
			switch {
			case f.Field == "updatedAt" && change.How != "created": // the time of the operation
			case change.How == "created" && !listed(f.After):
				p.Line("  %s: %s", f.Field, shownValue(f.After))
			default:
				changedField(p, f.Field, f.Before, f.After)
			}
		}
	}
	for _, f := range d.Files {
		p.Line("%s  %s  %s", f.ThreadID, f.How, f.Path)
	}
}

// changedField shows how a value differs: of a record, and of a list with one record before and
// after, the fields that do.
func changedField(p *page.Page, name string, before, after json.RawMessage) {
	was, had := records(before)
	is, has := records(after)
	a, record := fields(before)
	b, both := fields(after)
	switch {
	case len(was) == 1 && len(is) == 1:
		changedField(p, name, was[0], is[0])
	case had || has:
		changedRecords(p, name, "-", was, is)
		changedRecords(p, name, "+", is, was)
	case record && both:
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, field := range slices.Sorted(maps.Keys(names)) {
			if !bytes.Equal(a[field], b[field]) {
				changedField(p, name+"."+field, a[field], b[field])
			}
		}
	default:
		p.Line("  %s: %s -> %s", name, shownValue(before), shownValue(after))
	}
}

// fields are those of a record.
func fields(raw json.RawMessage) (all map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &all)
	return all, err == nil && all != nil
}

// listed reports whether a value is a list of records.
func listed(raw json.RawMessage) bool {
	_, is := records(raw)
	return is
}

// records are the elements of a field that is a list of records.
func records(raw json.RawMessage) (all []json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &all)
	return all, err == nil && len(all) > 0 && bytes.HasPrefix(all[0], []byte("{"))
}

// changedRecords shows the records of a list that the other list does not have.
func changedRecords(p *page.Page, field, sign string, list, other []json.RawMessage) {
	for _, one := range list {
		if !slices.ContainsFunc(other, func(o json.RawMessage) bool { return bytes.Equal(o, one) }) {
			p.Line("  %s: %s %s", field, sign, shownValue(one))
		}
	}
}

// MaxShownValue is the length limit of a value in text; JSON has all of it.
const MaxShownValue = 300

// maxShownHash is how much of a hash tells it from others.
const maxShownHash = 13

// shownValue is a field's value as text shows it.
func shownValue(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "(none)"
	case json.Unmarshal(raw, &text) == nil:
		if _, err := hex.DecodeString(text); err == nil && len(text) == 2*sha256.Size {
			return app.Cut(text, maxShownHash)
		}
		return app.Cut(text, MaxShownValue)
	case bytes.HasPrefix(raw, []byte("{")):
		return app.Cut(shownRecord(raw), MaxShownValue)
	}
	return app.Cut(string(raw), MaxShownValue)
}

// shownRecord is a JSON object's fields with their values.
func shownRecord(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var words []string
	_, err := dec.Token()
	for err == nil && dec.More() {
		var value json.RawMessage
		name, noName := dec.Token()
		if err = errors.Join(noName, dec.Decode(&value)); err == nil {
			words = append(words, fmt.Sprintf("%s %s", name, shownValue(value)))
		}
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// Show is the command leslie show.
func Show() *cli.Command {
	return &cli.Command{
		Name: "show", Summary: "show a thread, a file of a version, a checkpoint, an operation or a request",
		Detail: "ID shows a thread, as status does; ID:PATH one of its files, ID:code:PATH one of its code. ID@CHECKPOINT shows a checkpoint with " +
			"its files, ID@CHECKPOINT:PATH a file as it was; ID@base and a pending MERGE work as in diff. OP is an " +
			"operation of the history with every change that it made; of a batch also its lines. A is an approval, " +
			"Q a question.",
		Example: "leslie show write-docs@first:plan.md",
		Operands: []cli.Operand{{Value: &cli.Value{Shown: "ID|ID@CHECKPOINT[:PATH]|OP|A|Q", Check: checkShown,
			IDs: cli.ShownIDs}}},
		Flags: []cli.Flag{cli.LimitFlag()},
		Run:   runShow,
	}
}

func checkShown(text string) *cli.Fault {
	problem := app.VersionFault(text)
	if strings.Contains(text, ":") {
		problem = views.FileFault(text)
	}
	if problem != "" {
		return cli.NewFault(problem)
	}
	return nil
}

func runShow(c *cli.Call) (cli.Data, error) {
	what := c.Operand(0)
	switch {
	case strings.Contains(what, ":"):
		d, err := cli.UseCase(c, views.ShowFile, views.ShowFileRequest{File: what})
		if codes.Has(err, codes.CheckpointNotFound) { // its name may have a colon
			if version, missing := cli.UseCase(c, views.ShowVersion, shownVersion(&c.Given)); missing == nil {
				return showVersionText{version}, nil
			}
		}
		if err != nil {
			return nil, err
		}
		return showFileText{d}, nil
	case strings.Contains(what, "@"):
		return cli.RunUseCase(c, views.ShowVersion, shownVersion(&c.Given),
			func(d *views.ShowVersionResult) cli.Data { return showVersionText{d} })
	case OfKind(what, thread.PrefixMerge):
		d, err := cli.UseCase(c, views.ShowVersion, shownVersion(&c.Given))
		if err != nil {
			return nil, err
		}
		if d.Version.Kind == app.MergeVersion {
			return showVersionText{d}, nil
		}
	case OfKind(what, thread.PrefixApproval):
		if d, err := cli.UseCase(c, decisions.ShowApproval, what); err == nil || !isThread(c, what) {
			return shown(d, err, func(d *app.ApprovalRecord) cli.Data { return showApprovalText{d} })
		}
	case OfKind(what, thread.PrefixQuestion):
		if d, err := cli.UseCase(c, decisions.ShowQuestion, what); err == nil || !isThread(c, what) {
			return shown(d, err, func(d *decisions.QuestionRecord) cli.Data { return showQuestionText{d} })
		}
	case OfKind(what, thread.PrefixOperation):
		d, err := cli.UseCase(c, views.ShowOperation, views.ShowOperationRequest{Operation: what})
		if err == nil {
			return showOperationText{d}, nil
		}
		if !isThread(c, what) {
			return nil, err
		}
	}
	return cli.RunUseCase(c, threads.Status, threads.StatusRequest{Thread: what},
		func(d *threads.StatusResult) cli.Data {
			return threadcmd.StatusText{StatusResult: d, Actor: c.Op.Caller().Actor}
		})
}

// minShown is how many characters of the prefix of a kind mean that kind.
const minShown = 3

// OfKind reports whether an id looks like one of a kind, or is the beginning of its prefix.
func OfKind(what, kind string) bool {
	return strings.HasPrefix(what, kind) || len(what) >= minShown && strings.HasPrefix(kind, what)
}

// isThread reports whether an id that looks like something else is a thread's.
func isThread(c *cli.Call, what string) bool {
	_, err := cli.UseCase(c, threads.Status, threads.StatusRequest{Thread: what})
	return err == nil
}

type showApprovalText struct{ *app.ApprovalRecord }

func (d showApprovalText) Text(p *page.Page) {
	page.ApprovalText(p, *d.ApprovalRecord)
	p.Line("  asked by: %s (%s), %s", d.CreatedBy.Actor, string(d.CreatedBy.As), p.At(d.CreatedAt))
}

type showQuestionText struct{ *decisions.QuestionRecord }

func (d showQuestionText) Text(p *page.Page) { decidecmd.QuestionText(p, *d.QuestionRecord) }

// shown is what was found as an answer.
func shown[T any](d *T, err error, text func(*T) cli.Data) (cli.Data, error) {
	if err != nil {
		return nil, err
	}
	return text(d), nil
}

func shownVersion(c *cli.Given) views.ShowVersionRequest {
	return views.ShowVersionRequest{Version: c.Operand(0), Limit: c.Count("limit", app.DefaultLimit)}
}
