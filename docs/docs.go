// Package docs has the project's documents inside the binary, because somebody else's
// project has no folder with them: leslie help TOPIC prints one.
//
// What belongs here: the documents, and finding one by its name.
package docs

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.md guides/*.md concepts/*.md reference/*.md internals/*.md
var files embed.FS

// Folder is a folder of documents, with what a reader finds there.
type Folder struct{ Name, Title string }

// Folders are the folders of documents, in the order in which a reader comes to them.
func Folders() []Folder {
	return []Folder{
		{".", "Begin"}, {"guides", "How to"}, {"concepts", "How it works"}, {"reference", "Look up"},
		{"internals", "For those who work on leslie"},
	}
}

// Topic is a document by the name of its file, which no other has.
type Topic struct{ Name, Folder, Title string }

// Topics returns all documents, by folder and name.
func Topics() []Topic {
	var out []Topic
	for _, folder := range Folders() {
		entries, _ := files.ReadDir(folder.Name) // embedded: it is always there
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".md"); ok {
				title, _, _ := strings.Cut(strings.TrimPrefix(text(folder.Name, name), "# "), "\n")
				out = append(out, Topic{name, folder.Name, title})
			}
		}
	}
	return out
}

// Text returns the document of a topic, as Markdown; ok is false if there is none.
func Text(name string) (document string, ok bool) {
	for _, folder := range Folders() {
		if document = text(folder.Name, name); document != "" {
			return document, true
		}
	}
	return "", false
}

// text is a document in a folder, "" if it is not there.
func text(folder, name string) string {
	data, err := files.ReadFile(path.Join(folder, name+".md"))
	if err != nil {
		return ""
	}
	return withoutComments(string(data))
}

// withoutComments leaves out what only the test that executes the documents reads.
func withoutComments(document string) string {
	for {
		before, rest, found := strings.Cut(document, "<!-- ")
		if !found {
			return document
		}
		_, after, _ := strings.Cut(rest, " -->")
		document = strings.TrimSuffix(before, "\n") + after
	}
}
