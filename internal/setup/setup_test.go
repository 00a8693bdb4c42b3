package setup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/docs"
)

// all are the pieces of every target in every scope.
func all() (out []Piece) {
	for _, scope := range []Scope{ProjectScope, UserScope} {
		for _, target := range Targets() {
			out = append(out, Pieces(target, scope)...)
		}
	}
	return out
}

// texts are files that a piece may meet, nil for none.
func texts() []string {
	return []string{
		"", " \n", "{}", "{ }", "{\n}\n", "{\n}", "{ // mine\n}", "{}\n", "\t{\n\t\t\"a\": 1\n\t}\n",
		`{"a":1}`, `{ "a": 1 }`, "{\n  \"a\": 1\n}\n", "{\r\n  \"a\": 1\r\n}\r\n", "{\n  // why\n  \"a\": [1, 2,], // trailing\n}\n",
		`{"hooks":{}}`, `{"hooks":{"SessionStart":[]}}`, `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"date"}]}]}}`,
		"{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}, // mine\n    ],\n    \"Stop\": []\n  },\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
		`{"mcpServers": {}}`, "{\n\t\"mcpServers\": {\n\t\t\"other\": {}\n\t},\n\t\"mcp\": {}\n}",
		"# mine", "# mine\n", "# mine\r\n", "# mine\n\n", "a = 1\n[b]\nc = 2", "[[hooks]]\nevent = \"Stop\"\ncommand = \"date\"\n",
		"[mcp_servers.other]\ncommand = \"x\"\n", "# Be kind\n\nAlways.\n", "*.bin -text\n", "[user]\n\tname = Ann\n", "x\r", "\xff\xfe",
	}
}

// checkLaws puts a piece into a text and takes it out again, and returns whether the text
// could be changed.
func checkLaws(t *testing.T, p Piece, before []byte) bool {
	t.Helper()
	if state, err := p.Look(before); err != nil || state != Missing {
		return false
	}
	with, err := p.Install(before)
	if err != nil {
		broken := &Broken{}
		require.ErrorAs(t, err, &broken)
		return false
	}
	state, err := p.Look(with)
	require.NoError(t, err)
	require.Equal(t, Installed, state, "%s in %q became %q", p.Name, before, with)
	again, err := p.Install(with)
	require.NoError(t, err)
	require.Equal(t, string(with), string(again), "%s a second time", p.Name)
	without, err := p.Remove(with)
	require.NoError(t, err)
	require.Equal(t, string(before), string(without), "%s, which was %q", p.Name, with)
	require.Equal(t, before == nil, without == nil, "%s: whether there is a file, of %q", p.Name, with)
	return true
}

func TestWhatIsPutInComesOutAgainByteByByte(t *testing.T) {
	t.Parallel()
	for _, p := range all() {
		assert.True(t, checkLaws(t, p, nil), "%s: a new file", p.Name)
		fits := 0
		for _, text := range texts() {
			if checkLaws(t, p, []byte(text)) {
				fits++
			}
		}
		if _, own := p.form.(whole); !own {
			assert.Greater(t, fits, 8, "%s in %s fits into too few texts for the test to show anything", p.Name, p.Path)
		}
	}
}

// All pieces of a file together, as setup has them.
func TestPiecesOfOneFileComeOutInTheOtherOrder(t *testing.T) {
	t.Parallel()
	files := map[string][]Piece{}
	for _, p := range all() {
		place := fmt.Sprint(p.Base, p.Path)
		if len(files[place]) == 0 || files[place][len(files[place])-1].Name != p.Name {
			files[place] = append(files[place], p)
		}
	}
	for _, pieces := range files {
		for _, text := range append(texts(), "NONE") {
			before := []byte(text)
			if text == "NONE" {
				before = nil
			}
			with, err := before, error(nil)
			for _, p := range pieces {
				if state, err := p.Look(before); err != nil || state != Missing {
					with = nil
					break
				}
				if with, err = p.Install(with); err != nil {
					break
				}
			}
			if with == nil || err != nil {
				continue
			}
			for i := len(pieces) - 1; i >= 0; i-- {
				with, err = pieces[i].Remove(with)
				require.NoError(t, err)
			}
			assert.Equal(t, string(before), string(with), "%s", pieces[0].Path)
			assert.Equal(t, before == nil, with == nil, "%s", pieces[0].Path)
		}
	}
}

