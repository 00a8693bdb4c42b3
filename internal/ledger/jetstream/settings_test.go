package jetstream_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
)

func TestSettingsThatLoseLinesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string // in the configuration
		what     string
		found    string
		lines    string
	}{
		"sync interval":  {"  sync_interval: always\n", "", "sync_interval", "2m0s", "sync_interval: always"},
		"not imported":   {`{ service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } }`, "", "settings", "unreadable", "imports:"},
		"small messages": {"server_name:", "max_payload: 500KB\nserver_name:", "max_payload", "512000", "max_payload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, func(config string) string {
				require.Contains(t, config, c.old)
				return strings.Replace(config, c.old, c.new, 1)
			})
			s := n.setup(t, "p")
			report, err := s.Engine.Check(ledgertest.Soon(t), s.Admin)
			require.NoError(t, err)
			assert.False(t, report.Fine())
			found := map[string]ledger.Setting{}
			for _, setting := range report.Settings {
				found[setting.What] = setting
			}
			assert.False(t, found[c.what].Fine)
			assert.Contains(t, found[c.what].Found, c.found)
			assert.Contains(t, found[c.what].Lines, c.lines)
			var refused *ledger.SettingsError
			require.ErrorAs(t, s.Engine.Create(ledgertest.Soon(t), s.Admin), &refused)
			_, err = ledgertest.Opened(t, s, s.Writer).Head(ledgertest.Soon(t))
			require.ErrorIs(t, err, ledger.ErrMissing, "nothing was made")
		})
	}
}

func TestSettingsAreForAdministrators(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "p")
	for _, at := range []ledger.Address{s.Reader, s.Writer} {
		_, err := s.Engine.Check(ledgertest.Soon(t), at)
		require.ErrorIs(t, err, ledger.ErrDenied)
		require.NotErrorAs(t, err, new(*ledger.LoginError))
	}
}

func TestAStreamOfTheSameNameMustKeepWhatALogKeeps(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "p")
	admin(t, n, "STREAM.CREATE.LESLIE_p", map[string]any{"name": "LESLIE_p", "subjects": []string{"leslie.p.op"}, "storage": "file", "retention": "limits", "max_age": int64(3600e9)})
	require.ErrorContains(t, s.Engine.Create(ledgertest.Soon(t), s.Admin), "what it keeps")
}

func TestCredentialsInEachForm(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	n := startNode(t, func(config string) string {
		return strings.Replace(config, "    users: [\n", "    users: [\n      { nkey: "+public+" }\n", 1)
	})
	admins := n.setup(t, "p")
	require.NoError(t, admins.Engine.Create(ledgertest.Soon(t), admins.Admin))
	for name, content := range map[string]string{
		"line": "writer:wpw\n", "object": ` {"user": "writer", "password": "wpw"}`, "nkey": string(seed) + "\n",
	} {
		s := admins
		s.Writer.Credentials = secret(t, content)
		_, err := ledgertest.Opened(t, s, s.Writer).Head(ledgertest.Soon(t))
		require.NoError(t, err, name)
	}
}

func TestCredentialsThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	open := func(path string) error {
		_, err := jetstream.Engine{}.Open(ledger.Address{URLs: []string{"host"}, Project: "p", Credentials: path})
		return err
	}
	for _, content := range []string{
		"", "hidden", "SUHIDDEN", `{"user":"hidden"`, `{}`, `{"user":"hidden","token":"hidden"}`, "hidden:a\nhidden:b", ":hidden",
		"-----BEGIN NATS USER JWT-----\nhidden",
	} {
		err := open(secret(t, content))
		require.Error(t, err, "%q", content)
		assert.NotContains(t, strings.ToLower(err.Error()), "hidden", "the error tells the secret")
	}
	require.Error(t, open(filepath.Join(t.TempDir(), "none")))
	path := secret(t, "writer:wpw")
	require.NoError(t, open(path))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(path, 0o640))
		assert.ErrorContains(t, open(path), "chmod 600")
	}
}
