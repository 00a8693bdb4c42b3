package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"leslie/thread"
)

// This file decodes every record of the state and of the archive, and checks that the
// records they name exist.

// census has every record of the state and of the archive, decoded.
type census struct {
	objectives []thread.Objective
	threads    []resting[thread.Thread]
	references []resting[thread.Reference]
	approvals  []thread.Approval
	merges     []thread.Merge
	blobs      []owned
}

// resting is a record of the state or of the archive; the state's records come first.
type resting[R any] struct {
	record   R
	archived bool
}

// owned is a blob that a record names.
type owned struct {
	thread.NamedBlob
	table string
}

// records decodes all records. Their checksum has been verified, so a record that
// cannot be decoded is a bug in leslie.
func (x *examination) records() error {
	if x.now == nil {
		return nil
	}
	for _, table := range thread.Tables() {
		for _, line := range x.now.Records[table] {
			if err := x.census.take(table, line.JSON, false); err != nil {
				x.lasting("T901", StateFile, fmt.Sprintf("the record %s/%s cannot be read: %v", table, line.ID, err))
			}
		}
	}
	if x.noCold {
		return nil
	}
	for _, a := range x.cold.Counting {
		table, _, _ := strings.Cut(a.Record, "/")
		if err := x.census.take(table, a.Value, true); err != nil {
			x.lasting("T901", ArchiveFile, fmt.Sprintf("the record %s cannot be read: %v", a.Record, err))
		}
	}
	return nil
}

func (c *census) take(table string, record []byte, archived bool) (err error) {
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
	}
	if err != nil {
		return err
	}
	blobs, err := thread.BlobsOf(table, record)
	for _, b := range blobs {
		c.blobs = append(c.blobs, owned{b, table})
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

func collectResting[R any](to *[]resting[R], record []byte, archived bool) error {
	var r R
	err := json.Unmarshal(record, &r)
	if err == nil {
		*to = append(*to, resting[R]{r, archived})
	}
	return err
}

// relations finds records that name others that are neither in the state nor in the
// archive.
func (x *examination) relations() error {
	if x.now == nil || x.noCold {
		return nil
	}
	for _, t := range x.census.threads {
		x.tiesOf(t.record)
	}
	for _, r := range x.census.references {
		what := "the reference '" + string(r.record.ID) + "'"
		if !x.there(thread.TableThreads, string(r.record.From)) {
			x.lasting("T101", StateFile, what+" comes from '"+string(r.record.From)+"', which does not exist")
		}
		if r.record.Resolved && !x.there(thread.TableThreads, string(r.record.Target)) {
			x.lasting("T202", StateFile, "the target '"+string(r.record.Target)+"' of "+what+" does not exist")
		}
	}
	for _, m := range x.census.merges {
		for _, id := range append([]thread.ThreadID{m.Target}, m.Sources...) {
			if !x.there(thread.TableThreads, string(id)) {
				x.lasting("T101", MergesDir+"/"+string(m.ID), "the merge is of '"+string(id)+"', which does not exist; it can only be aborted")
			}
		}
	}
	for _, a := range x.census.approvals {
		if !x.there(thread.TableThreads, string(a.ThreadID)) {
			x.lasting("T101", StateFile, "the approval '"+string(a.ID)+"' is about '"+string(a.ThreadID)+"', which does not exist")
		}
	}
	return nil
}

// tiesOf checks what a thread's record names.
func (x *examination) tiesOf(t thread.Thread) {
	at := ThreadsDir + "/" + string(t.ID)
	missing := func(id thread.ThreadID) bool { return !x.there(thread.TableThreads, string(id)) }
	if t.ParentID != "" && missing(t.ParentID) {
		x.lasting("T101", at, "its parent '"+string(t.ParentID)+"' does not exist")
	}
	for _, id := range t.DependsOn {
		if missing(id) {
			x.lasting("T101", at, "it depends on '"+string(id)+"', which does not exist")
		}
	}
	for _, share := range t.Shared {
		if missing(share.With) {
			x.lasting("T101", at, "it shares content with '"+string(share.With)+"', which does not exist")
		}
	}
	if !x.there(thread.TableObjectives, string(t.ObjectiveID)) {
		x.lasting("T601", at, "its objective '"+string(t.ObjectiveID)+"' does not exist")
	}
}

// there reports whether a record exists, or will exist after the archive is repaired.
func (x *examination) there(table, id string) bool {
	if _, there := thread.LineOf(x.now.Records[table], id); there {
		return true
	}
	if x.noCold {
		return false
	}
	return x.cold.Has(table, id)
}
