package proctest

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

const (
	state  = "thread_relations.json"
	backup = state + ".bak"
)

// worked returns a project with operations of every kind.
func worked(t *testing.T) (*project, map[string]string) {
	t.Helper()
	p := newProject(t)
	p.ok("spawn", "--id", "one", "--intent", "First")
	p.write("one", map[string]string{"plan.md": "a plan\n"})
	p.ok("spawn", "--id", "two", "--intent", "Second", "--parent", "one", "--inherit", "full")
	p.ok("spawn", "--id", "three", "--intent", "Third", "--ref", "one", "--depends-on", "two")
	p.ok("done", "two")
	p.ok("archive", "two")
	p.ok("suspend", "one")
	return p, p.threads()
}

// truncate halves a file, as a full disk or an editor might.
func (p *project) truncate(name string) (left []byte) {
	p.t.Helper()
	left = p.read(name)
	left = left[:len(left)/2]
	require.NoError(p.t, os.WriteFile(p.path(name), left, 0o644))
	return left
}

// aside returns the contents of the files that leslie moved aside.
func (p *project) aside() (contents []string) {
	p.t.Helper()
	names, err := filepath.Glob(p.path("*.set-aside-*"))
	require.NoError(p.t, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(p.t, err)
		contents = append(contents, string(data))
	}
	return contents
}

func TestReadersTolerateADamagedStateAndTheNextWriteRepairsIt(t *testing.T) {
	t.Parallel()
	p, threads := worked(t)
	left := p.truncate(state)
	good := p.read(backup)

	a := p.ok("list", "--all", "--limit", "0")
	assert.True(t, a.warned("W502"), "a reader is told: %v", a.Warnings)
	assert.Equal(t, threads, statuses(t, a), "nothing is lost")
	assert.Equal(t, left, p.read(state), "a reader leaves the file alone")
	assert.Empty(t, p.aside())

	a = p.ok("spawn", "--id", "four", "--intent", "Go on")
	assert.True(t, a.warned("W502"), "the writer is told: %v", a.Warnings)
	assert.Equal(t, []string{string(left)}, p.aside(), "what was damaged is kept")
	assert.Equal(t, good, p.read(backup), "the good backup is left alone")
	threads["four"] = "active"
	assert.Equal(t, threads, p.threads())
	p.requireHealthy()
}

func TestADeletedStateIsRecovered(t *testing.T) {
	t.Parallel()
	p, threads := worked(t)
	require.NoError(t, os.Remove(p.path(state)))
	a := p.ok("list", "--all", "--limit", "0")
	assert.True(t, a.warned("W502"))
	assert.Equal(t, threads, statuses(t, a))
	assert.NoFileExists(t, p.path(state))
	p.ok("resume", "one")
	threads["one"] = "active"
	assert.Equal(t, threads, p.threads())
	p.requireHealthy()
}

func TestADamagedStateAndBackupAreRebuiltByDoctor(t *testing.T) {
	t.Parallel()
	p, threads := worked(t)
	main, second := p.truncate(state), p.truncate(backup)
	was := p.files(".")

	a := p.fails("T502", 15, "list")
	for _, key := range []string{"options", "main", "backup", "journal"} {
		assert.Contains(t, a.Error.Details, key)
	}
	assert.Contains(t, a.Error.Next, "leslie doctor")
	p.fails("T502", 15, "spawn", "--intent", "Cannot")
	p.fails("T502", 15, "done", "one")
	checked, err := p.try("doctor") // scripts test its exit status
	require.NoError(t, err)
	var data struct {
		Healthy  bool `json:"healthy"`
		Findings []struct {
			Path       string `json:"path"`
			Repairable bool   `json:"repairable"`
		} `json:"findings"`
	}
	checked.into(t, &data)
	assert.False(t, data.Healthy)
	named := map[string]bool{}
	for _, f := range data.Findings {
		named[f.Path] = f.Repairable
	}
	assert.True(t, named[".leslie/"+state], "doctor says that the state can be mended: %v", data.Findings)
	now := p.files(".")
	maps.DeleteFunc(was, isLog)
	maps.DeleteFunc(now, isLog)
	require.Empty(t, harness.Differing(was, now), "a failed call leaves everything as it was")

	a = p.ok("doctor", "--repair")
	a.into(t, &data)
	assert.True(t, data.Healthy)
	assert.ElementsMatch(t, []string{string(main), string(second)}, p.aside(), "what was damaged is kept")
	assert.Equal(t, threads, p.threads(), "all threads are back")
	p.ok("resume", "one")
	p.requireHealthy()
}

func isLog(name, _ string) bool { return filepath.Dir(name) == "logs" }
