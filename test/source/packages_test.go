package source_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file is the table of packages: what each may import. A forbidden import fails with
// the reason, so that you can tell whether the code or the table is wrong.

// allowance is one package folder and what it may import besides the standard
// library.
type allowance struct {
	dir string
	// packages are leslie's packages that it may import, modules the other modules.
	packages, modules []string
}

// allowances is the table; ARCHITECTURE.md says what each package is for.
func allowances() []allowance {
	return []allowance{
		{dir: "internal/fact"},
		{dir: "codes", packages: []string{"internal/fact"}},
		{dir: "warnings", packages: []string{"internal/fact"}},
		{dir: "internal/nearest", modules: []string{"github.com/xrash/smetrics"}},
		{dir: "internal/scope", packages: []string{"codes", "internal/fact"}},
		{dir: "internal/search"},
		{dir: "internal/ledger"},
		{dir: "internal/ledger/ledgertest", packages: []string{"internal/ledger"}, modules: []string{"github.com/stretchr/testify"}},
		{dir: "internal/ledger/jetstream", packages: []string{"internal/ledger"}, modules: []string{"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "golang.org/x/net"}},
		{dir: "internal/retry", packages: []string{"codes", "internal/fact"}},
		{dir: "internal/atomicfile", modules: []string{"github.com/google/renameio/v2"}},
		{dir: "thread", packages: []string{"codes", "internal/fact", "warnings", "internal/nearest"}},
		{dir: "merge", packages: []string{"codes", "warnings", "internal/fact"}},
		{dir: "store/internal/buffer"},
		{dir: "store/internal/archive", packages: []string{"thread", "store/internal/jsonl"}},
		{dir: "store/internal/journal", packages: []string{"thread", "store/internal/archive", "store/internal/jsonl", "codes", "internal/fact"}},
		{dir: "store/internal/statefile", packages: []string{"thread", "store/internal/journal", "store/internal/buffer", "store/internal/jsonl", "codes", "internal/fact"}},
		{dir: "store/internal/jsonl", packages: []string{"codes", "internal/fact"}},
		{dir: "store/internal/lockfile", packages: []string{"codes", "internal/fact", "internal/retry"}, modules: []string{"github.com/gofrs/flock"}},
		{dir: "store/internal/saferoot", packages: []string{"internal/atomicfile", "store/internal/buffer", "codes", "internal/fact"}},
		{dir: "store/internal/content", packages: []string{"store/internal/jsonl", "store/internal/saferoot", "thread", "codes", "internal/fact"}},
		{dir: "store/internal/scan", packages: []string{"store/internal/content", "store/internal/saferoot", "thread", "internal/scope", "codes", "internal/fact"}},
		{dir: "store/internal/logfile", packages: []string{"store/internal/lockfile", "store/internal/saferoot"}},
		{
			dir:      "store/internal/filework",
			packages: []string{"store/internal/content", "store/internal/lockfile", "store/internal/saferoot", "store/internal/scan", "thread", "internal/scope", "codes", "warnings", "internal/fact"},
			modules:  []string{"github.com/gofrs/flock"},
		},
		{
			dir:      "store/internal/state",
			packages: []string{"store/internal/archive", "store/internal/content", "store/internal/filework", "store/internal/journal", "store/internal/lockfile", "store/internal/logfile", "store/internal/saferoot", "store/internal/scan", "store/internal/statefile", "thread", "internal/atomicfile", "internal/retry", "codes", "warnings", "internal/fact"},
		},
		{dir: "store/replica", packages: []string{"thread", "internal/ledger", "store/internal/content", "store/internal/journal", "store/internal/jsonl", "store/internal/saferoot", "store/internal/state", "store/internal/statefile", "codes", "warnings", "internal/fact"}},
		{
			dir:      "store",
			packages: []string{"thread", "merge", "internal/ledger", "internal/retry", "internal/atomicfile", "store/internal/archive", "store/internal/journal", "store/internal/statefile", "store/internal/jsonl", "store/internal/lockfile", "store/internal/saferoot", "store/internal/content", "store/internal/scan", "store/internal/filework", "store/internal/logfile", "store/internal/state", "store/replica", "codes", "warnings", "internal/fact", "internal/scope"},
			modules:  []string{"github.com/gofrs/flock", "github.com/fsnotify/fsnotify", "golang.org/x/sys"},
		},
		{
			dir:      "store/doctor",
			packages: []string{"store", "store/internal/archive", "store/internal/content", "store/internal/filework", "store/internal/journal", "store/internal/lockfile", "store/internal/logfile", "store/internal/saferoot", "store/internal/scan", "store/internal/state", "store/internal/statefile", "store/replica", "thread", "internal/ledger", "codes", "warnings", "internal/fact"},
		},
		{dir: "store/internal/teststore", packages: []string{"store", "store/internal/content", "store/internal/state", "thread", "codes", "warnings"}, modules: []string{"github.com/stretchr/testify"}},
		{dir: "store/internal/storetest", packages: []string{"thread", "codes", "internal/scope"}, modules: []string{"github.com/stretchr/testify"}},
		{dir: "docs"},
		{dir: "internal/external", packages: []string{"codes", "internal/fact"}, modules: []string{"github.com/kballard/go-shellquote"}},
		{dir: "internal/git", packages: []string{"codes", "internal/fact", "internal/external"}},
		{dir: "internal/acp"},
		{dir: "internal/permit", packages: []string{"codes", "internal/fact", "internal/scope", "internal/external"}, modules: []string{"mvdan.cc/sh/v3"}},
		{dir: "internal/transcript", packages: []string{"internal/fact", "internal/atomicfile"}},
		{dir: "internal/runner", packages: []string{"internal/acp", "codes", "internal/fact"}},
		{dir: "internal/app/changes", packages: []string{"internal/fact", "codes", "warnings", "thread", "store"}},
		{dir: "internal/app/importing", packages: []string{"internal/fact", "codes", "thread"}},
		{dir: "internal/app/merging", packages: []string{"internal/app/changes", "internal/fact", "codes", "warnings", "internal/retry", "internal/scope", "thread", "merge", "store", "internal/external", "internal/git"}},
		{dir: "internal/app", packages: []string{"codes", "internal/external", "internal/fact", "internal/ledger", "internal/nearest", "internal/permit", "internal/retry", "internal/scope", "internal/transcript", "store", "store/replica", "thread", "warnings"}, modules: []string{"github.com/tailscale/hujson", "golang.org/x/text"}},
		{dir: "internal/app/agents", packages: []string{"internal/app", "codes", "internal/acp", "internal/external", "internal/fact", "internal/nearest", "internal/permit", "internal/runner", "store", "thread", "warnings"}},
		{dir: "internal/app/config", packages: []string{"internal/app", "internal/app/agents", "codes", "internal/fact", "internal/git", "internal/permit", "internal/runner", "internal/setup", "store", "thread", "warnings"}, modules: []string{"code.checks", "github.com/tailscale/hujson", "run.agents", "run.allow", "run.ask", "run.default"}},
		{dir: "internal/app/code", packages: []string{"internal/app/merging", "internal/app", "codes", "internal/external", "internal/fact", "internal/git", "internal/nearest", "internal/setup", "store", "thread", "warnings"}},
		{dir: "internal/app/artifacts", packages: []string{"internal/app", "codes", "internal/fact", "internal/scope", "store", "thread", "warnings"}},
		{dir: "internal/app/history", packages: []string{"internal/app/changes", "internal/app", "internal/app/code", "internal/app/artifacts", "codes", "internal/external", "internal/fact", "internal/git", "internal/scope", "store", "thread", "warnings"}},
		{dir: "internal/app/merges", packages: []string{"internal/app/merging", "internal/app", "internal/app/agents", "internal/app/code", "internal/app/artifacts", "codes", "internal/acp", "internal/external", "internal/fact", "internal/git", "internal/permit", "internal/runner", "internal/scope", "merge", "store", "thread", "warnings"}},
		{dir: "internal/app/threads", packages: []string{"internal/app/merging", "internal/app", "internal/app/agents", "internal/app/code", "internal/app/artifacts", "internal/app/history", "internal/app/merges", "codes", "internal/fact", "internal/git", "internal/nearest", "internal/scope", "merge", "store", "thread", "warnings"}},
		{dir: "internal/app/runs", packages: []string{"internal/app", "internal/app/agents", "internal/app/code", "internal/app/artifacts", "internal/app/history", "internal/app/threads", "codes", "internal/acp", "internal/external", "internal/fact", "internal/git", "internal/nearest", "internal/permit", "internal/retry", "internal/runner", "internal/transcript", "store", "thread", "warnings"}},
		{dir: "internal/app/landing", packages: []string{"internal/app", "internal/app/code", "internal/app/merges", "internal/app/merging", "internal/app/threads", "internal/app/runs", "internal/external", "codes", "internal/fact", "thread"}},
		{dir: "internal/app/decisions", packages: []string{"internal/app/merging", "internal/app", "internal/app/config", "internal/app/merges", "internal/app/threads", "internal/app/runs", "codes", "internal/fact", "internal/permit", "internal/scope", "store", "thread", "warnings"}},
		{dir: "internal/app/views", packages: []string{"internal/app/changes", "internal/app", "internal/app/agents", "internal/app/code", "internal/app/artifacts", "internal/app/history", "internal/app/merges", "internal/app/threads", "internal/app/runs", "internal/app/decisions", "codes", "internal/external", "internal/fact", "internal/graph", "internal/scope", "internal/search", "internal/transcript", "merge", "store", "thread", "warnings"}},
		{dir: "internal/app/projects", packages: []string{"internal/app/importing", "internal/app", "internal/app/code", "internal/app/artifacts", "internal/app/merges", "codes", "internal/external", "internal/fact", "internal/git", "internal/ledger", "internal/scope", "internal/setup", "store", "store/doctor", "store/replica", "thread", "warnings"}},
		{dir: "internal/app/doctor", packages: []string{"internal/app", "internal/app/code", "internal/app/history", "internal/app/merges", "internal/app/projects", "codes", "internal/fact", "internal/git", "store", "store/doctor", "thread"}},
		{dir: "internal/app/apptest", packages: []string{"internal/app", "store", "thread"}, modules: []string{"github.com/stretchr/testify"}},
		{
			dir:      "internal/toolserver",
			packages: []string{"internal/app", "internal/app/merging", "internal/fact", "codes", "warnings", "internal/nearest", "thread", "merge", "internal/app/artifacts", "internal/app/landing", "internal/app/merges", "internal/app/threads", "internal/app/decisions", "internal/app/views"},
			modules:  []string{"github.com/modelcontextprotocol/go-sdk"},
		},
		{
			dir:      "internal/tui",
			packages: []string{"internal/app", "internal/screen", "thread", "internal/app/threads"},
			modules:  []string{"charm.land/bubbletea/v2", "github.com/charmbracelet/x/ansi"},
		},
		{dir: "internal/setup", packages: []string{"docs"}, modules: []string{"github.com/tailscale/hujson", "github.com/pelletier/go-toml/v2"}},
		{dir: "internal/graph", packages: []string{"thread", "internal/fact"}},
		{dir: "internal/report", packages: []string{"internal/app", "internal/fact", "internal/graph", "thread", "internal/app/views"}},
		{dir: "internal/screen", packages: []string{"thread", "merge", "internal/fact", "internal/graph"}, modules: []string{"github.com/clipperhouse/displaywidth"}},
		{dir: "cmd/leslie/internal/page", packages: []string{"internal/app", "internal/external", "internal/fact", "internal/screen", "thread"}},
		{dir: "cmd/leslie/internal/cli", packages: []string{"cmd/leslie/internal/page", "codes", "docs", "internal/app", "internal/app/code", "internal/app/doctor", "internal/app/merging", "internal/app/projects", "internal/app/threads", "internal/app/views", "internal/external", "internal/fact", "internal/ledger", "internal/nearest", "internal/retry", "internal/scope", "internal/screen", "thread", "warnings"}, modules: []string{"github.com/urfave/cli/v2", "go.yaml.in/yaml/v3"}},
		{dir: "cmd/leslie/internal/guide", packages: []string{"internal/app/projects"}},
		{dir: "cmd/leslie/internal/codecmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/page", "internal/app", "internal/app/code", "internal/fact", "internal/screen", "thread"}},
		{dir: "cmd/leslie/internal/historycmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/page", "codes", "internal/app", "internal/app/history", "internal/fact", "internal/nearest", "internal/screen", "thread", "warnings"}},
		{dir: "cmd/leslie/internal/mergecmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/page", "codes", "internal/app", "internal/app/code", "internal/app/landing", "internal/app/merges", "internal/app/merging", "internal/external", "internal/fact", "internal/scope", "internal/screen", "merge", "thread", "warnings"}},
		{dir: "cmd/leslie/internal/decidecmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/mergecmd", "cmd/leslie/internal/page", "codes", "internal/app", "internal/app/decisions", "internal/app/merges", "internal/fact", "internal/screen", "thread"}},
		{dir: "cmd/leslie/internal/threadcmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/historycmd", "cmd/leslie/internal/mergecmd", "cmd/leslie/internal/page", "codes", "internal/app", "internal/app/artifacts", "internal/app/code", "internal/app/decisions", "internal/app/threads", "internal/fact", "internal/screen", "thread"}},
		{dir: "cmd/leslie/internal/viewcmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/decidecmd", "cmd/leslie/internal/historycmd", "cmd/leslie/internal/mergecmd", "cmd/leslie/internal/page", "cmd/leslie/internal/threadcmd", "codes", "internal/app", "internal/app/decisions", "internal/app/threads", "internal/app/views", "internal/fact", "internal/nearest", "internal/report", "internal/screen", "merge", "thread", "warnings"}},
		{dir: "cmd/leslie/internal/runcmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/guide", "cmd/leslie/internal/page", "cmd/leslie/internal/threadcmd", "cmd/leslie/internal/viewcmd", "internal/app", "internal/app/agents", "internal/app/runs", "internal/app/threads", "internal/fact", "internal/screen", "thread"}},
		{dir: "cmd/leslie/internal/projectcmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/decidecmd", "cmd/leslie/internal/guide", "cmd/leslie/internal/mergecmd", "cmd/leslie/internal/page", "codes", "internal/app", "internal/app/config", "internal/app/doctor", "internal/app/importing", "internal/app/projects", "internal/external", "internal/fact", "internal/screen", "internal/setup", "thread"}},
		{dir: "cmd/leslie/internal/toolcmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/page", "cmd/leslie/internal/threadcmd", "codes", "internal/app", "internal/app/agents", "internal/app/threads", "internal/fact", "internal/setup", "internal/toolserver", "thread"}},
		{dir: "cmd/leslie/internal/screencmd", packages: []string{"cmd/leslie/internal/cli", "cmd/leslie/internal/viewcmd", "codes", "internal/app", "internal/app/runs", "internal/app/threads", "internal/app/views", "internal/external", "internal/fact", "internal/tui", "thread"}},
		{dir: "cmd/leslie", packages: []string{"cmd/leslie/internal/page", "cmd/leslie/internal/cli", "cmd/leslie/internal/guide", "cmd/leslie/internal/codecmd", "cmd/leslie/internal/historycmd", "cmd/leslie/internal/mergecmd", "cmd/leslie/internal/decidecmd", "cmd/leslie/internal/threadcmd", "cmd/leslie/internal/viewcmd", "cmd/leslie/internal/runcmd", "cmd/leslie/internal/projectcmd", "cmd/leslie/internal/toolcmd", "cmd/leslie/internal/screencmd", "docs", "internal/ledger", "internal/ledger/jetstream", "internal/screen", "internal/report", "internal/toolserver", "internal/tui", "internal/setup", "internal/app", "internal/app/importing", "internal/app/merging", "internal/fact", "codes", "warnings", "internal/nearest", "internal/scope", "internal/retry", "thread", "merge", "store", "store/replica", "internal/external", "internal/app/agents", "internal/app/config", "internal/app/code", "internal/app/artifacts", "internal/app/history", "internal/app/merges", "internal/app/threads", "internal/app/landing", "internal/app/runs", "internal/app/decisions", "internal/app/views", "internal/app/projects", "internal/app/doctor"}, modules: []string{"golang.org/x/term"}},
		{dir: "test/harness"},
		{dir: "test/fakeagent"},
		{dir: "test/agents", packages: []string{"test/harness"}},
		{dir: "test/dist", packages: []string{"codes", "docs", "test/harness"}},
		{dir: "test/bench"},
		{dir: "test/bench/empty"},
		{dir: "test/bench/floor"},
		{dir: "test/demo", packages: []string{"test/harness", "test/fakeagent"}},
		{dir: "test/cluster", packages: []string{"internal/ledger/jetstream", "test/harness"}, modules: []string{"golang.org/x/sys"}},
		{dir: "test/cluster/run", packages: []string{"test/cluster"}},
		{dir: "test/lab/faults", packages: []string{"store", "test/cluster", "test/lab", "test/harness", "thread"}},
		{dir: "test/lab", packages: []string{"test/harness"}},
		{dir: "test/lab/torture", packages: []string{"test/lab", "test/harness", "test/fakeagent"}},
		{dir: "test/lab/soak", packages: []string{"test/lab", "test/harness"}},
		{dir: "test/stress", modules: []string{"golang.org/x/sys"}},
		{dir: "test/proctest", packages: []string{"test/cluster", "test/harness"}},
		{dir: "test/source", packages: []string{"codes", "warnings"}},
	}
}

