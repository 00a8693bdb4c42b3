//go:build unix

package proctest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A decision counts up to the commit: an agent has seen the approval and waits for the
// lock to apply its merge; there it is stopped while a person revokes the approval.
func TestAnApprovalRevokedBeforeTheCommitDoesNotCount(t *testing.T) {
	t.Parallel()
	p := withMain(t)
	p.ok("spawn", "--intent", "Part", "--id", "part")
	p.write("part", map[string]string{"plan.md": "plan\n"})
	a, err := p.try("merge", "--sources", "part", "--target", "main", "--require-approval", "--as", "agent")
	require.NoError(t, err)
	require.Equal(t, "T402", a.Error.Code)
	id, _ := a.Error.Details["mergeId"].(string)
	approval, _ := a.Error.Details["approvalId"].(string)
	p.ok("approve", approval)

	release := p.hold()
	agent := p.startWaiting("merge", "continue", id, "--as", "agent")
	agent.stop(t)
	release()
	p.ok("revoke", approval)
	agent.goOn(t)
	got, err := agent.end()
	require.NoError(t, err)
	requireFailure(t, got, "T402", 14)
	assert.Empty(t, p.artifacts("main"))
	assert.Equal(t, "withdrawn", p.grants()[0].Status)
	p.requireHealthy()
}
