package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store/replica"
)

// These tests check what must be true of every command's answer.

// example has a line of one command that succeeds in newProject, and one that fails
// because of a rule or an id; nil if there is none.
type example struct{ works, fails []string }

// examples has a row for every command of the table: a new command needs one.
func examples() map[string]example {
	line := strings.Fields
	return map[string]example{
		"init":              {line("init --no-agents"), nil},
		"setup":             {line("setup claude"), nil},
		"hook start":        {line("hook start"), nil},
		"hook stop":         {line("hook stop --thread main"), nil},
		"objective create":  {line("objective create Other --id other"), line("objective create Again --id ship")},
		"objective list":    {line("objective list"), nil},
		"objective status":  {line("objective status ship"), line("objective status nope-nope")},
		"objective done":    {line("objective done ship"), line("objective done nope-nope")},
		"objective cancel":  {line("objective cancel ship --reason enough"), line("objective cancel nope-nope")},
		"spawn":             {line("spawn --intent x --id fresh --ref main"), line("spawn --intent x --parent nope-nope")},
		"update":            {line("update main --title New"), line("update main --depends-on +nope-nope")},
		"code":              {line("code"), line("code main")},
		"code list":         {line("code list"), line("code list main")},
		"code setup":        {line("code setup coded"), line("code setup main")},
		"code remove":       {line("code remove coded"), line("code remove main")},
		"code restore":      {line("code restore coded"), line("code restore main")},
		"code prune":        {line("code prune"), nil},
		"code repair":       {line("code repair"), line("code repair nowhere")},
		"agents":            {line("agents"), line("agents nobody")},
		"config path":       {line("config path"), nil},
		"config show":       {line("config show"), nil},
		"config init":       {line("config init"), nil},
		"config trust":      {line("config trust"), nil},
		"config allow":      {line("config allow"), nil},
		"run":               {line("run runs"), line("run nope-nope")},
		"run list":          {line("run list"), nil},
		"run stop":          {line("run stop main"), line("run stop nope-nope")},
		"run log":           {line("run log main"), line("run log nope-nope")},
		"transcript":        {line("transcript main"), line("transcript nope-nope")},
		"list":              {line("list"), line("list --objective nope-nope")},
		"status":            {line("status main"), line("status nope-nope")},
		"search":            {line("search plan"), nil},
		"report":            {line("report --html report.html"), line("report --html report.html --objective nope-nope")},
		"graph":             {line("graph"), line("graph --objective nope-nope")},
		"artifacts":         {line("artifacts main"), line("artifacts main --scope nope.md")},
		"diff":              {line("diff part main"), line("diff nope-nope")},
		"show":              {line("show main"), line("show main:nope.md")},
		"context":           {line("context main"), line("context nope-nope")},
		"reference":         {line("reference --from part --target main"), line("reference --from nope-nope --target main")},
		"reference list":    {line("reference list"), line("reference list --from nope-nope")},
		"reference show":    {line("reference show ref-live"), line("reference show nope-nope")},
		"reference refresh": {line("reference refresh ref-live"), line("reference refresh nope-nope")},
		"reference remove":  {line("reference remove ref-live"), line("reference remove nope-nope")},
		"lifecycle":         {line("lifecycle main --action suspend"), line("lifecycle main --action archive")},
		"done":              {line("done part"), line("done nope-nope")},
		"cancel":            {line("cancel part"), line("cancel nope-nope")},
		"suspend":           {line("suspend main"), line("suspend nope-nope")},
		"resume":            {line("resume part"), line("resume main")},
		"archive":           {line("archive old"), line("archive main")},
		"reopen":            {line("reopen old"), line("reopen main")},
		"claim":             {line("claim --next"), line("claim nope-nope")},
		"renew":             {line("renew main"), line("renew part")},
		"release":           {line("release main"), line("release nope-nope")},
		"inject":            {line("inject main --type data --content x"), line("inject nope-nope --type data --content x")},
		"merge":             {line("merge --sources part --target main"), line("merge --sources nope-nope --target main")},
		"drop":              {line("drop coded --yes"), line("drop nope-nope --yes")},
		"uninstall":         {line("uninstall --dry-run"), line("uninstall --yes --dry-run")},
		"land":              {line("land coded"), line("land nope-nope")},
		"merge list":        {line("merge list"), nil},
		"merge status":      {line("merge status ref-live"), line("merge status nope-nope")},
		"merge resolve":     {line("merge resolve ref-live plan.md --take both"), line("merge resolve nope-nope --take ours")},
		"merge continue":    {line("merge continue ref-live"), line("merge continue nope-nope")},
		"merge abort":       {line("merge abort ref-live"), line("merge abort nope-nope")},
		"merge land":        {line("merge land main"), line("merge land nope-nope")},
		"pull":              {line("pull part --from main"), line("pull nope-nope")},
		"merge-file":        {line("merge-file ref-live ref-live ref-live"), line("merge-file nope nope nope")},
		"transfer":          {line("transfer main --direction request_approval --scope deploy"), line("transfer nope-nope --direction handoff --to human")},
		"approvals":         {line("approvals"), nil},
		"approve":           {line("approve ref-live"), line("approve appr-nopenope")},
		"deny":              {line("deny ref-live"), line("deny appr-nopenope")},
		"revoke":            {line("revoke ref-live"), line("revoke appr-nopenope")},
		"ask":               {line("ask main --question Which"), line("ask nope-nope --question Which")},
		"answer":            {line("answer ref-live Blue"), line("answer q-nopenope Blue")},
		"questions":         {line("questions"), nil},
		"comment":           {line("comment main plan.md:1 Why"), line("comment nope-nope plan.md Why")},
		"comment resolve":   {line("comment resolve ref-live"), line("comment resolve c-nopenope")},
		"comments":          {line("comments main"), line("comments nope-nope")},
		"review":            {line("review main --send"), line("review nope-nope")},
		"can":               {line("can read main"), line("can deploy main")},
		"history":           {line("history"), line("history --thread nope-nope")},
		"mcp":               {line("mcp"), nil},
		"tui":               {line("tui"), nil}, // it works with a terminal alone
		"remote config":     {line("remote config ../servers"), line("remote config ../servers --servers here")},
		"remote init":       {line("remote init memory://one"), nil},
		"remote status":     {line("remote status"), nil},
		"remote check":      {line("remote check memory://one"), nil},
		"remote restore":    {line("remote restore"), nil},
		"remote move":       {line("remote move memory://two"), line("remote move memory://two/proj-other")},
		"remote rejoin":     {line("remote rejoin"), nil},
		"remote leave":      {line("remote leave"), nil},
		"connect":           {line("connect memory://one/proj-one -C empty"), line("connect memory://one/proj-one")},
		"publish":           {line("publish"), line("publish nope-nope")},
		"observe":           {line("observe"), line("observe --target nope-nope")},
		"wait":              {line("wait main --until decision"), line("wait nope-nope")},
		"undo":              {line("undo"), line("undo op-nopenope")},
		"redo":              {line("redo"), line("redo --actor nobody")},
		"checkpoint":        {line("checkpoint main --name before"), line("checkpoint nope-nope")},
		"checkpoint list":   {line("checkpoint list main"), line("checkpoint list nope-nope")},
		"rollback":          {line("rollback main --to first"), line("rollback main --to nope")},
		"import":            {line("import ../project/works.jsonl --objective ship"), line("import fails.jsonl --objective ship")},
		"export":            {line("export"), nil},
		"batch":             {line("batch ../project/works.jsonl"), line("batch fails.jsonl")}, // by a name that -C finds too
		"logs":              {line("logs"), line("logs --thread nope-nope")},
		"stats":             {line("stats"), nil},
		"doctor":            {line("doctor"), nil},
		"completion":        {line("completion fish"), nil},
		"explain":           {line("explain T101"), nil},
		"version":           {line("version"), nil},
	}
}

