package codes

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
	b.WriteString("## Errors\n\n")
	b.WriteString("| code | kind | message | exit status | recoverable | retryable | counted |\n|---|---|---|---|---|---|---|\n")
	for _, e := range table {
		fmt.Fprintf(&b, "| [%s](#%s) | `%s` | %s | %d | %s | %s | %s |\n",
			e.Code, strings.ToLower(string(e.Code)), e.Kind, cell(e.Shown().Template),
			e.Code.ExitStatus(), yes(e.Recoverable), yes(e.Retryable), yes(!e.Expected))
	}
	for _, e := range table {
		e.writeSection(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (e Entry) writeSection(b *bytes.Buffer) {
	e = e.Shown()
	fmt.Fprintf(b, "\n### %s\n\n%s: `%s`, exit status %d.\n", e.Code, e.Title, e.Kind, e.Code.ExitStatus())
	fmt.Fprintf(b, "\n> %s\n", e.Message(nil))
	b.WriteString("\nCauses:\n\n")
	for _, cause := range e.Causes {
		fmt.Fprintf(b, "- %s\n", cause)
	}
	fmt.Fprintf(b, "\nWhat to do: %s.\n", e.Hint)
	fmt.Fprintf(b, "\nNext: %s\n", e.nextText())
	if e.Retryable {
		fmt.Fprintf(b, "\nRetry after: `retryAfterMs` in the details, %d unless the call knows better.\n", e.RetryAfterMs)
	}
	if keys := e.Details(); len(keys) > 0 {
		fmt.Fprintf(b, "\nDetails: `%s`\n", strings.Join(keys, "`, `"))
	}
	fmt.Fprintf(b, "\nExample: `%s`\n", e.Example)
}

func (e Entry) nextText() string {
	switch {
	case e.Next != "":
		return "`" + e.Next + "`"
	case e.NoNext != "":
		return "none. " + e.NoNext
	}
	return "depends on the call."
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
