package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/merge"
	"leslie/thread"
)

// This file shows one thing by its name: a thread, a version's files, a file, an
// operation.

// showFileText is a file's content: at a terminal without characters that it would act
// on, elsewhere byte by byte.
type showFileText struct{ *app.ShowFileResult }

func (d showFileText) Text(p *page) {
	switch {
	case !p.terminal:
		p.b.Write(d.Raw)
	case merge.Binary(d.Raw):
		p.line("%s is not text: %s; redirect the output to keep it", d.Path, many(len(d.Raw), "byte"))
	default:
		for line := range bytes.Lines(d.Raw) {
			p.content("", string(bytes.TrimSuffix(line, []byte("\n"))))
		}
	}
}

type showVersionText struct{ *app.ShowVersionResult }

func (d showVersionText) Text(p *page) {
	p.line("%s %s", string(d.Version.Kind), d.Version.String())
	if ck := d.Checkpoint; ck != nil {
		p.field("name", ck.Name)
		p.field("created", ck.CreatedAt.Format(time.RFC3339)+" by "+ck.CreatedBy.Actor+" ("+string(ck.CreatedBy.As)+")")
	}
	p.field("files", d.Files.Total)
	var rows [][]string
	for _, f := range d.Files.Items {
		rows = append(rows, []string{f.Path, strconv.FormatInt(f.Size, 10), cut(string(f.SHA256), maxShownHash)})
	}
	p.table("PATH SIZE SHA256", rows)
	p.rest(len(rows), d.Files.Total)
}

type showOperationText struct{ *app.ShowOperationResult }

func (d showOperationText) Text(p *page) {
	p.line("operation %s  %s", d.OperationID, d.Command)
	p.field("revision", int64(d.Seq))
	p.field("time", d.Time.Format(time.RFC3339))
	p.field("by", d.Actor+" ("+string(d.As)+")")
	if d.ThreadID != nil {
		p.field("thread", string(*d.ThreadID))
	}
	if params := string(d.Params); params != "" && params != "{}" {
		p.field("params", cut(params, maxShownValue))
	}
	for _, l := range d.Lines {
		p.line("line %d: %s", l.Line, l.Command)
	}
	for _, change := range d.Changes {
		p.line("%s  %s", change.Record, change.How)
		for _, f := range change.Fields {
			before, list := records(f.Before)
			after, others := records(f.After)
			switch {
			case list || others:
				changedRecords(p, f.Field, "-", before, after)
				changedRecords(p, f.Field, "+", after, before)
			case change.How == "created":
				p.line("  %s: %s", f.Field, shownValue(f.After))
			default:
				p.line("  %s: %s -> %s", f.Field, shownValue(f.Before), shownValue(f.After))
			}
		}
	}
	for _, f := range d.Files {
		p.line("%s  %s  %s", f.ThreadID, f.How, f.Path)
	}
}

// records are the elements of a field that is a list of records.
func records(raw json.RawMessage) (all []json.RawMessage, ok bool) {
	err := json.Unmarshal(raw, &all)
	return all, err == nil && len(all) > 0 && bytes.HasPrefix(all[0], []byte("{"))
}

// changedRecords shows the records of a list that the other list does not have.
func changedRecords(p *page, field, sign string, list, other []json.RawMessage) {
	for _, one := range list {
		if !slices.ContainsFunc(other, func(o json.RawMessage) bool { return bytes.Equal(o, one) }) {
			p.line("  %s: %s %s", field, sign, shownValue(one))
		}
	}
}

// maxShownValue is the length limit of a value in text; JSON has all of it.
const maxShownValue = 300

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
			return cut(text, maxShownHash)
		}
		return cut(text, maxShownValue)
	case bytes.HasPrefix(raw, []byte("{")):
		return cut(shownRecord(raw), maxShownValue)
	}
	return cut(string(raw), maxShownValue)
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

