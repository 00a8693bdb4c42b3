//go:build !windows

package proctest

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/cluster"
	"leslie/test/harness"
)

// machine is one of several, with a home and folders that the others do not see, where mount
// namespaces can be made (Linux, root). There each is a user of its own, too.
type machine struct {
	t      *testing.T
	name   string
	root   string // all that it has
	dir    string // the project
	others []string
	user   int // 0: the test's own
}

func newMachines(t *testing.T, places ...string) (all []*machine) {
	t.Helper()
	top := t.TempDir()
	for _, place := range places {
		name, _, _ := strings.Cut(place, "/")
		m := &machine{t: t, name: name, root: filepath.Join(top, name), dir: filepath.Join(top, place)}
		require.NoError(t, os.MkdirAll(m.home(), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Dir(m.dir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(m.home(), ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n[safe]\n\tdirectory = *\n"), 0o644))
		all = append(all, m)
	}
	if exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", top).Run() != nil {
		return all
	}
	for _, m := range all {
		for _, o := range all {
			if o != m {
				m.others = append(m.others, o.root)
			}
		}
	}
	return all
}

// becomeUser has the machine work as a user of its own, who owns all that it has, if the test may do that.
func (m *machine) becomeUser(id int) {
	if _, err := exec.LookPath("setpriv"); err != nil || len(m.others) == 0 {
		return
	}
	m.user = id
	require.NoError(m.t, filepath.WalkDir(m.root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chown(path, id, id)
		}
		return err
	}))
	for dir := filepath.Dir(m.root); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(m.t, os.Chmod(dir, 0o755))
	}
	require.NoError(m.t, os.Chmod(filepath.Dir(binary), 0o755))
}

// keep writes a file that only the machine's user may read.
func (m *machine) keep(name string, data []byte) {
	require.NoError(m.t, os.WriteFile(name, data, 0o600))
	if m.user != 0 {
		require.NoError(m.t, os.Chown(name, m.user, m.user))
	}
}

func (m *machine) home() string { return filepath.Join(m.root, "home") }

// run runs a line on the machine, and returns what it said.
func (m *machine) run(line string) (out string, err error) {
	cmd := exec.Command("sh", "-c", line)
	if len(m.others) > 0 {
		hide := ""
		for _, o := range m.others {
			hide += "mount -t tmpfs none '" + o + "' && "
		}
		as := ""
		if m.user != 0 {
			as = fmt.Sprintf("setpriv --reuid=%d --regid=%d --clear-groups ", m.user, m.user)
		}
		cmd = exec.Command("unshare", "--mount", "sh", "-c", hide+"exec "+as+`sh -c "$1"`, "sh", line)
	}
	cmd.Dir = m.dir
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + m.home(), "LESLIE_ACTOR=kim"}
	data, err := cmd.CombinedOutput()
	return string(data), err
}

func (m *machine) must(line string) string {
	m.t.Helper()
	out, err := m.run(line)
	require.NoError(m.t, err, "%s$ %s\n%s", m.name, line, out)
	return out
}

// startNats runs a server in this process as a configuration file says, until stop or the end of the test.
func startNats(t *testing.T, config string) (stop func()) {
	t.Helper()
	options, err := server.ProcessConfigFile(config)
	require.NoError(t, err)
	options.NoLog, options.NoSigs = true, true
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", options.Host, options.Port))
	require.NoError(t, err, "the server would wait for the port without a word")
	require.NoError(t, l.Close())
	running, err := server.NewServer(options)
	require.NoError(t, err)
	go running.Start()
	require.True(t, running.ReadyForConnections(30*time.Second))
	stop = func() { running.Shutdown(); running.WaitForShutdown() }
	t.Cleanup(stop)
	return stop
}