// needNoStore returns the commands that work outside a project.
func needNoStore() []string {
	return []string{"init", "setup", "hook start", "hook stop", "completion", "explain", "merge-file", "version", "config path", "config show", "config init", "config allow", "mcp", "connect", "remote config"}
}

// readyFor returns a project in which the examples of a command work.
func readyFor(t *testing.T, name string) (b *bench, ref string) {
	t.Helper()
	b = newProject(t)
	switch name {
	case "mcp":
		b.Stdin = strings.NewReader("{}\n") // which is answered, although it asks for nothing
	case "reference show", "reference refresh", "reference remove":
		b.must(t, "reference", "--from", "part", "--target", "main", "--binding", "live", "--format", "json")
		ref, _ = document(t, b.out.Bytes()).Data["refId"].(string)
		b.write(t, ".leslie/threads/main/new.md", "new")
	case "remote restore", "remote rejoin", "remote leave", "remote move", "publish":
		b.must(t, "remote", "init", "memory://one")
		if name == "remote restore" {
			remote, err := replica.Read(b.Dir)
			require.NoError(t, err)
			b.memory().Drop(remote.Project)
		}
		if name == "remote rejoin" {
			remote, err := replica.Read(b.Dir)
			require.NoError(t, err)
			b.memory().Cut(remote.Project, 1)
			o := newBench(t)
			o.Engine, o.ids = b.Engine, 1_000_000
			o.must(t, "connect", "memory://one/"+remote.Project)
			o.must(t, "objective", "create", "Other")
		}
	case "connect":
		require.NoError(t, b.Engine.Create(context.Background(), ledger.Address{Project: "proj-one"}))
	case "renew", "release":
		b.must(t, "claim", "main")
	case "hook stop": // which says nothing otherwise
		b.must(t, "inject", "main", "--type", "data", "--content", "x")
	case "code setup", "code remove", "code restore", "code repair", "land", "drop":
		b.repository(t)
		b.must(t, "spawn", "--code", "--intent", "x", "--id", "coded")
		if name == "code restore" {
			b.must(t, "code", "remove", "coded")
		}
	case "run":
		b.agents(t)
		b.must(t, "spawn", "--title", "Runs", "--intent", "RUN[[leslie done]]", "--id", "runs")
	case "resume":
		b.must(t, "suspend", "part")
	case "archive", "reopen":
		b.must(t, "spawn", "--intent", "old", "--id", "old")
		b.must(t, "done", "old")
	case "objective done":
		b.must(t, "done", "main")
		b.must(t, "done", "part")
	case "merge":
		b.write(t, ".leslie/threads/part/plan.md", "part\n")
	case "pull":
		b.write(t, ".leslie/threads/main/plan.md", "main\n")
	case "merge list", "merge status", "merge resolve", "merge continue", "merge abort":
		ref = pendingMergeOf(t, b)
		if name == "merge continue" {
			b.must(t, "merge", "resolve", ref, "--take", "ours")
		}
	case "batch":
		b.write(t, "works.jsonl", `["spawn", "--intent", "x", "--id", "fresh"]`)
		b.write(t, "fails.jsonl", `["done", "nope-nope"]`)
	case "import":
		b.write(t, "works.jsonl", `{"id":"fresh","title":"x"}`)
		b.write(t, "fails.jsonl", `{"id":"main","title":"x"}`)
	case "approve", "deny", "revoke":
		b.must(t, "transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--format", "json")
		ref, _ = document(t, b.out.Bytes()).Data["approvalId"].(string)
	case "answer":
		b.must(t, "ask", "main", "--question", "Which", "--format", "json")
		ref, _ = document(t, b.out.Bytes()).Data["questionId"].(string)
	case "comment", "comment resolve", "comments", "review":
		b.write(t, ".leslie/threads/main/plan.md", "main\n")
		if name != "comment" {
			b.must(t, "comment", "main", "plan.md:1", "Why?", "--format", "json")
			ref, _ = document(t, b.out.Bytes()).Data["commentId"].(string)
		}
	case "merge-file":
		b.write(t, "plan.md", "plan\n")
		ref = filepath.Join(b.Dir, "plan.md")
	case "rollback":
		b.must(t, "checkpoint", "main", "--name", "first")
		b.write(t, ".leslie/threads/main/plan.md", "main\n")
	case "undo", "redo":
		b.write(t, ".leslie/threads/part/plan.md", "part\n")
		b.must(t, "merge", "--sources", "part", "--target", "main")
		if name == "redo" {
			b.must(t, "undo")
		}
	case "init":
		require.NoError(t, os.RemoveAll(filepath.Join(b.Dir, ".leslie")))
	}
	return b, ref
}