func showCommand() *command {
	return &command{
		name: "show", summary: "show a thread, a file of a version, a checkpoint, an operation or a request",
		detail: "ID shows a thread, as status does; ID:PATH one of its files. ID@CHECKPOINT shows a checkpoint with its files, ID@CHECKPOINT:PATH a file as it was; " +
			"ID@base and a pending MERGE work as in diff. OP is an operation of the history with every change that it made; of a batch also its lines. A is an approval, Q a question.",
		example:  "leslie show thread-a1b2c3d4@first:plan.md",
		operands: []operand{{value: &value{shown: "ID|ID@CHECKPOINT[:PATH]|OP|A|Q", check: checkShown, ids: threadIDs}}},
		flags:    []cli.Flag{limitFlag()},
		run:      runShow,
	}
}

func checkShown(text string) *fault {
	problem := app.VersionFault(text)
	if strings.Contains(text, ":") {
		problem = app.FileFault(text)
	}
	if problem != "" {
		return wrong(problem)
	}
	return nil
}

func runShow(c *call) (Data, error) {
	what := c.operand(0)
	switch {
	case strings.Contains(what, ":"):
		d, err := useCase(c, app.ShowFile, app.ShowFileRequest{File: what})
		if codes.Has(err, codes.CheckpointNotFound) { // its name may have a colon
			if version, missing := useCase(c, app.ShowVersion, c.shownVersion()); missing == nil {
				return showVersionText{version}, nil
			}
		}
		if err != nil {
			return nil, err
		}
		return showFileText{d}, nil
	case strings.Contains(what, "@"):
		return runUseCase(c, app.ShowVersion, c.shownVersion(), func(d *app.ShowVersionResult) Data { return showVersionText{d} })
	case strings.HasPrefix(what, thread.PrefixMerge):
		d, err := useCase(c, app.ShowVersion, c.shownVersion())
		if err != nil {
			return nil, err
		}
		if d.Version.Kind == app.MergeVersion {
			return showVersionText{d}, nil
		}
	case strings.HasPrefix(what, thread.PrefixApproval):
		if d, err := useCase(c, app.ShowApproval, what); err == nil || !isThread(c, what) {
			return shown(d, err, func(d *app.ApprovalRecord) Data { return showApprovalText{d} })
		}
	case strings.HasPrefix(what, thread.PrefixQuestion):
		if d, err := useCase(c, app.ShowQuestion, what); err == nil || !isThread(c, what) {
			return shown(d, err, func(d *app.QuestionRecord) Data { return showQuestionText{d} })
		}
	case strings.HasPrefix(what, thread.PrefixOperation):
		d, err := useCase(c, app.ShowOperation, app.ShowOperationRequest{Operation: what})
		if err == nil {
			return showOperationText{d}, nil
		}
		if !isThread(c, what) {
			return nil, err
		}
	}
	return runUseCase(c, app.ThreadStatus, app.ThreadStatusRequest{Thread: what}, func(d *app.ThreadStatusResult) Data { return statusText{d} })
}

// isThread reports whether an id that looks like something else is a thread's.
func isThread(c *call, what string) bool {
	_, err := useCase(c, app.ThreadStatus, app.ThreadStatusRequest{Thread: what})
	return err == nil
}

type showApprovalText struct{ *app.ApprovalRecord }

func (d showApprovalText) Text(p *page) {
	approvalText(p, *d.ApprovalRecord)
	p.line("  asked by: %s (%s), %s", d.CreatedBy.Actor, string(d.CreatedBy.As), p.at(d.CreatedAt))
}

type showQuestionText struct{ *app.QuestionRecord }

func (d showQuestionText) Text(p *page) { questionText(p, *d.QuestionRecord) }

// shown is what was found as an answer.
func shown[T any](d *T, err error, text func(*T) Data) (Data, error) {
	if err != nil {
		return nil, err
	}
	return text(d), nil
}

func (c *given) shownVersion() app.ShowVersionRequest {
	return app.ShowVersionRequest{Version: c.operand(0), Limit: c.count("limit", app.DefaultLimit)}
}