func FuzzPutInAndTakenOut(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	pieces := all()
	f.Fuzz(func(t *testing.T, text []byte) {
		if text == nil {
			text = []byte{}
		}
		for _, p := range pieces {
			if _, own := p.form.(whole); !own {
				checkLaws(t, p, text)
			}
		}
	})
}

// member is a piece of JSON in two versions.
func member(json string, older ...string) Piece {
	return Piece{form: value{path: []string{"servers"}, key: "leslie", json: json, older: older}}
}

func TestAnOlderVersionIsReplacedAndAnEditedOneStays(t *testing.T) {
	t.Parallel()
	now, then := member(`{"v": 2}`, `{"v": 1}`), member(`{"v": 1}`)
	const text = "{\n  \"a\": 1 // mine\n}\n"
	old, err := then.Install([]byte(text))
	require.NoError(t, err)
	state, err := now.Look(old)
	require.NoError(t, err)
	assert.Equal(t, Outdated, state)
	updated, err := now.Install(old)
	require.NoError(t, err)
	assert.Contains(t, string(updated), `"leslie": {"v": 2}`)
	out, err := now.Remove(updated)
	require.NoError(t, err)
	assert.Equal(t, text, string(out))
	out, err = now.Remove(old)
	require.NoError(t, err)
	assert.Equal(t, text, string(out))

	edited := []byte(strings.Replace(string(updated), "2", "3", 1))
	state, err = now.Look(edited)
	require.NoError(t, err)
	assert.Equal(t, Edited, state)
	for _, change := range []func([]byte) ([]byte, error){now.Install, now.Remove} {
		same, err := change(edited)
		require.NoError(t, err)
		assert.Equal(t, string(edited), string(same))
	}
}

func TestABlockAndAWholeFileKnowWhetherSomebodyEditedThem(t *testing.T) {
	t.Parallel()
	forms := func(body string) []form {
		return []form{whole{"it", html(), body}, block{name: "it", comment: hash(), body: body}}
	}
	for i, form := range forms("two\n") {
		now, then := Piece{form: form}, Piece{form: forms("one\n")[i]}
		for _, ends := range []string{"\n", "\r\n"} { // as a checkout may have them
			old, err := then.Install(nil)
			require.NoError(t, err)
			old = []byte(strings.ReplaceAll(string(old), "\n", ends))
			state, err := now.Look(old)
			require.NoError(t, err)
			assert.Equal(t, Outdated, state)
			updated, err := now.Install(old)
			require.NoError(t, err)
			assert.Contains(t, string(updated), "two")
			assert.NotContains(t, string(updated), "one")
			edited := []byte(strings.Replace(string(updated), "two", "three", 1))
			state, err = now.Look(edited)
			require.NoError(t, err)
			assert.Equal(t, Edited, state)
		}
	}
}

