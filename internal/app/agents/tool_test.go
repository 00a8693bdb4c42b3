package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/permit"
)

func TestWhatAnAgentWantsToDoIsReadFromItsRequest(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(names ...string) (out []permit.Path) {
		for _, name := range names {
			out = append(out, permit.Path{Named: name, Real: name})
		}
		return out
	}
	for request, want := range map[string]permit.Call{
		`{"kind":"execute","title":"git log","rawInput":{"command":"git status","description":"x"}}`:                                                          {Tool: permit.Bash, Command: "git status"},
		`{"kind":"execute","title":"git log","rawInput":{"command":["bash","-lc","git status | cat"],"cwd":"/"}}`:                                             {Tool: permit.Bash, Command: "git status | cat"},
		`{"kind":"execute","title":"x","rawInput":{"command":["git","commit","-m","it's; done"]}}`:                                                            {Tool: permit.Bash, Command: `'git' 'commit' '-m' 'it'\''s; done'`},
		`{"kind":"execute","title":"npm test"}`:                                                                                                               {Tool: permit.Bash, Command: "npm test"},
		`{"kind":"execute","title":"Shell","content":[{"type":"content","content":{"type":"text","text":"Requesting approval to Running: make all"}}]}`:       {Tool: permit.Bash, Command: "make all"},
		`{"kind":"execute","title":"make a very lo…"}`:                                                                                                        {Tool: permit.Bash, Command: "make a very lo…", Cut: true},
		`{"kind":"execute","title":"Bash","content":[{"type":"content","content":{"type":"text","text":"Requesting approval to Running: make a..."}}]}`:       {Tool: permit.Bash, Command: "make a...", Cut: true},
		`{"kind":"execute","rawInput":{"command":"go test ./..."}}`:                                                                                           {Tool: permit.Bash, Command: "go test ./..."},
		`{"kind":"edit","title":"Write","locations":[{"path":"a.go"}],"content":[{"type":"diff","path":"` + dir + `/a.go"},{"type":"diff","path":"/etc/x"}]}`: {Tool: permit.Edit, Paths: at(dir+"/a.go", "/etc/x")},
		`{"kind":"edit","rawInput":{"file_path":"b/../a.go"}}`:                                                                                                {Tool: permit.Edit, Paths: at(dir + "/a.go")},
		`{"kind":"delete","rawInput":{"filePath":"/x/y"}}`:                                                                                                    {Tool: permit.Edit, Paths: at("/x/y")},
		`{"kind":"read","rawInput":{"absolute_path":"/x/y"}}`:                                                                                                 {Tool: permit.Read, Paths: at("/x/y")},
		`{"kind":"search","rawInput":{"pattern":"x","path":"/x"}}`:                                                                                            {Tool: permit.Read, Paths: at("/x")},
		`{"kind":"fetch","title":"https://example.org"}`:                                                                                                      {Tool: permit.WebFetch},
		`{"kind":"switch_mode","title":"Ready to code?"}`:                                                                                                     {Tool: permit.SwitchMode},
		`{"kind":"other","title":"x","_meta":{"claudeCode":{"toolName":"mcp__github__create_issue"}}}`:                                                        {Tool: "mcp__github__create_issue"},
		`{"kind":"other","title":"{}","_meta":{"toolName":"mcp__leslie__done","provenance":"mcp"}}`:                                                           {Tool: "mcp__leslie__done"},
		`{"kind":"other","title":"done (leslie MCP Server)"}`:                                                                                                 {Tool: "mcp__leslie__done"},
		`{"kind":"other","title":" (leslie MCP Server)"}`:                                                                                                     {Tool: permit.Other},
		`{"kind":"other","title":"Say done (leslie MCP Server)"}`:                                                                                             {Tool: permit.Other},
		`{"kind":"execute","title":"done (leslie MCP Server)"}`:                                                                                               {Tool: permit.Bash, Command: "done (leslie MCP Server)"},
		`{"kind":"other","title":"mcp__a__b"}`:                                                                                                                {Tool: "mcp__a__b"},
		`{"kind":"execute","title":"mcp__a b","rawInput":{"command":"ls"}}`:                                                                                   {Tool: permit.Bash, Command: "ls"},
		`{"kind":"think","title":"x"}`:                                                                                                                        {Tool: permit.Other},
		`{"rawInput":7}`:                                                                                                                                      {Tool: permit.Other},
	} {
		var call acp.ToolCall
		require.NoError(t, json.Unmarshal([]byte(request), &call), request)
		want.Dir = dir
		assert.Equal(t, want, toolOf(call, dir), request)
	}
}

func TestALinkToWhatDoesNotExistLeadsThere(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, to := range map[string]string{"abs": "/nowhere/x", "rel": "../y", "loop": "loop", "chain": "abs"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	for name, want := range map[string]string{
		"abs": "/nowhere/x", "abs/deeper": "/nowhere/x/deeper", "rel": filepath.Join(filepath.Dir(dir), "y"), "chain": "/nowhere/x",
		"new/file": filepath.Join(dir, "new/file"), "new/../x": filepath.Join(dir, "x"),
	} {
		assert.Equal(t, want, app.ResolveLinks(filepath.Join(dir, name)), name)
	}
	assert.NotEmpty(t, app.ResolveLinks(filepath.Join(dir, "loop")))
}

func TestOnlyTheSameCallIsTheSame(t *testing.T) {
	t.Parallel()
	one := permit.Call{Tool: permit.Bash, Command: "make", Dir: "/a"}
	same := CallRecord(one, []byte(`{"command":"make"}`)).Digest
	assert.Equal(t, same, CallRecord(one, []byte(`{"command":"make","description":"x"}`)).Digest, "what is shown of it differs")
	other := []permit.Call{
		{Tool: permit.Bash, Command: "make x", Dir: "/a"}, {Tool: permit.Bash, Command: "make", Dir: "/b"},
		{Tool: permit.Other, Dir: "/a"}, {Tool: permit.Edit, Dir: "/a", Paths: []permit.Path{{Real: "make"}}},
	}
	for _, c := range other {
		assert.NotEqual(t, same, CallRecord(c, nil).Digest, "%v", c)
	}
	cut := permit.Call{Tool: permit.Bash, Command: "make…", Cut: true, Dir: "/a"}
	assert.NotEqual(t, CallRecord(cut, []byte("1")).Digest, CallRecord(cut, []byte("2")).Digest, "nobody knows whether they are the same")
	tool := permit.Call{Tool: "mcp__a__b", Dir: "/a"}
	assert.NotEqual(t, CallRecord(tool, []byte(`{"x":1}`)).Digest, CallRecord(tool, []byte(`{"x":2}`)).Digest)
}
