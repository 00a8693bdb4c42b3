// Package docs has the project's documents inside the binary, because somebody else's
// project has no folder with them: leslie help TOPIC prints one.
//
// What belongs here: the documents for users, and finding one by its name.
package docs

import (
	"embed"
	"strings"
)

//go:embed *.md
var files embed.FS

// Topic is a document by the name of its file.
type Topic struct{ Name, Title string }

// Topics returns all documents, ordered by name.
func Topics() []Topic {
	entries, _ := files.ReadDir(".") // embedded: it is always there
	var out []Topic
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		text, _ := Text(name)
		title, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
		out = append(out, Topic{name, title})
	}
	return out
}

// Text returns the document of a topic, as Markdown; ok is false if there is none.
func Text(name string) (text string, ok bool) {
	data, err := files.ReadFile(name + ".md")
	return string(data), err == nil
}