// testModules returns what tests of every package may import in addition. A test may also
// use a module of any row, to act as another process or to parse an answer.
func testModules() []string {
	return []string{"github.com/stretchr/testify", "github.com/rogpeppe/go-internal", "github.com/creack/pty", "github.com/gdamore/tcell/v3", "go.yaml.in/yaml/v3", "github.com/nats-io/jwt/v2", "github.com/nats-io/nats-server/v2"}
}

// whyNotPackage returns why only packages whose row names a package may import it.
func whyNotPackage(dir string) string {
	return reason(dir, map[string]string{
		"internal/fact":                  "only packages that raise errors or warnings need facts",
		"codes":                          "a package below codes cannot raise errors with codes",
		"warnings":                       "this package does not warn: it answers or fails",
		"internal/nearest":               "only the rules and the command line look up names that may be misspelt",
		"internal/scope":                 "only the store walks trees, and only use cases and commands check patterns",
		"internal/atomicfile":            "only the store and transcripts write files",
		"internal/search":                "only use cases search",
		"internal/ledger/ledgertest":     "only tests use it",
		"internal/ledger/jetstream":      "only the command line says which engine has a log; everything else knows the interface",
		"internal/ledger":                "only the store has a log elsewhere, and the command line says which engine has it",
		"internal/report":                "only the command line writes reports",
		"internal/graph":                 "only use cases collect graphs, and only interfaces draw them",
		"internal/retry":                 "only the lock and calls to agents are retried; a rule that fails would fail again",
		"thread":                         "this package is below the rules, so that other packages can use it without them",
		"merge":                          "only use cases merge; the store and the rules know nothing of it",
		"store/internal/archive":         "the form of the store's files is the store's",
		"store/internal/buffer":          "only the store reads and writes large files",
		"store/internal/journal":         "the form of the store's files is the store's",
		"store/internal/statefile":       "the form of the store's files is the store's",
		"store/internal/jsonl":           "the form of the store's files is the store's",
		"store/internal/lockfile":        "locks are the store's",
		"store/internal/content":         "blobs are the store's",
		"store/internal/filework":        "only the store changes files, under its lock",
		"store/internal/logfile":         "the form of the store's files is the store's",
		"store/internal/state":           "the store alone reads and commits its state",
		"store/internal/scan":            "threads' files are read through the store",
		"store/internal/saferoot":        "files of the store's folder are the store's",
		"store/internal/storetest":       "only tests of the store use it",
		"store/internal/teststore":       "only tests of the store, and of what is above it there, use it",
		"store/doctor":                   "only use cases check and repair a store",
		"store":                          "only a command opens the store; everything below is handed a State or bytes and stays testable without a disk",
		"internal/external":              "a command decides which program may run; nothing below it starts one",
		"internal/git":                   "only use cases run git; nothing below them starts a program",
		"internal/acp":                   "only what runs agents speaks their protocol",
		"internal/permit":                "only use cases decide what an agent may do",
		"internal/runner":                "only use cases start agents",
		"internal/transcript":            "only use cases know whose transcript is written or read",
		"internal/app":                   "only commands and other interfaces call use cases; nothing below knows them",
		"internal/app/agents":            "only what starts agents, or shows them, knows how",
		"internal/app/config":            "only commands show and change the configuration; use cases read it by internal/app",
		"internal/app/code":              "only what is above knows branches and worktrees",
		"internal/app/artifacts":         "only what is above knows artifacts and references",
		"internal/app/history":           "only what is above takes operations back",
		"internal/app/merges":            "only what is above merges",
		"internal/app/threads":           "only what is above knows a thread as a whole",
		"internal/app/landing":           "only what is above lands code",
		"internal/app/runs":              "only what is above runs agents",
		"internal/app/decisions":         "only what is above asks people",
		"internal/app/views":             "nothing is built on what is shown",
		"internal/app/projects":          "nothing is built on moving a whole project",
		"internal/app/doctor":            "it checks everything, and nothing is built on it",
		"internal/app/apptest":           "only tests use it",
		"internal/screen":                "only interfaces draw; everything below returns values",
		"cmd/leslie":                     "nothing imports main; make a package of what others need",
		"cmd/leslie/internal/page":       "only commands write text answers",
		"cmd/leslie/internal/cli":        "only commands know how a line is read and answered",
		"cmd/leslie/internal/guide":      "only commands that are above use it",
		"cmd/leslie/internal/codecmd":    "only commands that are above use it",
		"cmd/leslie/internal/historycmd": "only commands that are above use it",
		"cmd/leslie/internal/mergecmd":   "only commands that are above use it",
		"cmd/leslie/internal/decidecmd":  "only commands that are above use it",
		"cmd/leslie/internal/threadcmd":  "only commands that are above use it",
		"cmd/leslie/internal/viewcmd":    "only commands that are above use it",
		"cmd/leslie/internal/runcmd":     "only commands that are above use it",
		"cmd/leslie/internal/projectcmd": "only commands that are above use it",
		"cmd/leslie/internal/toolcmd":    "only commands that are above use it",
		"cmd/leslie/internal/screencmd":  "only commands that are above use it",
		"test/fakeagent":                 "only tests and the demo use it: it stands for a program that leslie starts",
		"test/agents":                    "it tests the binary from outside, with real agents",
		"test/cluster":                   "only tests use it: it runs servers",
		"test/harness":                   "only tests use it: it reads the answers independently of leslie's own types",
		"test/bench":                     "it measures the binary from outside",
		"test/demo":                      "the demo uses the binary as a user would",
		"test/lab":                       "it tests the shipped binary from outside",
		"test/stress":                    "it runs the tests from outside",
		"test/proctest":                  "it tests the binary from outside, as processes",
		"test/source":                    "the rules about the source are not part of the product",
	})
}