// pendingMergeOf starts a merge of part into main that stays pending: both have changed
// plan.md.
func pendingMergeOf(t *testing.T, b *bench) (id string) {
	t.Helper()
	b.write(t, ".leslie/threads/main/plan.md", "main\n")
	b.write(t, ".leslie/threads/part/plan.md", "part\n")
	require.Equal(t, 13, b.leslie("merge", "--sources", "part", "--target", "main", "--format", "json"), b.out.String())
	id, _ = document(t, b.out.Bytes()).Error.Details["mergeId"].(string)
	require.NotEmpty(t, id)
	return id
}

// agents configures the fake agent as the one that runs.
func (b *bench) agents(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := filepath.Join(b.Home, "bin")
	require.NoError(t, os.MkdirAll(filepath.Join(b.Home, ".leslie"), 0o755))
	require.NoError(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"leslie", "fake-agent"} {
		require.NoError(t, os.Symlink(self, filepath.Join(bin, name)))
	}
	config, err := json.Marshal(map[string]any{"run": map[string]any{"agent": "fake", "agents": map[string]any{
		"fake": map[string]any{"command": []string{filepath.Join(bin, "fake-agent")}, "env": map[string]string{"PATH": bin + ":/usr/bin:/bin", "FAKE_SESSION": "s"}},
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.Home, ".leslie", "config.json"), config, 0o600))
}

func withRef(argv []string, ref string) []string {
	out := slices.Clone(argv)
	for i, arg := range out {
		if arg == "ref-live" {
			out[i] = ref
		}
	}
	return out
}

func TestEveryCommandHasExamples(t *testing.T) {
	t.Parallel()
	var names []string
	for _, cmd := range commands().All() {
		names = append(names, cmd.Name)
	}
	assert.ElementsMatch(t, names, slices.Collect(maps.Keys(examples())))
}

// assertAnswer asserts what must be true of every answer in JSON.
func assertAnswer(t *testing.T, cmd *cli.Command, a answer, status int, raw string) {
	t.Helper()
	if *a.Success != (status == 0) || *a.Success != (a.Error == nil) {
		t.Fatalf("success, no error and exit status 0 go together: status %d, %s", status, raw)
	}
	if a.Error == nil {
		require.NotNil(t, a.Data, "a success has data: %s", raw)
		if cmd.Writes {
			assert.IsType(t, true, a.Data["changed"], "the data of a writing command says whether something changed: %s", raw)
		}
		return
	}
	e := a.Error
	entry := codes.Code(e.Code).Entry()
	require.Equal(t, e.Code, string(entry.Code), "the code is in the table: %s", raw)
	assert.Equal(t, entry.Kind, e.Kind)
	assert.Equal(t, codes.Code(e.Code).ExitStatus(), status, "%s", raw)
	assert.NotEmpty(t, e.Message)
	assert.NotContains(t, e.Message+e.Hint+strings.Join(e.Next, ""), "{", "a template was left unfilled: %s", raw)
	assert.NotEmpty(t, e.Hint)
	require.NotNil(t, e.Recoverable)
	require.NotNil(t, e.Retryable)
	assert.Equal(t, entry.Recoverable, *e.Recoverable)
	assert.Equal(t, entry.Retryable, *e.Retryable)
	assert.Equal(t, cmd.Name, e.Details["operation"], "%s", raw)
	assert.Equal(t, false, e.Details["changed"], "%s", raw)
	assert.LessOrEqual(t, len(e.Next), 3)
}

func TestEveryCommandAnswersInOneDocument(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		ex := examples()[cmd.Name]
		tests := map[string][]string{
			"works": ex.works, "fails": ex.fails,
			"bad flag":     append(slices.Clone(ex.works), "--no-such-flag"),
			"bad format":   append(slices.Clone(ex.works), "--as", "robot"),
			"help":         append(slices.Clone(ex.works), "--help"),
			"bad help":     append(slices.Clone(ex.works), "--help", "--no-such-flag"),
			"no value":     append(slices.Clone(ex.works), "--actor"),
			"too much":     append(slices.Clone(ex.works), "one", "two", "three"),
			"empty folder": append(slices.Clone(ex.works), "-C", "empty"),
		}
		if cmd.Name == "search" { // it takes any number of words
			delete(tests, "too much")
		}
		for name, argv := range tests {
			if argv == nil {
				continue
			}
			t.Run(cmd.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				b, ref := readyFor(t, cmd.Name)
				outside := filepath.Join(filepath.Dir(b.Dir), "empty")
				require.NoError(t, os.Mkdir(outside, 0o755))
				for i, arg := range argv {
					if arg == "empty" {
						argv[i] = outside
					}
				}
				argv := append(withRef(argv, ref), "--format", "json")
				before := tree(t, b.Dir)
				status := b.leslie(argv...)
				raw := b.out.String()
				if status != 0 {
					assert.Equal(t, before, tree(t, b.Dir), "a command that fails has changed nothing")
				}
				said, silent := &b.out, &b.err
				if streams(argv) {
					if status == 0 {
						assertStream(t, b)
						return
					}
					said, silent = silent, said
					raw = said.String()
				}
				a := document(t, said.Bytes())
				assert.Empty(t, silent.String(), "in JSON nothing is said beside the document")
				if name == "help" {
					assert.True(t, *a.Success)
					assert.Zero(t, status)
					return
				}
				assertAnswer(t, cmd, a, status, raw)
				wants := map[string]bool{
					"works": cmd.Name != "tui", "fails": false, "bad flag": false, "bad format": false, "bad help": false,
					"no value": false, "too much": false, "empty folder": slices.Contains(needNoStore(), cmd.Name),
				}
				assert.Equal(t, wants[name], *a.Success, "%s\n%s", strings.Join(argv, " "), raw)
				if name == "empty folder" && !*a.Success {
					assert.Equal(t, "T504", a.Error.Code)
					entries, err := os.ReadDir(outside)
					require.NoError(t, err)
					assert.Empty(t, entries, "a call without a store creates nothing")
				}
			})
		}
	}
}

