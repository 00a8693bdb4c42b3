package threads

import (
	"bytes"
	"os"
	"path/filepath"

	"leslie/internal/app"
	"leslie/thread"
)

// This file finds out what keeps a thread's agent to its capabilities.

// hookFiles are the settings of coding agents in a project that may have a hook before
// each tool, and toolHooks are its names there.
func hookFiles() []string {
	return []string{".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".gemini/settings.json", ".qwen/settings.json"}
}

func toolHooks() [][]byte { return [][]byte{[]byte(`"PreToolUse"`), []byte(`"BeforeTool"`)} }

// maxHookFile is how much of such a file is read.
const maxHookFile = 1 << 20

// enforced sets EnforcedBy. Hooks count in the folder where the agent works.
func (r *ContextRelations) enforced(c *app.Call, t thread.Thread) {
	if r.EnforcedBy = "none"; t.LastRun().Going() {
		r.EnforcedBy = "run"
		return
	}
	dir := c.Project().Root()
	if code := contextCode(c, t); code != nil {
		dir = code.Folder
	}
	for _, name := range hookFiles() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxHookFile {
			continue
		}
		content, err := os.ReadFile(path)
		for _, hook := range toolHooks() {
			if err == nil && bytes.Contains(content, hook) {
				r.EnforcedBy, r.Hook = "hook", name
				return
			}
		}
	}
}
