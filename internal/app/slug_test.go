package app

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/thread"
)

func TestAnIDIsMadeOfATitle(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Write the docs":                         "write-docs",
		"Fix: the parser's handling of comments": "fix-parsers-handling",
		"Répare l'écran d'accueil":               "repare-lecran",
		"Add HTTP/2 support (v1.2)":              "add-http-2-support-v1",
		"Internationalizationalities of text":    "internationalizationa",
		"修复 login":                               "login",
		"修复登录":                                   "",
		"Merge the lexers":                       "lexers", // merge-... is a merge
		"Run q c":                                "",
		"merge":                                  "",
		"-- ../etc":                              "etc",
		"a":                                      "",
		"":                                       "",
	} {
		got := Slug(title)
		assert.Equal(t, want, got, title)
		assert.LessOrEqual(t, len(got), maxSlug, title)
		assert.True(t, got == "" || thread.ValidID(got), title)
	}
}
