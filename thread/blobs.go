package thread

import (
	"encoding/json"
	"maps"
	"slices"
)

// This file lists the blobs that a record names, that is, the content that must be
// kept. If you add a field of type BlobID to a record, add it here: a test fills
// every such field and checks that it is listed.

// NamedBlob is a blob that a record names.
type NamedBlob struct {
	ID   BlobID
	Kind BlobKind
	// By describes for people what names the blob: "what 'a' shares with 'b'".
	By string
}

// BlobKind says what a named blob contains: content, or a list that names other
// blobs.
type BlobKind string

// The kinds of blobs.
const (
	// BlobContent is the content of a text or a file.
	BlobContent BlobKind = "content"
	// BlobBundle has commits, which git has where they are of use.
	BlobBundle BlobKind = "bundle"
	// BlobManifest lists the files of a snapshot.
	BlobManifest BlobKind = "manifest"
	// BlobDigest is a manifest whose files may be deleted.
	BlobDigest BlobKind = "digest"
	// BlobUndo lists what a merge replaced.
	BlobUndo BlobKind = "undo"
)

// IsList reports whether the content is a list that names other blobs.
func (b NamedBlob) IsList() bool { return b.Kind != BlobContent && b.Kind != BlobBundle }

// BlobsOf returns the blobs that a record of the named table names. record is its
// JSON. Errors: those of encoding/json for a record that cannot be decoded.
func BlobsOf(table string, record []byte) ([]NamedBlob, error) {
	switch table {
	case TableThreads:
		return blobsIn[Thread](record)
	case TableReferences:
		return blobsIn[Reference](record)
	case TableMerges:
		return blobsIn[Merge](record)
	case TableApprovals:
		return blobsIn[Approval](record)
	case TableComments:
		return blobsIn[Comment](record)
	}
	return nil, nil
}

func blobsIn[R interface{ blobs() []NamedBlob }](record []byte) ([]NamedBlob, error) {
	var r R
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.blobs(), func(b NamedBlob) bool { return b.ID == "" }), nil
}

func (t Thread) blobs() (out []NamedBlob) {
	for _, share := range t.Shared {
		by := "what '" + string(t.ID) + "' shares with '" + string(share.With) + "'"
		out = append(out,
			NamedBlob{share.Manifest, BlobManifest, by},
			NamedBlob{share.Undo, BlobUndo, "what the merge of '" + string(share.With) + "' into '" + string(t.ID) + "' replaced"})
	}
	for _, c := range t.Checkpoints {
		by := "the checkpoint '" + string(c.ID) + "' of '" + string(t.ID) + "'"
		out = append(out, NamedBlob{c.Manifest, BlobManifest, by}, NamedBlob{c.Undo, BlobUndo, "what the rollback behind " + by + " replaced"})
	}
	if t.Published != nil {
		out = append(out, NamedBlob{t.Published.Manifest, BlobManifest, "the published files of '" + string(t.ID) + "'"})
	}
	if code := t.OwnedCode(); code != nil {
		for _, sent := range code.AllSent() {
			if t.Status == Completed && code.LandedAt(sent.Tip) { // git has them where they landed
				continue
			}
			out = append(out, NamedBlob{sent.Bundle, BlobBundle, "the commits of '" + string(t.ID) + "' that " + sent.Machine + " has sent"})
		}
	}
	if t.Undone != nil {
		out = append(out, decided(t.Undone.Decisions, "undone merge into '"+string(t.ID)+"'")...)
	}
	return out
}

// decided returns the texts of a merge's decisions.
func decided(all map[string]Decision, in string) (out []NamedBlob) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, NamedBlob{all[key].Text, BlobContent, "the text decided on in the " + in})
	}
	return out
}

func (a Approval) blobs() []NamedBlob {
	by := "the approval '" + string(a.ID) + "'"
	return []NamedBlob{{a.Digest, BlobDigest, "what " + by + " was asked about"}, {a.Plan, BlobContent, "the plan of " + by}}
}

func (c Comment) blobs() []NamedBlob {
	return []NamedBlob{{c.Blob, BlobContent, "the file that the comment '" + string(c.ID) + "' is about"}}
}

func (ref Reference) blobs() []NamedBlob {
	return []NamedBlob{{ref.Manifest, BlobManifest, "what the reference '" + string(ref.ID) + "' froze"}}
}

func (m Merge) blobs() (out []NamedBlob) {
	out = decided(m.Decisions, "merge '"+string(m.ID)+"'")
	for _, path := range slices.Sorted(maps.Keys(m.Work)) {
		out = append(out, NamedBlob{m.Work[path], BlobContent, "the file '" + path + "' for editors of the merge '" + string(m.ID) + "'"})
	}
	return out
}
