package importing

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPatternOfWordsIsARule(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`\bgit\s+push\b`: "Bash(git push:*)", `\bmkfs\b`: "Bash(mkfs:*)", `^make test$`: "Bash(make test)", `^npm run`: "Bash(npm run:*)", `\./deploy\.sh`: "Bash(./deploy.sh:*)",
		`\bdd\b\s+.*\bof=/dev/`: "", `rm -(rf|fr)`: "", `push$`: "", `--force`: "", ``: "", `a.b`: "", `[a-z]`: "", `sudo?`: "", `a\d`: "", `x;y`: "",
	} {
		assert.Equal(t, want, ruleOf(pattern), pattern)
	}
}

func TestThePermissionsOfTheNodeEdition(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", PermissionsFile))
	require.NoError(t, err)
	p, notes, err := ReadPermissions(PermissionsFile, data)
	require.NoError(t, err)
	assert.Equal(t, &Permissions{Ask: []string{"Bash(git push:*)"}, Deny: []string{"Bash(mkfs:*)"}}, p)
	require.Len(t, notes, 2)
	assert.Contains(t, notes[0].What, "default allow")
	assert.Contains(t, notes[1].What, `of=/dev/`)
	for _, bad := range []string{`[]`, `{"default": 1}`, `{"bash": []}`, `{"bash": {"deny": "x"}}`, `{"default": "ask", "default": "deny"}`, "{\"default\": \"\xff\"}", `{`} {
		_, _, err := ReadPermissions("x", []byte(bad))
		assert.Error(t, err, bad)
	}
	p, notes, err = ReadPermissions("x", []byte(`{"default": "deny", "bash": {"allow": ["^ls$"], "more": []}, "edit": {}}`))
	require.NoError(t, err)
	assert.Equal(t, &Permissions{Default: "deny", Allow: []string{"Bash(ls)"}}, p)
	assert.Len(t, notes, 2)
}