// The text was written anew since, by an agent or a formatter.
func TestAValueComesOutOfATextThatWasWrittenAnew(t *testing.T) {
	t.Parallel()
	p := hook("claude", StartEvent, Project, "x", 5)
	element := p.form.(value).json
	for text, want := range map[string]string{
		`{"a":1,"hooks":{"SessionStart":[` + element + `]}}`:                                                             `{"a":1}`,
		"{\n  \"hooks\": {\n    \"SessionStart\": [\n      " + element + "\n    ]\n  }\n}":                               "",
		`{"hooks":{"SessionStart":[{"x":1},` + element + `],"Stop":[]}}`:                                                 `{"hooks":{"SessionStart":[{"x":1}],"Stop":[]}}`,
		"{\"hooks\": {\"SessionStart\": [\n  // mine\n  {\"x\": 1},\n  // theirs\n  " + element + ",\n  {\"y\": 2}\n]}}": "{\"hooks\": {\"SessionStart\": [\n  // mine\n  {\"x\": 1},\n  // theirs\n  {\"y\": 2}\n]}}",
		"{\"hooks\": {\"SessionStart\": [\n  " + element + ", // one, two\n  {\"y\": 2}\n]}, \"z\": 1}":                  "{\"hooks\": {\"SessionStart\": [ // one, two\n  {\"y\": 2}\n]}, \"z\": 1}",
	} {
		out, err := p.Remove([]byte(text))
		require.NoError(t, err, "%s", text)
		if want == "" {
			assert.Empty(t, strings.Trim(string(out), "{} \n"), "%s", out)
			continue
		}
		assert.Equal(t, want, string(out))
	}
}

func TestATextThatCannotBeChangedIsRefused(t *testing.T) {
	t.Parallel()
	json := member(`{"v": 1}`)
	for _, text := range []string{"{", "[]", "1", `{"servers": []}`, `{"servers": 1}`, `{"servers": {"leslie": null}}`, strings.Repeat("[", 20000)} {
		_, err := json.Install([]byte(text))
		broken := &Broken{}
		assert.ErrorAs(t, err, &broken, "%.40s", text)
	}
	kimi := Pieces("kimi", UserScope)
	hooks := kimi[len(kimi)-1]
	for _, text := range []string{"hooks = []\n", "a = \n"} {
		_, err := hooks.Install([]byte(text))
		broken := &Broken{}
		assert.ErrorAs(t, err, &broken, "%s", text)
	}
}

func TestWhatSomebodyHasAlreadyIsNotAddedAgain(t *testing.T) {
	t.Parallel()
	find := func(target, name string) Piece {
		for _, p := range Pieces(target, ProjectScope) {
			if p.Name == name {
				return p
			}
		}
		require.Fail(t, "no "+name)
		return Piece{}
	}
	for _, c := range []struct {
		piece Piece
		text  string
		want  State
	}{
		{find("claude", "instructions"), "See @AGENTS.md.\nand @AGENTS.md too\n", Installed},
		{find("codex", "tools"), "[mcp_servers.leslie]\ncommand = \"/opt/leslie\"\n", Edited},
		{find("git", "merge driver"), "[merge \"leslie\"]\n\tdriver = mine\n", Edited},
		{find("git", "attributes"), "*.md merge=leslie\n", Installed},
		{find("claude", "tools"), `{"mcpServers": {"leslie": {"command": "/opt/leslie", "args": ["mcp"]}}}`, Edited},
		{find("claude", "hook Stop"), `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/leslie hook stop"}]}]}}`, Edited},
	} {
		state, err := c.piece.Look([]byte(c.text))
		require.NoError(t, err)
		assert.Equal(t, c.want, state, "%s", c.text)
		for _, change := range []func([]byte) ([]byte, error){c.piece.Install, c.piece.Remove} {
			same, err := change([]byte(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.text, string(same))
		}
	}
}

func TestTheSkillsNameTopicsThatExist(t *testing.T) {
	t.Parallel()
	topics := map[string]bool{}
	for _, topic := range docs.Topics() {
		topics[topic.Name] = true
	}
	for _, s := range skillTexts() {
		_, rest, ok := strings.Cut(s.text, "`leslie help ")
		require.True(t, ok, "%s names no topic", s.name)
		topic, _, _ := strings.Cut(strings.TrimPrefix(rest, "topics "), "`")
		assert.True(t, topics[topic], "%s names the topic %q", s.name, topic)
		assert.LessOrEqual(t, len(s.about), 1024, "%s: agents cut a longer description", s.name)
		assert.NotContains(t, s.about, ": ", "%s: the description would be no plain text in YAML", s.name)
	}
}
