package doctor

import (
	"encoding/json"
	"fmt"
	"strings"

	"leslie/store"
	"leslie/thread"
)

// This file decodes every record of the state and of the archive, and checks that the
// records they name exist.

// recordIndex has every record of the state and of the archive, decoded.
type recordIndex struct {
	objectives []thread.Objective
	threads    []located[thread.Thread]
	references []located[thread.Reference]
	approvals  []thread.Approval
	questions  []thread.Question
	comments   []thread.Comment
	merges     []thread.Merge
	blobs      []namedBlob
}

// located is a record of the state or of the archive; the state's records come first.
type located[R any] struct {
	record   R
	archived bool
}

// namedBlob is a blob that a record names.
type namedBlob struct {
	thread.NamedBlob
	table string
}

// decodeRecords decodes all records. Their checksum has been verified, so a record that
// cannot be decoded is a bug in leslie.
func (x *examination) decodeRecords() error {
	if x.now == nil {
		return nil
	}
	for _, table := range thread.Tables() {
		for _, line := range x.now.Records[table] {
			if err := x.records.take(table, line.JSON, false); err != nil {
				x.permanent("T901", store.StateFile, fmt.Sprintf("the record %s/%s cannot be read: %v", table, line.ID, err))
			}
		}
	}
	if x.noArchive {
		return nil
	}
	for _, a := range x.archived.Counting {
		table, _, _ := strings.Cut(a.Record, "/")
		if err := x.records.take(table, a.Value, true); err != nil {
			x.permanent("T901", store.ArchiveFile, fmt.Sprintf("the record %s cannot be read: %v", a.Record, err))
		}
	}
	return nil
}

func (c *recordIndex) take(table string, record []byte, archived bool) (err error) {
	switch table {
	case thread.TableObjectives:
		err = collect(&c.objectives, record)
	case thread.TableThreads:
		err = collectResting(&c.threads, record, archived)
	case thread.TableReferences:
		err = collectResting(&c.references, record, archived)
	case thread.TableApprovals:
		err = collect(&c.approvals, record)
	case thread.TableMerges:
		err = collect(&c.merges, record)
	case thread.TableQuestions:
		err = collect(&c.questions, record)
	case thread.TableComments:
		err = collect(&c.comments, record)
	}
	if err != nil {
		return err
	}
	blobs, err := thread.BlobsOf(table, record)
	for _, b := range blobs {
		c.blobs = append(c.blobs, namedBlob{b, table})
	}
	return err
}

func collect[R any](to *[]R, record []byte) error {
	var r R
	err := json.Unmarshal(record, &r)
	if err == nil {
		*to = append(*to, r)
	}
	return err
}

func collectResting[R any](to *[]located[R], record []byte, archived bool) error {
	var r R
	err := json.Unmarshal(record, &r)
	if err == nil {
		*to = append(*to, located[R]{r, archived})
	}
	return err
}

// relations finds records that name others that are neither in the state nor in the
// archive.
func (x *examination) relations() error {
	if x.now == nil || x.noArchive {
		return nil
	}
	for _, t := range x.records.threads {
		x.relationsOf(t.record)
	}
	for _, r := range x.records.references {
		what := "the reference '" + string(r.record.ID) + "'"
		x.mustExist(r.record.From, "T101", store.StateFile, what+" comes from ", ", which does not exist")
		if r.record.Resolved {
			x.mustExist(r.record.Target, "T202", store.StateFile, "the target ", " of "+what+" does not exist")
		}
	}
	for _, m := range x.records.merges {
		for _, id := range append([]thread.ThreadID{m.Target}, m.Sources...) {
			x.mustExist(id, "T101", store.MergesDir+"/"+string(m.ID), "the merge is of ", ", which does not exist; it can only be aborted")
		}
	}
	for _, a := range x.records.approvals {
		x.mustExist(a.ThreadID, "T101", store.StateFile, "the approval '"+string(a.ID)+"' is about ", ", which does not exist")
	}
	for _, c := range x.records.comments {
		if c.ThreadID != "" { // a newer leslie's may have none
			x.mustExist(c.ThreadID, "T101", store.StateFile, "the comment '"+string(c.ID)+"' is on ", ", which does not exist")
		}
	}
	for _, q := range x.records.questions {
		if q.ThreadID != "" { // a newer leslie's may have none
			x.mustExist(q.ThreadID, "T101", store.StateFile, "the question '"+string(q.ID)+"' is of ", ", which does not exist")
		}
	}
	return nil
}

// relationsOf checks what a thread's record names.
func (x *examination) relationsOf(t thread.Thread) {
	at := store.ThreadsDir + "/" + string(t.ID)
	if t.ParentID != "" {
		x.mustExist(t.ParentID, "T101", at, "its parent ", " does not exist")
	}
	for _, id := range t.DependsOn {
		x.mustExist(id, "T101", at, "it depends on ", ", which does not exist")
	}
	for _, share := range t.Shared {
		x.mustExist(share.With, "T101", at, "it shares content with ", ", which does not exist")
	}
	if !x.there(thread.TableObjectives, string(t.ObjectiveID)) {
		x.permanent("T601", at, "its objective '"+string(t.ObjectiveID)+"' does not exist")
	}
}

// mustExist reports a thread that a record names and that does not exist; the message
// has its id between before and after.
func (x *examination) mustExist(id thread.ThreadID, code, at, before, after string) {
	if !x.there(thread.TableThreads, string(id)) {
		x.permanent(code, at, before+"'"+string(id)+"'"+after)
	}
}

// there reports whether a record exists, or will exist after the archive is repaired.
func (x *examination) there(table, id string) bool {
	if _, there := thread.LineOf(x.now.Records[table], id); there {
		return true
	}
	if x.noArchive {
		return false
	}
	return x.archived.Has(table, id)
}
