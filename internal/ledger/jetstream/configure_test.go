package jetstream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/jetstream"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/harness"
)

// configured writes the files of a setup to a folder.
func configured(t *testing.T, s ledger.ServerSetup) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s.Store = filepath.ToSlash(filepath.Join(dir, "data"))
	files, err := jetstream.Engine{}.Configure(s)
	require.NoError(t, err)
	for _, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600))
	}
	return dir
}

func TestAServerThatIsConfiguredKeepsTheContract(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.0.0.1:%d", harness.FreePort())
	dir := configured(t, ledger.ServerSetup{Servers: []ledger.Server{{Name: "hub", Address: address}}})
	n := &node{config: filepath.Join(dir, "hub.conf"), folder: dir}
	n.start(t)
	t.Cleanup(n.stop)
	p := projects{}
	at := func(role, project string) ledger.Address {
		return ledger.Address{URLs: []string{"nats://" + address}, Project: project, Name: "test", Credentials: filepath.Join(dir, role+".creds")}
	}
	ledgertest.Contract(t, func(*testing.T) ledgertest.Setup {
		project := p.next()
		return ledgertest.Setup{Engine: jetstream.Engine{}, Admin: at("admin", project), Writer: at("writer", project), Reader: at("reader", project)}
	})
}

func TestConfiguredServersOfThreeKnowEachOther(t *testing.T) {
	t.Parallel()
	dir := configured(t, ledger.ServerSetup{
		Servers:     []ledger.Server{{Name: "n1", Address: "10.0.0.1:4222"}, {Name: "n2", Address: "10.0.0.2:4222"}, {Name: "n3", Address: "10.0.0.3:4223"}},
		Certificate: "/etc/leslie/cert.pem", Key: "/etc/leslie/key.pem", Trusted: []byte("whom to trust\n"),
	})
	for _, role := range []string{"admin", "writer", "reader"} {
		text, err := os.ReadFile(filepath.Join(dir, role+".creds"))
		require.NoError(t, err)
		assert.Regexp(t, `^SU\w+\nwhom to trust\n$`, string(text))
	}
	for i, port := range []int{4222, 4222, 4223} {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("n%d.conf", i+1)))
		require.NoError(t, err)
		assert.NotContains(t, string(text), "$NATS_")
		assert.NotContains(t, string(text), "PASSWORD")
		assert.Contains(t, string(text), `cert_file: "/etc/leslie/cert.pem"`)
		plain := strings.NewReplacer("cert_file:", "#", "key_file:", "#", "tls {", "authorization {").Replace(string(text)) // there is no such file
		file := filepath.Join(t.TempDir(), "plain.conf")
		require.NoError(t, os.WriteFile(file, []byte(plain), 0o600))
		options, err := server.ProcessConfigFile(file)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("n%d", i+1), options.ServerName)
		assert.Equal(t, "0.0.0.0", options.Host)
		assert.Equal(t, port, options.Port)
		assert.Equal(t, port+2000, options.Cluster.Port)
		var routes []string
		for _, r := range options.Routes {
			routes = append(routes, r.Host)
		}
		assert.Equal(t, []string{"10.0.0.1:6222", "10.0.0.2:6222", "10.0.0.3:6223"}, routes)
		assert.True(t, options.SyncAlways)
		assert.Equal(t, fmt.Sprintf("n%d", i+1), filepath.Base(options.StoreDir))
	}
}

func TestServersThatCannotBeAreNotConfigured(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string][]ledger.Server{
		"no port":   {{Name: "hub", Address: "10.0.0.1"}},
		"high port": {{Name: "hub", Address: "10.0.0.1:65000"}},
		"no name":   {{Name: "a/b", Address: "10.0.0.1:4222"}},
		"twice":     {{Name: "a", Address: "10.0.0.1:4222"}, {Name: "a", Address: "10.0.0.2:4222"}, {Name: "c", Address: "10.0.0.3:4222"}},
		"two":       {{Name: "a", Address: "10.0.0.1:4222"}, {Name: "b", Address: "10.0.0.2:4222"}},
	} {
		_, err := jetstream.Engine{}.Configure(ledger.ServerSetup{Servers: servers})
		assert.Error(t, err, name)
	}
}