// streams reports whether a line's answer is a stream: without an envelope on stdout, and
// with its error on stderr.
func streams(argv []string) bool {
	return (&cli.Call{Given: cli.Given{Line: cli.ParseLine(commands().All(), argv)}}).Streams()
}

// assertStream asserts what must be true of every successful stream in JSON.
func assertStream(t *testing.T, b *bench) {
	t.Helper()
	assert.Empty(t, b.err.String())
	assert.NotEmpty(t, b.out.String())
	for line := range strings.Lines(b.out.String()) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), "one object a line: %s", line)
		assert.NotContains(t, object, "success", "without an envelope")
	}
}

// spoken returns the document of the last call: on stdout, or on stderr if a stream
// failed.
func spoken(t *testing.T, b *bench) answer {
	t.Helper()
	if b.out.Len() == 0 {
		return document(t, b.err.Bytes())
	}
	return document(t, b.out.Bytes())
}

// tree returns every path below a folder with its content, without the log.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "logs":
			return fs.SkipDir
		case !d.Type().IsRegular():
			files[path] = d.Type().String()
			return nil
		}
		raw, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(raw)
		return err
	}))
	return files
}

func TestInTextModeOnlyTheAnswerIsOnStdout(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		t.Run(cmd.Name, func(t *testing.T) {
			t.Parallel()
			b, ref := readyFor(t, cmd.Name)
			ex := examples()[cmd.Name]
			if ex.fails != nil {
				require.NotZero(t, b.leslie(withRef(ex.fails, ref)...))
				assert.Empty(t, b.out.String())
				assert.Regexp(t, `^error code=T\d{3} msg="`, b.err.String())
			}
			if cmd.Name == "tui" || cmd.Name == "connect" { // which works in a folder that is no project
				return
			}
			require.Zero(t, b.leslie(withRef(ex.works, ref)...), b.err.String())
			assert.NotEmpty(t, b.out.String())
			assert.Empty(t, b.err.String())
			assert.True(t, strings.HasSuffix(b.out.String(), "\n"))
		})
	}
}

