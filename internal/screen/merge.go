package screen

import (
	"strings"
)

// This file draws what a merge would do to its target.

// MergeSummary is the view of a merge without open conflicts: its files, and how the
// conflicts in each were decided.
type MergeSummary struct {
	Files []MergeFile

	Width   int
	Colours bool
	// Limit is how many files are shown, 0 for all; those with conflicts come first. More
	// says how to see the others, as a clause.
	Limit int
	More  string
}

// MergeFile is one file of a summary.
type MergeFile struct {
	Path string
	// Verb is what happens to it in one word: add, change, delete.
	Verb string
	// Decided says how its conflicts were decided, in their order; none for a file
	// without.
	Decided []string
	// Note follows, for example "3 lines added".
	Note string
}

// Draw draws the files, one a line.
func (v MergeSummary) Draw() Drawing {
	d := Drawing{}
	files := v.ordered()
	if v.Limit > 0 && len(files) > v.Limit {
		files, d.Shortened = files[:v.Limit], true
	}
	width := max(v.Width, 20)
	verb, path := 0, 0
	for _, f := range files {
		verb, path = max(verb, cells(f.Verb)), max(path, cells(visible(f.Path)))
	}
	path = min(path, max((width-verb-6)/2, 8))
	for _, f := range files {
		name := cutStart(visible(f.Path), path)
		indent := line{{"  ", plain}, {padded(f.Verb, verb), verbStyle(f.Verb)}, {"  ", plain}, {padded(name, path), plain}, {"  ", plain}}
		rows := line{{f.how(), bold}, {f.note(), dim}}.flow(max(width-indent.cells(), 8))
		d.Lines = append(d.Lines, behind(indent, rows[:1], v.Colours)...)
		d.Lines = append(d.Lines, behind(line{{strings.Repeat(" ", indent.cells()), plain}}, rows[1:], v.Colours)...)
	}
	if d.Shortened {
		text := "… " + many(len(v.Files)-v.Limit, "more file")
		if v.More != "" {
			text += " (" + v.More + ")"
		}
		d.Lines = append(d.Lines, line{{"  " + text, dim}}.render(v.Colours))
	}
	return d
}

// ordered returns the files with conflicts, then the others.
func (v MergeSummary) ordered() []MergeFile {
	var decided, others []MergeFile
	for _, f := range v.Files {
		if len(f.Decided) > 0 {
			decided = append(decided, f)
		} else {
			others = append(others, f)
		}
	}
	return append(decided, others...)
}

// how says how the conflicts were decided, equal decisions together: "2 ours, edited".
func (f MergeFile) how() string {
	count := map[string]int{}
	var kinds []string
	for _, one := range f.Decided {
		if count[one]++; count[one] == 1 {
			kinds = append(kinds, one)
		}
	}
	for i, one := range kinds {
		kinds[i] = visible(one)
		if len(f.Decided) > 1 {
			kinds[i] = grouped(int64(count[one])) + " " + kinds[i]
		}
	}
	return strings.Join(kinds, ", ")
}

func (f MergeFile) note() string {
	switch {
	case f.Note == "":
		return ""
	case len(f.Decided) == 0:
		return f.Note
	}
	return "  " + f.Note
}

// padded returns a text with spaces up to a width.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-cells(text), 0))
}

// verbStyle is the colour of what happens to a file.
func verbStyle(verb string) style {
	switch verb {
	case "add":
		return green
	case "delete":
		return red
	}
	return plain
}
