//go:build unix

package lab

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// listed is what the binary says of its commands.
type listed struct {
	names   []string
	writes  map[string]bool // it has --request-id
	several map[string]bool // it takes several threads
	batched []string        // it can be a line of a batch
}

// list builds the binary and asks it.
func list(t *testing.T) listed {
	t.Helper()
	leslie := filepath.Join(t.TempDir(), "leslie")
	require.NoError(t, harness.Build(leslie))
	names, err := harness.Commands(leslie)
	require.NoError(t, err)
	require.Greater(t, len(names), 40)
	out := listed{names: names, writes: map[string]bool{}, several: map[string]bool{}}
	takes := regexp.MustCompile(`(?m)^Usage: leslie .*\b(ID|SRC)\.\.\.`)
	for _, name := range names {
		help := exec.Command(leslie, append([]string{"help", "--format", "text"}, strings.Fields(name)...)...)
		help.Env = append(os.Environ(), "LESLIE_FORMAT=")
		text, err := help.Output()
		require.NoError(t, err)
		out.writes[name] = strings.Contains(string(text), "--request-id")
		out.several[name] = takes.Match(text)
	}
	batch := exec.Command(leslie, "batch", "-", "--format", "json")
	batch.Stdin = strings.NewReader(`["undo"]`) // refused, with those that are not
	text, _ := batch.Output()
	var refusal struct {
		Error struct {
			Details struct{ Fields []struct{ Allowed []string } }
		}
	}
	require.NoError(t, json.Unmarshal(text, &refusal))
	require.NotEmpty(t, refusal.Error.Details.Fields)
	out.batched = refusal.Error.Details.Fields[0].Allowed
	require.Greater(t, len(out.batched), 20)
	return out
}

// commandOf returns the command in an argument list: one or two words.
func (l listed) commandOf(argv []string) string {
	if two := strings.Join(argv[:min(2, len(argv))], " "); slices.Contains(l.names, two) {
		return two
	}
	return argv[0]
}

// inBatch returns the commands of the lines of a batch.
func (l listed) inBatch(t *testing.T, batch string) (names []string) {
	t.Helper()
	for text := range strings.Lines(batch) {
		var argv []string
		require.NoError(t, json.Unmarshal([]byte(text), &argv))
		names = append(names, l.commandOf(argv))
	}
	return names
}

// fullSnapshot has a record of each kind.
func fullSnapshot() *Snapshot {
	return &Snapshot{
		Objectives: []string{"o-1", "o-2", "o-3", "o-4"}, References: []string{"ref-bbbbbbbb"}, Approvals: []string{"appr-bbbbbbbb"}, Merges: []string{"merge-bbbbbbbb"},
		Questions: []string{"q-bbbbbbbb"}, Comments: []string{"c-bbbbbbbb"},
		Threads: []Thread{{ID: "a", Status: "active"}, {ID: "b", Status: "completed", Checkpoints: []string{"ckpt-bbbbbbbb"}}, {ID: "c", Status: "cancelled"}},
	}
}

func drawer(t *testing.T, s *Snapshot) *Drawer {
	t.Helper()
	dir := t.TempDir()
	return &Drawer{R: rand.New(rand.NewPCG(1, 1)), Name: "w01", Threads: 80, Scratch: dir, Snapshot: func() *Snapshot { return s }, Path: func(name string) string { return filepath.Join(dir, name) }}
}

// noCommand are the entries that are no commands of leslie.
func noCommand(name string) bool {
	return slices.Contains([]string{"a save", "a configuration", "a wrong line"}, name)
}

// Each command is in the table once. One that writes is disturbed at every call of the system,
// and drawn on one machine and on several; one that reads is drawn. What is left out has a reason.
func TestEveryCommandIsTriedOrHasAReason(t *testing.T) {
	t.Parallel()
	l := list(t)
	left := slices.Clone(l.names)
	for _, c := range Commands() {
		if noCommand(c.Name) {
			continue
		}
		assert.Contains(t, left, c.Name, "there is no such command, or it is in the table twice")
		left = slices.DeleteFunc(left, func(name string) bool { return name == c.Name })
		disturbed := len(c.Rows)+len(c.Git) > 0
		tried := c.Draw != nil && c.Only == "" && (disturbed || c.Reads)
		assert.True(t, tried != (c.Why != ""), "%s needs rows and a function that draws it, or a reason why not (%q)", c.Name, c.Why)
		assert.True(t, c.Draw == nil || l.writes[c.Name] == (!c.Reads && !c.NoRequest), "%s writes with a request id: %v", c.Name, l.writes[c.Name])
		for _, r := range c.Rows {
			assert.Equal(t, c.Name, l.commandOf(strings.Fields(r.Argv)), "row %s", r.Name)
		}
		for _, r := range c.Git {
			assert.Equal(t, c.Name, l.commandOf(strings.Fields(r.Argv)), "row %s", r.Name)
		}
	}
	assert.Empty(t, left, "these are not in the table")
	l.checkSeveral(t)
	l.checkBatches(t)
}