// TestJSONAndYAMLSayTheSame runs each line twice, in two equal projects.
func TestJSONAndYAMLSayTheSame(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		ex := examples()[cmd.Name]
		for name, argv := range map[string][]string{"works": ex.works, "fails": ex.fails} {
			if argv == nil || cmd.Name == "export" { // whose answer is a file, whatever the format
				continue
			}
			t.Run(cmd.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				var docs [2][]any
				var roots [2]string
				for i, format := range []string{"json", "yaml"} {
					b, ref := readyFor(t, cmd.Name)
					b.leslie(append(withRef(argv, ref), "--format", format)...)
					roots[i] = b.Dir
					said := b.out.Bytes()
					if len(said) == 0 && streams(argv) {
						said = b.err.Bytes()
					}
					docs[i] = documents(t, format, said)
				}
				assert.Equal(t, plain(t, docs[0], roots[0]), plain(t, docs[1], roots[1]))
			})
		}
	}
}

// documents returns the documents of an answer: one, or several of a stream.
func documents(t *testing.T, format string, said []byte) (all []any) {
	t.Helper()
	decode := json.NewDecoder(bytes.NewReader(said)).Decode
	if format == "yaml" {
		decode = yaml.NewDecoder(bytes.NewReader(said)).Decode
	}
	for {
		var doc any
		err := decode(&doc)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, all)
			return all
		}
		require.NoError(t, err, "%s", said)
		all = append(all, doc)
	}
}