// whyNotModule returns why only packages whose row names a module may import it.
func whyNotModule(path string) string {
	return reason(path, map[string]string{
		"github.com/fsnotify/fsnotify":           "to wait without missing a change, watch first and then read, as the store does",
		"github.com/google/renameio/v2":          "internal/atomicfile replaces files, on every system",
		"github.com/gofrs/flock":                 "a second user of it could deadlock, or release the store's lock",
		"github.com/stretchr/testify":            "only tests may import it",
		"golang.org/x/sys":                       "calls to the operating system belong to the store",
		"github.com/urfave/cli/v2":               "only the command line knows flags and commands; everything below gets options as values",
		"golang.org/x/term":                      "only the command line knows terminals; everything below gets facts about them as values",
		"github.com/clipperhouse/displaywidth":   "internal/screen alone knows how many cells a text takes",
		"go.yaml.in/yaml/v3":                     "answers are written in one place, the command line",
		"github.com/kballard/go-shellquote":      "a command line is split where it is run",
		"github.com/tailscale/hujson":            "leslie's configuration is read and changed in one place, internal/app, other programs' files in internal/setup",
		"github.com/pelletier/go-toml/v2":        "internal/setup alone looks into the files of other programs",
		"mvdan.cc/sh/v3":                         "internal/permit alone takes command lines apart",
		"github.com/modelcontextprotocol/go-sdk": "internal/toolserver alone speaks the Model Context Protocol",
		"charm.land/bubbletea/v2":                "internal/tui alone has the terminal for itself",
		"github.com/charmbracelet/x/ansi":        "internal/tui alone cuts and wraps what is coloured already",
		"github.com/nats-io/nats.go":             "internal/ledger/jetstream alone speaks to NATS",
		"github.com/nats-io/nkeys":               "internal/ledger/jetstream alone knows who asks",
		"golang.org/x/net":                       "internal/ledger/jetstream alone opens connections, and so needs proxies",
		"golang.org/x/text":                      "internal/app alone makes ids of titles",
		"github.com/xrash/smetrics":              "one package decides which names are near each other",
	})
}

