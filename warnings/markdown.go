package warnings

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the table as Markdown for docs/reference/codes.md: an overview under
// a second-level heading, then a section for each code under a third-level one.
// The output depends only on the table. It returns only errors of w.
func WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("## Warnings\n\n")
	fmt.Fprintf(&b, "A warning lists at most %d `paths`; if there are more, it also has `total` and `truncated`.\n\n", MaxPaths)
	b.WriteString("| code | kind | message | context |\n|---|---|---|---|\n")
	for _, e := range table {
		fmt.Fprintf(&b, "| [%s](#%s) | `%s` | %s | %s |\n",
			e.Code, strings.ToLower(string(e.Code)), e.Kind, cell(e.Template), e.keys())
	}
	for _, e := range table {
		fmt.Fprintf(&b, "\n### %s\n\n%s: `%s`.\n\n> %s\n", e.Code, e.Title, e.Kind, e.Template)
		fmt.Fprintf(&b, "\nWhat it means: %s\n\nWhat to do: %s.\n\nContext: %s\n", e.Explanation, e.Hint, e.keys())
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (e Entry) keys() string { return "`" + strings.Join(e.Context, "`, `") + "`" }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