// plain returns a document as text, without what differs between runs: the project's
// folder and the times of files.
func plain(t *testing.T, doc any, root string) string {
	t.Helper()
	raw, err := fact.JSON(doc)
	require.NoError(t, err)
	return strings.ReplaceAll(strings.ReplaceAll(string(raw), root, "ROOT"), filepath.Dir(root), "ABOVE")
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"", "plain", "yes", "012", "1e3", "- x", "a: b", "#", "\n", " lead", "trail ", "a\nb", "\n\n x\n", "\t", "'", `"`, "\u0085", "\u2028", "\x1b[2J", "|", ">", "~", "null", "2026-02-09", "=", "<<", "é", "\ufeff"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		key, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(value, "?")
		want := map[string]any{"k": map[string]any{key: []any{value, map[string]any{"n": value}, 12, 1.5, true, nil}}}
		raw, err := fact.JSON(want)
		require.NoError(t, err)
		var fromJSON, fromYAML any
		require.NoError(t, json.Unmarshal(raw, &fromJSON))
		require.NoError(t, yaml.Unmarshal(cli.ToYAML(raw), &fromYAML), "%s", cli.ToYAML(raw))
		a, err := fact.JSON(fromJSON)
		require.NoError(t, err)
		b, err := fact.JSON(fromYAML)
		require.NoError(t, err)
		assert.Equal(t, string(a), string(b))
	})
}

// TestSpecimens compares with the contract's examples, character by character.
func TestSpecimens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		golden, stream string
		argv           string
		status         int
	}{
		{"t101.txt", "err", "status thread-xyz", 11},
		{"t101.json", "out", "status thread-xyz --format json", 11},
		{"w202_reference.json", "out", "reference --from part --target thread-old --format json", 0},
		{"w202_spawn.json", "out", "spawn --intent x --id fresh --ref thread-old --format json", 0},
		{"w202.txt", "err", "reference --from part --target thread-old", 0},
		{"t903.json", "out", "spawn --intnt x --inherit som --format json", 2},
		{"t102.json", "out", "archive main --format json", 11},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			assert.Equal(t, tt.status, b.leslie(strings.Fields(tt.argv)...))
			said, silent := &b.out, &b.err
			if tt.stream == "err" {
				said, silent = &b.err, &b.out
			}
			if tt.status != 0 || tt.stream == "out" {
				assert.Empty(t, silent.String())
			}
			golden(t, tt.golden, strings.ReplaceAll(said.String(), filepath.Dir(b.Dir), "ROOT"))
		})
	}
}