func reason(key string, reasons map[string]string) string {
	if why := reasons[key]; why != "" {
		return why
	}
	return "test/source/packages_test.go gives no reason yet; it needs one"
}

// closedStd is a package of the standard library that only some packages may import.
type closedStd struct {
	path string // also those below it, but for except
	open []string
	why  string
	// except is a package below it that is open to all.
	except string
}

func closedStds() []closedStd {
	commands := []string{"cmd/leslie/internal/page", "cmd/leslie/internal/cli", "cmd/leslie/internal/guide", "cmd/leslie/internal/codecmd", "cmd/leslie/internal/historycmd", "cmd/leslie/internal/mergecmd", "cmd/leslie/internal/decidecmd", "cmd/leslie/internal/threadcmd", "cmd/leslie/internal/viewcmd", "cmd/leslie/internal/runcmd", "cmd/leslie/internal/projectcmd", "cmd/leslie/internal/toolcmd", "cmd/leslie/internal/screencmd"}
	useCases := []string{"internal/app/agents", "internal/app/config", "internal/app/code", "internal/app/artifacts", "internal/app/history", "internal/app/merges", "internal/app/threads", "internal/app/landing", "internal/app/runs", "internal/app/decisions", "internal/app/views", "internal/app/projects", "internal/app/doctor"}
	files := []string{"store", "store/internal/journal", "store/internal/lockfile", "store/internal/saferoot", "store/internal/content", "store/internal/scan", "store/internal/filework", "store/internal/logfile", "store/internal/state", "store/internal/storetest", "store/internal/teststore", "store/doctor", "internal/atomicfile", "internal/git", "internal/runner", "internal/transcript", "internal/app", "internal/app/merging", "cmd/leslie", "test/harness", "test/fakeagent", "test/demo", "test/dist", "test/bench", "test/bench/floor", "test/lab", "test/lab/torture", "test/lab/soak", "test/lab/faults", "test/cluster", "test/cluster/run", "test/source", "test/stress", "internal/app/apptest"}
	files = append(append(files, useCases...), commands...)
	runs := []string{"internal/external", "internal/git", "internal/runner", "cmd/leslie", "test/harness", "test/fakeagent", "test/demo", "test/dist", "test/bench", "test/lab", "test/lab/torture", "test/lab/soak", "test/lab/faults", "test/cluster", "test/cluster/run", "test/stress"}
	runs = append(runs, commands...)
	speaks := []string{"cmd/leslie", "cmd/leslie/internal/cli", "test/bench"}
	return []closedStd{
		{path: "os/exec", open: runs, why: "only a command starts another program, never under the lock and never from the project's configuration alone"},
		{path: "os/signal", open: append(slices.Clone(speaks), "test/lab/soak", "test/lab/faults", "test/cluster/run", "test/stress"), why: "signals end a call's context in main"},
		{path: "os/user", open: speaks, why: "pass the user as a value"},
		{path: "os", open: append(slices.Clone(files), "internal/external", "internal/ledger/jetstream"), why: "this package is pure: only the store and transcripts use files, only the command line the environment"},
		{path: "path/filepath", open: files, why: "this package is pure: paths of artifacts have '/' on every machine (package path)"},
		{path: "syscall", open: append(slices.Clone(files), "internal/external", "internal/git", "store/internal/buffer"), why: "this package is pure"},
		{path: "math/rand", open: append(slices.Clone(speaks), "test/lab", "test/lab/soak", "test/lab/faults"), why: "pass randomness as a value, so that a test determines it"},
		{path: "crypto/rand", open: speaks, why: "pass randomness as a value, so that a test determines it"},
		{path: "log", open: append(slices.Clone(speaks), "internal/app"), why: "an error is logged once, where its use case ends; return it everywhere else"},
		{path: "net", open: []string{"internal/ledger/jetstream", "test/harness", "test/cluster", "test/lab/faults"}, except: "net/url", why: "leslie has no daemon and no socket but the connection to the servers of a connected project: agents' sandboxes have no network"},
		{path: "plugin", open: nil, why: "leslie is one static binary"},
		{path: "unsafe", open: nil, why: "leslie does not need it"},
		{path: "C", open: nil, why: "leslie is pure Go: CGO_ENABLED=0"},
	}
}

