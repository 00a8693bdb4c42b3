package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/internal/screen"
)

func TestAnAnswerMeansAWordALetterOrWhatOnlyOneWordBegins(t *testing.T) {
	t.Parallel()
	m := Menu{Choices: []screen.Choice{
		{Word: "ours", Key: "o"}, {Word: "base", Key: "a"}, {Word: "both", Key: "h"}, {Word: "back", Key: "k"},
		{Word: "thread-abc1", Key: "1", ID: true}, {Word: "thread-abd2", Key: "2", ID: true}, {Word: "agents", Key: "3", ID: true},
	}, Also: map[string]string{"main": "ours", "q": "back"}}
	for answer, want := range map[string][]string{
		"ours": {"ours"}, "o": {"ours"}, "ou": {"ours"}, "a": {"base"}, "h": {"both"},
		"b": {"base", "both", "back"}, "ba": {"base", "back"}, "bo": {"both"}, "q": {"back"},
		"1": {"thread-abc1"}, "thread-abc1": {"thread-abc1"}, "thread-abc": {"thread-abc1"}, "thread-ab": nil, "th": nil, "t": nil,
		"main": {"ours"}, "mai": {"ours"}, "ma": nil, "ag": nil, "age": {"agents"}, "agents": {"agents"}, "": nil, "x": nil,
	} {
		assert.Equal(t, want, m.Meant(answer), "%q", answer)
	}
}
