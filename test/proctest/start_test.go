package proctest

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A library that computes tables when the program starts makes every command slower: one
// version of a library took 60 ms. Of several starts the fastest counts, because others use
// the machine.
func TestNoPackageTakesLongToStart(t *testing.T) {
	const starts, told, most = 10, 0.3, 5.0 // milliseconds
	least := map[string]float64{}
	for range starts {
		cmd := exec.Command(binary, "--version")
		cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
		var out bytes.Buffer
		cmd.Stderr = &out
		require.NoError(t, cmd.Run())
		for lines := bufio.NewScanner(&out); lines.Scan(); {
			words := strings.Fields(lines.Text()) // init PACKAGE @1.2 ms, 0.34 ms clock, ...
			if len(words) < 6 || words[0] != "init" {
				continue
			}
			took, err := strconv.ParseFloat(words[4], 64)
			require.NoError(t, err, lines.Text())
			if was, known := least[words[1]]; !known || took < was {
				least[words[1]] = took
			}
		}
	}
	require.NotEmpty(t, least)
	for name, took := range least {
		if took > told {
			t.Logf("%s takes %.2f ms of every start", name, took)
		}
		assert.LessOrEqual(t, took, most, name)
	}
}