// checkPackages rejects a folder with Go files that has no row.
func checkPackages(tr *tree) []string {
	dirs := map[string]bool{}
	for _, f := range tr.files {
		dirs[f.dir] = true
	}
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if _, ok := packageOf(dir); !ok {
			found = append(found, dir+": a package without a row in test/source/packages_test.go: say what it may import")
		}
	}
	return found
}

func packageOf(dir string) (allowance, bool) {
	all := allowances()
	i := slices.IndexFunc(all, func(r allowance) bool { return r.dir == dir })
	if i < 0 {
		return allowance{}, false
	}
	return all[i], true
}

// checkImports rejects imports that the table does not allow.
func checkImports(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		r, ok := packageOf(f.dir)
		if !ok {
			continue
		}
		for p, spec := range f.imports() {
			if why := r.refuses(p, f.isTest); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s (open to %s: %s)", f.at(spec), p, why, r.dir, r.allowed()))
			}
		}
	}
	return found
}

// above reports whether a row's package is of that folder, or may import what is there. Its
// tests may then play a whole story with all of it.
func (r allowance) above(dir string) bool {
	return within(r.dir, dir) || slices.Contains(r.packages, dir)
}

// refuses returns why a package must not import another, or "".
func (r allowance) refuses(p string, isTest bool) string {
	if dir, ok := strings.CutPrefix(p, module+"/"); ok {
		if slices.Contains(r.packages, dir) || isTest && (within(dir, r.dir) || dir == "test/harness" || dir == "test/fakeagent" || dir == "store/internal/storetest" || dir == "store/internal/teststore" || dir == "internal/ledger/ledgertest" || dir == "test/cluster" || r.above("internal/app") && (within(dir, "internal/app") || dir == "merge" || dir == "internal/transcript")) {
			return ""
		}
		return whyNotPackage(dir)
	}
	if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
		return r.refusesModule(p, isTest)
	}
	if isTest {
		return ""
	}
	for _, c := range closedStds() {
		if within(p, c.path) && p != c.except && !slices.Contains(c.open, r.dir) {
			return c.why
		}
	}
	return ""
}

func (r allowance) refusesModule(p string, isTest bool) string {
	holds := func(modules []string) bool {
		return slices.ContainsFunc(modules, func(m string) bool { return within(p, m) })
	}
	known := ""
	for _, other := range allowances() {
		for _, m := range other.modules {
			if within(p, m) {
				known = m
			}
		}
	}
	switch {
	case holds(r.modules), isTest && known != "", isTest && holds(testModules()):
		return ""
	case known != "":
		return whyNotModule(known)
	case holds(testModules()):
		return "only tests may import it"
	}
	return "a new dependency needs a row in test/source/packages_test.go and one in ARCHITECTURE.md that says what it saves us"
}

// allowed returns what the package may import, as text.
func (r allowance) allowed() string {
	if open := append(slices.Clone(r.packages), r.modules...); len(open) > 0 {
		return "std, " + strings.Join(open, ", ")
	}
	return "only std"
}

// within reports whether a path is p or below it.
func within(path, p string) bool { return path == p || strings.HasPrefix(path, p+"/") }