// broken is a command whose answer panics in one place.
type broken struct{ onText, onJSON string }

func (d *broken) Text(*page.Page) {
	if d.onText != "" {
		panic(d.onText)
	}
}

func (d *broken) MarshalJSON() ([]byte, error) {
	if d.onJSON != "" {
		panic(d.onJSON)
	}
	return []byte("{}"), nil
}

func breakingCommands() []*cli.Command {
	coded := codes.ReadFailed.New(fact.Of("path", "x"), fact.Of("reason", "y"))
	return []*cli.Command{
		{Name: "run", Run: func(*cli.Call) (cli.Data, error) { panic("boom") }},
		{Name: "nil", Run: func(c *cli.Call) (cli.Data, error) { return nil, c.Params["x"].(error) }},
		{Name: "coded", Run: func(*cli.Call) (cli.Data, error) { panic(coded) }},
		{Name: "text", Run: func(*cli.Call) (cli.Data, error) { return &broken{onText: "boom"}, nil }},
		{Name: "json", Run: func(*cli.Call) (cli.Data, error) { return &broken{onJSON: "boom"}, nil }},
		{Name: "unknown", Run: func(*cli.Call) (cli.Data, error) { return nil, errors.New("never heard of") }},
	}
}

func TestPanicIsT901InTheAskedFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ command, format, code string }{
		{"run", "text", "T901"}, {"run", "json", "T901"}, {"run", "yaml", "T901"},
		{"nil", "json", "T901"}, {"coded", "json", "T509"}, {"unknown", "json", "T902"},
		{"text", "text", "T901"}, {"json", "json", "T901"}, {"json", "yaml", "T901"},
	}
	for _, tt := range tests {
		t.Run(tt.command+"/"+tt.format, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			status := b.perform(context.Background(), breakingCommands(), tt.command, "--format", tt.format)
			assert.Equal(t, codes.Code(tt.code).ExitStatus(), status)
			switch tt.format {
			case "text":
				assert.Empty(t, b.out.String())
				assert.Regexp(t, "^error code="+tt.code+` msg="Internal error: boom\. This is a bug in leslie, not in your call\." reason=boom\n`, b.err.String())
				return
			case "yaml":
				var doc any
				require.NoError(t, yaml.Unmarshal(b.out.Bytes(), &doc))
				raw, err := fact.JSON(doc)
				require.NoError(t, err)
				b.out.Reset()
				b.out.Write(append(raw, '\n'))
			}
			a := document(t, b.out.Bytes())
			require.NotNil(t, a.Error)
			assert.False(t, *a.Success)
			assert.Equal(t, tt.code, a.Error.Code)
			assert.Equal(t, tt.command, a.Error.Details["operation"])
			assert.Equal(t, false, a.Error.Details["changed"])
			log, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/logs/leslie.log"))
			require.NoError(t, err)
			assert.Contains(t, string(log), "level=error code="+tt.code)
		})
	}
}

// TestPanicBehindTheCommitSaysThatSomethingChanged: otherwise the caller might repeat the
// call.
func TestPanicBehindTheCommitSaysThatSomethingChanged(t *testing.T) {
	t.Parallel()
	late := &cli.Command{Name: "late", Writes: true, Run: func(c *cli.Call) (cli.Data, error) {
		_, err := cli.UseCase(c, threads.CreateObjective, threads.CreateObjectiveRequest{ID: "late", Title: "x"})
		require.NoError(t, err)
		panic("boom")
	}}
	b := newProject(t)
	assert.Equal(t, 1, b.perform(context.Background(), []*cli.Command{late}, "late", "--format", "json"))
	assert.Equal(t, true, document(t, b.out.Bytes()).Error.Details["changed"])
	b.must(t, "objective", "status", "late")
}

