//go:build unix

package harness

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func sh(text string) Call {
	return Call{Program: "/bin/sh", Argv: []string{"-c", text}, Env: Environment("/nowhere", os.TempDir()), Limit: time.Minute}
}

func TestACallTellsHowItsProcessEnded(t *testing.T) {
	t.Parallel()
	o := sh(`echo '{"success":false,"revision":3,"error":{"code":"T101","details":{"changed":true}}}'; echo "$HOME" >&2; exit 11`).Run()
	assert.NoError(t, o.Err)
	assert.Equal(t, 11, o.Status)
	assert.False(t, o.Killed || o.OK())
	assert.True(t, o.Changed())
	assert.Equal(t, "T101", o.Code())
	assert.Equal(t, int64(3), o.Revision())
	assert.Equal(t, "/nowhere\n", string(o.Stderr))

	c := sh(`read -r line; echo "{\"success\":true,\"data\":{\"changed\":true,\"line\":\"$line\"}}"`)
	c.Stdin = "two words\n"
	o = c.Run()
	var data struct{ Line string }
	o.Into(&data)
	assert.Equal(t, "two words", data.Line)
	assert.True(t, o.OK() && o.Changed())

	o = Call{Program: "/nowhere/leslie", Limit: time.Minute}.Run()
	assert.Error(t, o.Err)
	assert.Equal(t, -1, o.Status)
	assert.False(t, o.OK() || o.Changed())
}

func TestACallMayBeKilled(t *testing.T) {
	t.Parallel()
	c := sh("while :; do :; done")
	c.Started = func(process *os.Process, _ <-chan struct{}) { _ = process.Signal(syscall.SIGKILL) }
	o := c.Run()
	assert.NoError(t, o.Err)
	assert.True(t, o.Killed)
	assert.Equal(t, -1, o.Status)

	c = sh("while :; do :; done")
	c.Limit = 10 * time.Millisecond
	o = c.Run()
	assert.ErrorContains(t, o.Err, "longer than 10ms")
	assert.Contains(t, o.Text(), "longer than 10ms")
}