// checkSeveral: each command that takes several threads has a row with several, and is drawn with
// several.
func (l listed) checkSeveral(t *testing.T) {
	t.Helper()
	require.True(t, l.several["done"])
	ids := regexp.MustCompile(`^[a-z]+( [a-z]+)? child other\b`)
	d := drawer(t, fullSnapshot())
	for _, c := range Commands() {
		if !l.several[c.Name] {
			continue
		}
		row := slices.ContainsFunc(c.Rows, func(r Row) bool { return ids.MatchString(r.Argv) })
		assert.True(t, row || len(c.Rows) == 0, "%s has no row with several threads", c.Name)
		drawn := c.Draw == nil || c.Name == "merge" // merge has --sources A,B
		for range 200 {
			if drawn {
				break
			}
			line, ok := c.Draw(d)
			named := slices.DeleteFunc(slices.Clone(line.Argv), func(word string) bool { return !slices.Contains([]string{"a", "b", "c"}, word) })
			drawn = ok && len(named) > 1
		}
		assert.True(t, drawn, "%s is never drawn with several threads", c.Name)
	}
}

// checkBatches: each command that can be a line of a batch is one in a row, and is drawn as one.
func (l listed) checkBatches(t *testing.T) {
	t.Helper()
	d := drawer(t, fullSnapshot())
	inRow, drawn := map[string]bool{}, map[string]bool{}
	for _, text := range []string{plan, lifecyclePlan, decidingPlan} {
		for _, name := range l.inBatch(t, text) {
			inRow[name] = true
		}
	}
	for range 3000 {
		line, ok := d.batch()
		for _, name := range l.inBatch(t, line.Stdin) {
			drawn[name] = drawn[name] || ok
		}
	}
	for _, name := range l.batched {
		assert.True(t, inRow[name], "%s is in no batch of a row", name)
		assert.True(t, drawn[name], "%s is never drawn in a batch", name)
		delete(drawn, name)
	}
	assert.Empty(t, drawn, "these cannot be in a batch")
}

func TestEveryCommandDrawsALineOfItself(t *testing.T) {
	t.Parallel()
	full := fullSnapshot()
	for _, s := range []*Snapshot{full, {}} {
		d := drawer(t, s)
		for _, c := range Commands() {
			if c.Draw == nil {
				continue
			}
			drawn := 0
			for range 40 {
				l, ok := c.Draw(d)
				if !ok {
					continue
				}
				drawn++
				if l.Command == "" && !noCommand(c.Name) {
					assert.Equal(t, c.Name, strings.Join(l.Argv[:strings.Count(c.Name, " ")+1], " "))
				}
			}
			if s == full && c.Name != "a save" && c.Name != "a configuration" {
				assert.Positive(t, drawn, "%s draws nothing", c.Name)
			}
			assert.Positive(t, c.Weight, "%s", c.Name)
		}
	}
}

func TestRowNamesAreUniqueAndValidFolderNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	check := func(name string) {
		assert.Regexp(t, `^[a-z]+(-[a-z]+)*$`, name)
		assert.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
	}
	for _, r := range Rows() {
		check(r.Name)
	}
	for _, r := range GitRows() {
		check(r.Name)
	}
}

func TestASnapshotHasNoThreadsOfScenarios(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), StateFile)
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o644)) }
	write(`{"threads":{"a":{"status":"active","checkpoints":[{"checkpointId":"ckpt-1"}]},"group-1-0":{},"rollback-00-1":{},"branch-00-1-1":{},"undo-00-1":{}},
		"objectives":{"scenarios":{},"goal":{}},"merges":{"merge-1":{"target":"group-1-0"},"merge-2":{"target":"a"}},
		"approvals":{"appr-1":{"status":"open"},"appr-2":{"status":"denied"}}}`)
	sight := Sight{Name: name, Fresh: time.Hour}
	s := sight.Now()
	assert.Equal(t, []Thread{{ID: "a", Status: "active", Checkpoints: []string{"ckpt-1"}}}, s.Threads)
	assert.Equal(t, []string{"goal"}, s.Objectives)
	assert.Equal(t, []string{"merge-2"}, s.Merges)
	assert.Equal(t, []string{"appr-1"}, s.Open)
	write(`{"threads":`)
	_, err := ReadState(name)
	require.Error(t, err)
	sight.Fresh = 0
	assert.Same(t, s, sight.Now(), "what cannot be read changes nothing")
}
