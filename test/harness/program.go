package harness

import (
	"os/exec"
	"strings"
	"testing"
)

// WriteProgram writes an executable script. Another process writes it: a file that this
// one has open for writing cannot be started, and a process that is just being started by
// another test has it open, too.
func WriteProgram(t testing.TB, path, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `cat >"$1" && chmod 755 "$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("writing %s: %v: %s", path, err, out)
	}
}