func TestAnInterruptedCallIsT904AndHasChangedNothing(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		if slices.Contains(needNoStore(), cmd.Name) {
			continue
		}
		t.Run(cmd.Name, func(t *testing.T) {
			t.Parallel()
			b, ref := readyFor(t, cmd.Name)
			before, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/thread_relations.json"))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			status := b.perform(ctx, commands().All(), append(withRef(examples()[cmd.Name].works, ref), "--format", "json")...)
			a := spoken(t, b)
			require.NotNil(t, a.Error, "%s", &b.out)
			assert.Equal(t, "T904", a.Error.Code)
			assert.Equal(t, 130, status)
			assertAnswer(t, cmd, a, status, b.out.String())
			after, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/thread_relations.json"))
			require.NoError(t, err)
			assert.Equal(t, string(before), string(after))
		})
	}
}

// TestAnInterruptEndsTheWaitForStandardInput: otherwise Ctrl-C would do nothing at "spawn
// --intent -".
func TestAnInterruptEndsTheWaitForStandardInput(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	defer w.Close()
	b.Stdin = readerFunc(func(p []byte) (int, error) {
		cancel() // the call waits for input
		return r.Read(p)
	})
	status := make(chan int, 1)
	go func() { status <- b.perform(ctx, commands().All(), "spawn", "--intent", "-") }()
	select {
	case got := <-status:
		assert.Equal(t, 130, got)
		assert.Contains(t, b.err.String(), "code=T904")
	case <-time.After(20 * time.Second):
		t.Fatal("the call still waits for input")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestNextLinesRunAsPrinted runs the first next line of every failing example.
func TestNextLinesRunAsPrinted(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		ex := examples()[cmd.Name]
		for name, argv := range map[string][]string{"fails": ex.fails, "bad flag": append(slices.Clone(ex.works), "--no-such-flag")} {
			if argv == nil {
				continue
			}
			t.Run(cmd.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				b, ref := readyFor(t, cmd.Name)
				b.leslie(append(withRef(argv, ref), "--format", "json")...)
				next := spoken(t, b).Error.Next
				require.NotEmpty(t, next)
				words := strings.Fields(next[0])
				require.Equal(t, "leslie", words[0])
				assert.Zero(t, b.leslie(words[1:]...), "%s\n%s", next[0], &b.err)
			})
		}
	}
}

func TestContextBlockHasAtMost9500Characters(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "spawn", "--intent", strings.Repeat("ü line & <b>\n", 4000), "--id", "wordy")
	for i := range 300 {
		b.write(t, ".leslie/threads/wordy/"+strings.Repeat("<", 30)+string(rune('a'+i%26))+strings.Repeat("x", i), "")
		if i > 200 {
			break
		}
	}
	b.must(t, "context", "wordy")
	block := strings.TrimSuffix(b.out.String(), "\n")
	assert.LessOrEqual(t, len([]rune(block)), 9500)
	assert.Greater(t, len([]rune(block)), 9000, "what fits is there")
	assert.True(t, strings.HasSuffix(block, "</thread_context>"))
	assert.Equal(t, 1, strings.Count(block, "<thread_context"))
}

// TestNextLinesNeverSpeakWithTheTerminal: a next line with control characters must run
// unchanged, so it is only in JSON and YAML.
func TestNextLinesNeverSpeakWithTheTerminal(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	require.NoError(t, os.Mkdir(filepath.Join(b.Dir, "a\x1b[2J"), 0o755))
	assert.Equal(t, 11, b.leslie("-C", "a\x1b[2J", "status", "thread-xyz"))
	assert.NotContains(t, b.err.String(), "\x1b")
	assert.Equal(t, 11, b.leslie("-C", "a\x1b[2J", "status", "thread-xyz", "--format", "json"))
	assert.Equal(t, []string{"leslie -C 'a\x1b[2J' list"}, document(t, b.out.Bytes()).Error.Next)
}
