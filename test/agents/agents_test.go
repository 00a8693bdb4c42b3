package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// results are what became of the cases, for a table.
type results struct {
	mu   sync.Mutex
	rows map[string]map[string]string
}

func (s *results) put(agent, of, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[agent] == nil {
		s.rows[agent] = map[string]string{}
	}
	s.rows[agent][of] = text
}

// table is the results as Markdown.
func (s *results) table() string {
	var b strings.Builder
	b.WriteString("\n| agent |")
	line := "|---|"
	for _, c := range cases() {
		b.WriteString(" " + c.name + " |")
		line += "---|"
	}
	b.WriteString("\n" + line + "\n")
	for _, a := range realAgents() {
		if s.rows[a.name] == nil {
			continue
		}
		b.WriteString("| " + a.name + " " + a.pinned() + " |")
		for _, c := range cases() {
			b.WriteString(" " + s.rows[a.name][c.name] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestMain makes the test binary a tap, too.
func TestMain(m *testing.M) {
	if file := os.Getenv(tapVariable); file != "" {
		os.Exit(tap(file, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// TestRealAgentsWorkWithLeslie needs LESLIE_AGENTS, the binary to test. LESLIE_AGENTS_CACHE
// names the folder where the agents are installed, LESLIE_AGENTS_ONLY those to test.
func TestRealAgentsWorkWithLeslie(t *testing.T) {
	leslie, in := prepared(t)
	schema, err := in.schema()
	require.NoError(t, err)
	only := strings.Fields(os.Getenv("LESLIE_AGENTS_ONLY"))
	all := &results{rows: map[string]map[string]string{}}
	t.Run("agents", func(t *testing.T) {
		for _, a := range realAgents() {
			if len(only) > 0 && !slices.Contains(only, a.name) {
				continue
			}
			path, err := in.installed(a)
			require.NoError(t, err)
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				for _, c := range cases() {
					t.Run(c.name, func(t *testing.T) { playCase(t, a, c, leslie, path, schema, all) })
				}
			})
		}
	})
	fmt.Println(all.table())
}

// prepared returns the binary to test, and what installs programs of npm.
func prepared(t *testing.T) (leslie string, in *installer) {
	t.Helper()
	binary := os.Getenv("LESLIE_AGENTS")
	if binary == "" {
		t.Skip("it installs real agents: make agents")
	}
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Fatal("only Linux shows which processes belong to an agent")
	}
	leslie, err := filepath.Abs(binary)
	require.NoError(t, err)
	cache := os.Getenv("LESLIE_AGENTS_CACHE")
	if cache == "" {
		folder, err := os.UserCacheDir()
		require.NoError(t, err)
		cache = filepath.Join(folder, "leslie-agents")
	}
	in, err = newInstaller(cache)
	require.NoError(t, err)
	return leslie, in
}

// playCase plays a case and keeps what became of it.
func playCase(t *testing.T, a realAgent, c oneCase, leslie, path string, schema *schemaFile, all *results) {
	began := time.Now()
	var r *rig
	t.Cleanup(func() {
		text := "**no**"
		switch {
		case t.Skipped():
			text = "-"
		case !t.Failed():
			text = seconds(time.Since(began))
		}
		if r != nil && len(r.notes) > 0 {
			text += " (" + strings.Join(r.notes, ", ") + ")"
		}
		all.put(a.name, c.name, text)
	})
	r = newRig(t, a, leslie, path, c.name == "schema")
	r.schema = schema
	c.play(r)
}
