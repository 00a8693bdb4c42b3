package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/warnings"
)

// mergeFileData is merge-file's answer: in text format the merged text itself, so that
// it can replace git merge-file.
type mergeFileData struct {
	Conflicts int    `json:"conflicts"`
	Merged    string `json:"merged"`
	inPlace   bool
}

func (d *mergeFileData) Text(p *page) {
	if !d.inPlace {
		p.b.WriteString(d.Merged)
	}
}

// isPartialResult: the text with markers is the answer.
func (d *mergeFileData) isPartialResult() {}

func mergeFileCommand() *command {
	return &command{
		name: "merge-file", summary: "merge three files line by line, like git merge-file --diff3; needs no store",
		detail: "Prints the result, or writes it into OURS with --in-place. Exit status 0: no conflicts; 13: conflicts, marked in the result. As a git merge driver:\n" +
			"  git config merge.leslie.driver 'leslie merge-file --in-place -L %X -L %S -L %Y %A %O %B'",
		example:  "leslie merge-file ours.md base.md theirs.md",
		operands: []operand{{value: anyText("OURS")}, {value: anyText("BASE")}, {value: anyText("THEIRS")}},
		flags: []cli.Flag{
			newOption("label", texts("NAME"), "the names in conflict markers: ours, base, theirs, in this order").short("L"),
			toggle("in-place", "write the result into OURS"),
		},
		run: runMergeFile,
	}
}

func runMergeFile(c *call) (Data, error) {
	labels := c.texts("label")
	if len(labels) > 3 {
		c.fault("--label", "", "-L is given more than three times")
	}
	if c.on("in-place") && c.operand(0) == "-" {
		c.fault("--in-place", "", "--in-place needs a file as OURS, not standard input")
	}
	// Ignore the environment's format: a git merge driver needs text.
	if !c.has("format") {
		c.who.format = "text"
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	var texts [3][]byte
	for i := range texts {
		var err error
		if texts[i], err = readFile(c, c.operand(i)); err != nil {
			return nil, codes.Of(err).WithNext("leslie help merge-file")
		}
		if merge.Binary(texts[i]) {
			return nil, codes.InvalidArgument.New(fact.Of("reason", "cannot merge binary files: "+c.operand(i)), fact.Of("path", c.operand(i)))
		}
	}
	names := c.markerNames(labels)
	r := merge.Text(texts[1], texts[0], texts[2])
	markers := merge.Named(names[1], names[0], names[2])
	markers.Length = 7
	d := &mergeFileData{Conflicts: len(r.Conflicts()), Merged: string(r.Render(markers)), inPlace: c.on("in-place")}
	if d.inPlace {
		if err := replaceFile(c, c.operand(0), []byte(d.Merged)); err != nil {
			return nil, err
		}
	}
	if d.Conflicts > 0 {
		return d, codes.MergeConflict.New(fact.Of("count", d.Conflicts), fact.Of("path", c.operand(0)), fact.Of("changed", d.inPlace)).
			WithHint("Edit the file: the conflicts are between markers")
	}
	return d, nil
}

// markerNames returns the names on the markers: the labels, otherwise the operands.
// Git before 2.44 passes its placeholders unexpanded; those are replaced by
// descriptive names.
func (c *given) markerNames(labels []string) []string {
	names := []string{c.operand(0), c.operand(1), c.operand(2)}
	copy(names, labels)
	plain := map[string]string{"%X": "ours", "%S": "base", "%Y": "theirs"}
	for i, name := range names {
		if known := plain[name]; known != "" {
			name = known
		}
		names[i] = strings.Join(strings.Fields(escape(name)), " ")
	}
	return names
}

// replaceFile replaces one of the caller's files by rename, durably, so that no reader
// sees half of it. For a link it writes the file that the link leads to. Errors: T505.
func replaceFile(c *call, name string, data []byte) error {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.who.dir, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	undurable, err := app.ReplaceFile(path, data, mode)
	if err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", codes.Reason(err)))
	}
	if undurable != nil {
		c.warnings.Add(warnings.NotSettled.New(fact.Of("what", "making "+name+" durable"), fact.Of("reason", codes.Reason(undurable))))
	}
	return nil
}