// The page's way to one server is walked line by line on two machines, and then a day goes on with it:
// code that one has begun is finished on the other, and lands on the first.
func TestTwoMachinesHaveOneServerAsThePageSays(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "machines.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "## One server in five minutes\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	all := newMachines(t, "laptop/src/project", "tower/builds/deep/project")
	laptop, tower := all[0], all[1]
	hub := filepath.Join(t.TempDir(), "hub.git")
	for _, m := range all {
		if m == laptop {
			require.NoError(t, os.MkdirAll(m.dir, 0o755))
			m.must("git init -q -b main && git commit -q --allow-empty -m first && git clone -q --bare . " + hub + " && git remote add origin " + hub + " && git fetch -q")
			continue
		}
		require.NoError(t, os.MkdirAll(m.dir, 0o755))
		m.must("git clone -q " + hub + " .")
	}
	if len(laptop.others) > 0 {
		assert.Empty(t, laptop.must("ls -A '"+tower.root+"'"), "it sees folders of the other machine")
	}
	laptop.must("leslie init --no-agents && leslie objective create 'Ship it' --id ship && leslie spawn --code 'Check health' --id health && leslie spawn 'Write it down' --id notes")
	laptop.must("cd ../project.worktrees/health && echo 'package health' > health.go && git add . && git commit -q -m 'Begin the check'")

	at := fmt.Sprintf("127.0.0.1:%d", harness.FreePort())
	project := ""
	machines := map[string]*machine{"laptop": laptop, "tower": tower}
	shape := func(text string) string {
		for pattern, with := range map[string]string{`proj-[a-z0-9]+`: "PROJECT", `(laptop|tower|kim@\w+)-[a-z0-9]{8}\b`: "$1", `\b\d+\b`: "N"} {
			text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
		}
		return text
	}
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(section, -1) {
		out, name := "", ""
		for line := range strings.Lines(strings.ReplaceAll(block[1], "192.168.1.10:4222", at)) {
			who, command, is := strings.Cut(strings.TrimSuffix(line, "\n"), "$ ")
			if !is || machines[who] == nil {
				want := strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "~/project", machines[name].dir)
				want = strings.ReplaceAll(want, "~", machines[name].home())
				host, _ := os.Hostname()
				host, _, _ = strings.Cut(strings.ToLower(host), ".")
				got := strings.ReplaceAll(shape(out), host, name)
				assert.Contains(t, regexp.MustCompile(`kim@[\w-]+`).ReplaceAllString(got, "kim@M"), regexp.MustCompile(`kim@[\w-]+`).ReplaceAllString(shape(want), "kim@M"), "%s\n%s", line, out)
				continue
			}
			name = who
			if project != "" {
				command = regexp.MustCompile(`proj-[a-z0-9]+`).ReplaceAllString(command, project)
			}
			if config, serves := strings.CutPrefix(command, "nats-server -c ~/"); serves {
				startNats(t, filepath.Join(laptop.home(), strings.TrimSuffix(config, " &")))
				continue
			}
			out = machines[who].must(command)
			if id := regexp.MustCompile(`proj-[a-z0-9]+`).FindString(out); project == "" && id != "" {
				project = id
				creds, err := os.ReadFile(filepath.Join(laptop.home(), "leslie-server", "writer.creds"))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(tower.home(), "writer.creds"), creds, 0o600))
			}
		}
	}
	require.NotEmpty(t, project)

	tower.must("cd ../project.worktrees/health && cat health.go && echo 'var ok = true' >> health.go && git commit -q -a -m 'Finish the check' && leslie done health")
	assert.Contains(t, laptop.must("leslie code health"), "on ")
	assert.Contains(t, laptop.must("leslie diff health"), "var ok = true")
	laptop.must("leslie land health --squash")
	assert.Equal(t, "package health\nvar ok = true\n", laptop.must("git show main:health.go"))
	laptop.must("git push -q origin main")
	assert.Contains(t, tower.must("leslie code health"), "landed on another machine")
	tower.must("git pull -q --ff-only")
	assert.Contains(t, tower.must("leslie code prune"), "removed health")
	for _, m := range all {
		assert.Contains(t, m.must("leslie status health"), "thread health  completed")
		assert.Contains(t, m.must("leslie remote status"), "behind: nothing")
		assert.Contains(t, m.must("leslie doctor"), "healthy")
	}

	// Nothing that is there is replaced.
	out, err := laptop.run("leslie remote config ~/leslie-server")
	require.Error(t, err)
	assert.Contains(t, out, "T106")
	info, err := os.Stat(filepath.Join(laptop.home(), "leslie-server", "admin.creds"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// Whoever leaves keeps the project, without credentials.
	tower.must("leslie remote leave && leslie spawn --code 'Alone' --id alone && leslie claim notes && leslie doctor")
	assert.Contains(t, tower.must("leslie list --all"), "health")
	assert.NoFileExists(t, filepath.Join(tower.dir, ".leslie", "remote", "creds"))
}

// A certificate that its owner has signed goes to the other machines with the credentials; one whose credentials
// lack it says what to do.
func TestTwoMachinesTrustACertificateOfTheirOwn(t *testing.T) {
	t.Parallel()
	all := newMachines(t, "laptop/project", "tower/project")
	laptop, tower := all[0], all[1]
	for _, m := range all {
		require.NoError(t, os.MkdirAll(m.dir, 0o755))
	}
	require.NoError(t, cluster.MakeCertificate(filepath.Join(laptop.home(), "cert.pem"), filepath.Join(laptop.home(), "key.pem")))
	at := fmt.Sprintf("127.0.0.1:%d", harness.FreePort())
	laptop.must("leslie init --no-agents && leslie objective create 'Ship it' --id ship && leslie spawn 'Write it down' --id notes")
	assert.Contains(t, laptop.must("leslie remote config ~/servers --servers hub="+at+" --tls-cert ~/cert.pem --tls-key ~/key.pem"),
		"The credentials have the certificate that whoever uses them has to trust")
	servers := filepath.Join(laptop.home(), "servers")
	startNats(t, filepath.Join(servers, "hub.conf"))
	url := regexp.MustCompile(`tls://\S+/proj-\w+`).FindString(laptop.must("leslie remote init tls://" + at + " --creds ~/servers/admin.creds"))
	require.NotEmpty(t, url)

	creds, err := os.ReadFile(filepath.Join(servers, "writer.creds"))
	require.NoError(t, err)
	certificate, err := os.ReadFile(filepath.Join(laptop.home(), "cert.pem"))
	require.NoError(t, err)
	tower.keep(filepath.Join(tower.home(), "writer.creds"), bytes.ReplaceAll(creds, certificate, nil))
	out, err := tower.run("leslie connect " + url + " --creds ~/writer.creds")
	require.Error(t, err)
	assert.Contains(t, out, "T510")
	assert.Contains(t, out, "append the certificate of that to the file of credentials that --creds names")
	tower.keep(filepath.Join(tower.home(), "cert.pem"), certificate)
	tower.must("cat ~/cert.pem >> ~/writer.creds && leslie connect " + url + " --creds ~/writer.creds && rm ~/writer.creds ~/cert.pem")
	tower.must("leslie claim notes && leslie done notes")
	assert.Contains(t, laptop.must("leslie status notes"), "thread notes  completed")
}
