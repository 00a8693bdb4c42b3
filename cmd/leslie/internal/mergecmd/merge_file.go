package mergecmd

import (
	"os"
	"path/filepath"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
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

func (d *mergeFileData) Text(p *page.Page) {
	if !d.inPlace {
		p.B.WriteString(d.Merged)
	}
}

// IsPartialResult: the text with markers is the answer.
func (d *mergeFileData) IsPartialResult() {}

// MergeFile is the command leslie merge-file.
func MergeFile() *cli.Command {
	return &cli.Command{
		Name: "merge-file", Summary: "merge three files line by line, like git merge-file --diff3; needs no store",
		Detail: "Prints the result, or writes it into OURS with --in-place. Exit status 0: no conflicts; 13: " +
			"conflicts, marked in the result. As a git merge driver:\n" +
			"  git config merge.leslie.driver 'leslie merge-file --in-place -L %X -L %S -L %Y %A %O %B'",
		Example: "leslie merge-file ours.md base.md theirs.md",
		Operands: []cli.Operand{{Value: cli.Text("OURS")}, {Value: cli.Text("BASE")},
			{Value: cli.Text("THEIRS")}},
		Flags: []cli.Flag{
			cli.NewFlag("label", cli.Texts("NAME"),
				"the names in conflict markers: ours, base, theirs, in this order").Short("L"),
			cli.Toggle("in-place", "write the result into OURS"),
		},
		Run: runMergeFile,
	}
}

func runMergeFile(c *cli.Call) (cli.Data, error) {
	labels := c.Texts("label")
	if len(labels) > 3 {
		c.Fault("--label", "", "-L is given more than three times")
	}
	if c.On("in-place") && c.Operand(0) == "-" {
		c.Fault("--in-place", "", "--in-place needs a file as OURS, not standard input")
	}
	// Ignore the environment's format: a git merge driver needs text.
	if !c.Has("format") {
		c.Who.Format = "text"
	}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	var texts [3][]byte
	for i := range texts {
		var err error
		if texts[i], err = readFile(c, c.Operand(i)); err != nil {
			return nil, codes.Of(err).WithNext("leslie help merge-file")
		}
		if merge.Binary(texts[i]) {
			return nil, codes.InvalidArgument.New(fact.Of("reason", "cannot merge binary files: "+c.Operand(i)),
				fact.Of("path", c.Operand(i)))
		}
	}
	names := markerNames(&c.Given, labels)
	r := merge.Text(texts[1], texts[0], texts[2])
	markers := merge.Named(names[1], names[0], names[2])
	markers.Length = 7
	d := &mergeFileData{Conflicts: len(r.Conflicts()), Merged: string(r.Render(markers)), inPlace: c.On("in-place")}
	if d.inPlace {
		if err := ReplaceFile(c, c.Operand(0), []byte(d.Merged)); err != nil {
			return nil, err
		}
	}
	if d.Conflicts > 0 {
		return d, codes.MergeConflict.New(fact.Of("count", d.Conflicts), fact.Of("path", c.Operand(0)),
			fact.Of("changed", d.inPlace)).
			WithHint("Edit the file: the conflicts are between markers")
	}
	return d, nil
}

// markerNames returns the names on the markers: the labels, otherwise the operands.
// Git before 2.44 passes its placeholders unexpanded; those are replaced by
// descriptive names.
func markerNames(c *cli.Given, labels []string) []string {
	names := []string{c.Operand(0), c.Operand(1), c.Operand(2)}
	copy(names, labels)
	plain := map[string]string{"%X": "ours", "%S": "base", "%Y": "theirs"}
	for i, name := range names {
		if known := plain[name]; known != "" {
			name = known
		}
		names[i] = strings.Join(strings.Fields(page.Escape(name)), " ")
	}
	return names
}

// ReplaceFile replaces one of the caller's files by rename, durably, so that no reader
// sees half of it. For a link it writes the file that the link leads to. Errors: T505.
func ReplaceFile(c *cli.Call, name string, data []byte) error {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Who.Dir, path)
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
		return codes.WriteFailed.OfPath(name, err)
	}
	if undurable != nil {
		c.Warnings.Add(warnings.NotSettled.New(fact.Of("what", "making "+name+" durable"),
			fact.Of("reason", codes.Reason(undurable))))
	}
	return nil
}
