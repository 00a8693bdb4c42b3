package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/cmd/leslie/internal/page"
	"leslie/docs"
	"leslie/internal/screen"
)

// At a terminal a document fits the screen, but for what a person copies, has no Markdown that only a
// browser understands, and all of its words.
func TestDocumentsAreDrawnWhole(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`[\pL\pN]+`)
	address := regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|<!--[^>]*-->|(?m)^` + "```" + `.*$`)
	for _, topic := range docs.Topics() {
		text, _ := docs.Text(topic.Name)
		drawn := func(width int) string {
			p := &page.Page{Width: width}
			(&helpData{Help: text, document: true}).Text(p)
			return p.String()
		}
		for _, width := range []int{60, 80, 200} {
			out := drawn(width)
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				assert.True(t, strings.Contains(line, "    ") || screen.Width(line) <= min(width, documentWidth), "%s at %d: %q", topic.Name, width, line)
				assert.Equal(t, strings.TrimRight(line, " "), line, topic.Name)
			}
			assert.NotContains(t, out, "\n\n\n\n", topic.Name)
			assert.NotRegexp(t, `\]\([a-zA-Z./]+\.(md|png|go)|^`+"```", out, topic.Name)
		}
		has := map[string]int{}
		for _, w := range word.FindAllString(strings.Join(screen.Markdown(text, 1<<20, false, referred), "\n"), -1) {
			has[w]++
		}
		for _, w := range word.FindAllString(address.ReplaceAllString(text, " "), -1) {
			has[w]--
			assert.GreaterOrEqual(t, has[w], 0, "%s lacks %q", topic.Name, w)
		}
	}
}
