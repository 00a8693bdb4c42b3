package projectcmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/projects"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file implements the commands about projects on several machines.

type remoteConfigText struct{ *projects.RemoteConfigResult }

func (d remoteConfigText) Text(p *page.Page) {
	p.Line("wrote %s", d.Dir)
	for _, name := range d.Files {
		p.Line("  %s", filepath.Base(name))
	}
	for _, line := range d.Start {
		p.Field("start", line)
	}
	if len(d.Start) > 1 {
		p.Line("copy each NAME.conf to the machine of its server, and correct its paths there (store_dir, and those of " +
			"a certificate)")
	}
	p.Field("first machine", d.Init)
	p.Field("other machines", d.Connect+", with the PROJECT that the first prints and a copy of writer.creds")
	if d.Trusts {
		p.Line("The credentials have the certificate that whoever uses them has to trust")
	}
	if d.Plain {
		p.Line("Nothing is encrypted on its way: use it inside a private network, or with --tls-cert and --tls-key")
	}
}

// RemoteConfig is the command leslie remote config.
func RemoteConfig() *cli.Command {
	return &cli.Command{
		Name: "remote config", Summary: "write the configuration of NATS servers for a project, with new credentials",
		Writes: true, Unrecorded: true,
		Detail: "Writes NAME.conf for each server, which nats-server -c starts, and the credentials of an " +
			"administrator, who makes the log, of writers, for the other machines, and of readers. The servers hold " +
			"no secret. Without --servers: one for this machine alone. A log has one server or three. What they store " +
			"is in DIR/data; on another machine, correct that line of NAME.conf. DIR is made.",
		Example:  "leslie remote config ~/leslie-server --servers hub=192.168.1.10:4222",
		Operands: []cli.Operand{{Value: cli.Text("DIR").Offering(cli.FileNames)}},
		Flags: []cli.Flag{
			cli.NewFlag("servers", cli.Texts("NAME=HOST:PORT"), "a server, by the address at which machines reach it; repeat it"),
			cli.NewFlag("tls-cert", cli.Text("FILE").Offering(cli.FileNames), "the servers' TLS certificate"),
			cli.NewFlag("tls-key", cli.Text("FILE").Offering(cli.FileNames), "its key"),
			cli.NewFlag("tls-ca", cli.Text("FILE").Offering(cli.FileNames),
				"the certificate of an authority of your own that signed it"),
		},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.RemoteConfigRequest{
				Dir: absolute(c, c.Operand(0)), Servers: c.Texts("servers"),
				Certificate: absolute(c, c.Text("tls-cert")), Key: absolute(c, c.Text("tls-key")),
				Authority: absolute(c, c.Text("tls-ca")),
			}
			if c.Operand(0) != "" {
				c.CheckRequest(in.Faults, map[string]string{
					"Dir": "DIR", "Servers": "--servers", "Key": "--tls-key", "Authority": "--tls-ca",
				})
			}
			if err := c.Usage(); err != nil {
				return nil, err
			}
			d, err := projects.RemoteConfig(c.Environment(), in)
			if err != nil {
				return nil, err
			}
			return remoteConfigText{d}, nil
		},
	}
}

// credsFlag names a file of credentials.
func credsFlag() cli.Flag {
	return cli.NewFlag("creds", cli.Text("FILE").Offering(cli.FileNames),
		"a file of credentials; this machine keeps a copy for the project")
}

// absolute is a file or folder that a line names, "" for none.
func absolute(c *cli.Call, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Who.Dir, name)
}

// credentialsKept says that credentials which a line names are those of the project here from now on.
const credentialsKept = "this machine keeps a copy of the credentials, in .leslie/remote, and uses them from now on"

type remoteInitText struct{ *projects.RemoteInitResult }

// log says which log was made.
func (d remoteInitText) log(p *page.Page) {
	p.Line("remote %s  %s", d.Project, fact.Plural(d.Operations, "operation"))
	p.Field("replicas", d.Replicas)
}

func (d remoteInitText) Text(p *page.Page) {
	d.log(p)
	creds := ""
	if d.Credentials {
		p.Line(credentialsKept)
		creds = " --creds FILE, with a writer's credentials"
	}
	p.Line("next: leslie connect %s%s", d.URL, creds)
}

func urlOperand(needed bool) cli.Operand {
	return cli.Operand{Value: &cli.Value{Shown: "URL", Check: cli.AcceptAny}, Optional: !needed}
}

// checkURL adds the faults of the operand, if it is there.
func checkURL(c *cli.Call, faults func(app.Names) []app.Fault) {
	if c.Operand(0) != "" {
		c.CheckRequest(faults, map[string]string{"URL": "URL"})
	}
}

// RemoteInit is the command leslie remote init.
func RemoteInit() *cli.Command {
	return &cli.Command{
		Name: "remote init", Summary: "make the project's log on a remote, so that other machines can work on it",
		Writes: true, NotBatchable: true,
		Detail: "Uploads the whole history and the artifacts of all threads to NATS JetStream servers, and connects " +
			"this store. Other machines then run leslie connect with the URL that this prints. Before anything is " +
			"uploaded, the settings of the servers are checked. Run it again if it was interrupted.",
		Example:  "leslie remote init nats://one.example.com,two.example.com,three.example.com",
		Operands: []cli.Operand{urlOperand(true)}, Flags: []cli.Flag{credsFlag()},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.RemoteInitRequest{URL: c.Operand(0), Credentials: absolute(c, c.Text("creds"))}
			checkURL(c, in.Faults)
			return cli.RunUseCase(c, projects.RemoteInit, in,
				func(d *projects.RemoteInitResult) cli.Data { return remoteInitText{d} })
		},
	}
}

type remoteRestoreText struct{ *projects.RemoteRestoreResult }

func (d remoteRestoreText) Text(p *page.Page) {
	remoteInitText{&d.RemoteInitResult}.log(p)
	if d.Credentials {
		p.Line(credentialsKept)
		p.Line("a writer's are enough: leslie remote move %s --creds FILE takes them", d.URL)
	}
	if d.Renewed > 0 {
		p.Field("content stored again", d.Renewed)
	}
	damagedText(p, "not restored", d.Damaged, "the servers do not keep what this machine has stored again")
	if len(d.Damaged) > 0 {
		p.Line("next, on a machine that has it: leslie publish ID for files and commits of a thread, " +
			"or leslie remote restore --creds FILE for all")
	} else {
		p.Line("next: leslie remote status on the other machines; one that knows more, or something else, " +
			"says what to do (T512)")
	}
}

// RemoteRestore is the command leslie remote restore.
func RemoteRestore() *cli.Command {
	return &cli.Command{
		Name: "remote restore", Summary: "make the project's log anew from this machine's copy", Writes: true,
		NotBatchable: true,
		Detail: "For servers that have lost the log, went back to an older one, or have it or content damaged " +
			"(T513): what this machine has of that content is stored again. Compare leslie remote status on all " +
			"machines first, and run this where the revision is greatest. A log that is there is never replaced: a " +
			"machine that knows more appends what is missing, as long as nobody has written anything else. With URL: " +
			"on other servers; the other machines then run leslie remote move.",
		Example: "leslie remote restore --creds admin.creds", Operands: []cli.Operand{urlOperand(false)},
		Flags: []cli.Flag{cli.NewFlag("creds", cli.Text("FILE").Offering(cli.FileNames), "a file of an administrator's credentials")},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.RemoteRestoreRequest{URL: c.Operand(0), Credentials: absolute(c, c.Text("creds"))}
			checkURL(c, in.Faults)
			return cli.RunUseCase(c, projects.RemoteRestore, in,
				func(d *projects.RemoteRestoreResult) cli.Data { return remoteRestoreText{d} })
		},
	}
}

type remoteRejoinText struct {
	*projects.RemoteRejoinResult
	commands cli.CommandTable
	line     string // of the same command without --dry-run
}

func (d remoteRejoinText) Text(p *page.Page) {
	if d.Changed {
		p.Line("rejoined %s as %s, at revision %d", d.URL, d.Machine, d.Revision)
	}
	p.Line("what the log lacks, since revision %d:", d.Common)
	operationsTable(p, d.Operations)
	if !d.Changed {
		p.Line("next: %s  (keeps this copy beside the project, makes a new one of the log, and names the threads, "+
			"branches and notes that differ)", d.line)
		return
	}
	partedText(p, d.Threads)
	againText(p, d.commands, d.Kept, d.Operations, d.Again)
	p.Line("the copy as it was: leslie -C %s --offline history", p.Place(d.Kept))
	keptNotesText(p, d.Kept, d.Notes)
	if d.Renewed > 0 {
		p.Field("content that the servers had lost, stored again", d.Renewed)
	}
	p.Line("next: leslie list")
}

func operationsTable(p *page.Page, operations []app.OperationRecord) {
	var rows [][]string
	for _, op := range operations {
		rows = append(rows, []string{string(op.OperationID), p.At(op.Time), op.Command, string(app.OrZero(op.ThreadID))})
	}
	p.Table("OPERATION TIME COMMAND THREAD", rows)
}

// againText shows the lines of operations that the log lacks, for whoever wants their effect again.
func againText(p *page.Page, commands cli.CommandTable, kept string, operations []app.OperationRecord,
	again []thread.OperationID,
) {
	last := ""
	for _, op := range operations {
		if !slices.Contains(again, op.OperationID) {
			continue
		}
		line := commands.LineOf(op.Command, app.OrZero(op.ThreadID), op.Params)
		if line == "" {
			line = fmt.Sprintf("%s, as leslie -C %s --offline show %s has it", op.Command, p.Place(kept), op.OperationID)
		}
		if last == "" {
			p.Line("to do again what you still want of it, in this order:")
		}
		if line != last { // a drop is several operations
			p.Line("  %s", line)
		}
		last = line
	}
}

// keptNotesText says where the notes are of a store that was kept, and which of them the project has otherwise.
func keptNotesText(p *page.Page, kept string, differ []projects.KeptNotes) {
	p.Line("its notes, to take over what you need: %s", p.Place(filepath.Join(kept, app.StoreFolder, "threads")))
	for _, n := range differ {
		p.Line("  not as in the project: %s/%s", n.ThreadID, strings.Join(n.Paths, ", "+string(n.ThreadID)+"/"))
	}
}

// partedText says how threads that the log lacks are made again.
func partedText(p *page.Page, threads []projects.PartedThread) {
	for _, t := range threads {
		spawn := "leslie spawn "
		if t.ObjectiveID != "" {
			spawn += "--objective " + string(t.ObjectiveID) + " "
		}
		spawn += external.Word(t.Title)
		again := fmt.Sprintf("%s --id %s", spawn, t.ThreadID)
		switch {
		case t.Other && t.Branch != "":
			was := ""
			if t.Renamed != "" {
				was = ", which was " + t.Renamed
			}
			own := string(t.ThreadID) + "-own"
			p.Line("%s is another thread in the log; the branch of yours is %s%s: %s --id %s%s", t.ThreadID, t.Branch,
				was, spawn, own, branchOrWorktree(p, own, t.Branch, t.Worktree))
		case t.Other:
			p.Line("%s is another thread in the log: %s --id %s-own makes yours again", t.ThreadID, spawn, t.ThreadID)
		case t.Tip != "" && t.GoesOn:
			p.Line("the log has %s, without its landing on %s (up to %s), and goes on with it: leslie status %s",
				t.ThreadID, t.LandedOn, t.Tip[:12], t.ThreadID)
		case t.Tip != "" && t.BranchGone != "":
			p.Line("the log has %s, without its landing on %s: git branch %s %s, then leslie land %s, records it again",
				t.ThreadID, t.LandedOn, external.Word(t.BranchGone), t.Tip[:12], t.ThreadID)
		case t.Tip != "":
			p.Line("the log has %s, without its landing on %s: leslie land %s records it again", t.ThreadID, t.LandedOn, t.ThreadID)
		case t.LandedOn != "" && t.Branch == "":
			p.Line("%s is not in the log; its code had landed on %s", t.ThreadID, t.LandedOn)
		case t.Branch == "":
			p.Line("%s is not in the log: %s", t.ThreadID, again)
		default:
			p.Line("%s is not in the log; its branch %s is here: %s%s", t.ThreadID, t.Branch, again,
				branchOrWorktree(p, string(t.ThreadID), t.Branch, t.Worktree))
		}
	}
}

// branchOrWorktree is the rest of a line that spawns a thread on a branch that is there, in its worktree if that is
// there.
func branchOrWorktree(p *page.Page, id, branch, worktree string) string {
	if worktree == "" {
		return " --code --branch " + branch
	}
	return ", and leslie update " + id + " --worktree " + p.Place(worktree)
}

// RemoteRejoin is the command leslie remote rejoin.
func RemoteRejoin() *cli.Command {
	return &cli.Command{
		Name: "remote rejoin", Summary: "make a copy that parted from the project's log a copy of it again", Writes: true, NotBatchable: true,
		Detail: "For a machine that says T512 because the log was made anew without operations that it had made " +
			"or seen, and went on. Lists them, moves this machine's copy into .leslie-parted-1 beside it, and makes a " +
			"new one, under the same name: claims and worktrees that the log knows are its own again. Branches and " +
			"worktrees stay; a branch whose name another thread of the log has becomes NAME-own. Nothing is deleted: " +
			"read the old copy there with --offline, and do again what you need of it. With URL: where the log is on " +
			"other servers now.",
		Example: "leslie remote rejoin --dry-run", Operands: []cli.Operand{urlOperand(false)},
		Flags: []cli.Flag{cli.Toggle("dry-run", "show what the log lacks, and change nothing"), credsFlag()},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.RemoteRejoinRequest{URL: c.Operand(0), Credentials: absolute(c, c.Text("creds")), DryRun: c.On("dry-run")}
			checkURL(c, in.Faults)
			return cli.RunUseCase(c, projects.RemoteRejoin, in,
				func(d *projects.RemoteRejoinResult) cli.Data {
					return remoteRejoinText{d, c.Env.Commands, rejoinLine(c)}
				})
		},
	}
}

// rejoinLine is a line of remote rejoin without --dry-run.
func rejoinLine(c *cli.Call) string {
	words := []string{"leslie", "remote", "rejoin"}
	if url := c.Operand(0); url != "" {
		words = append(words, url)
	}
	if c.Has("creds") {
		words = append(words, "--creds", c.Text("creds"))
	}
	return external.Line(words...)
}

type remoteStatusText struct{ *projects.RemoteStatusResult }

func (d remoteStatusText) Text(p *page.Page) {
	switch {
	case d.Return != "":
		p.Line("this machine has left a project, and comes back with: %s", d.Return)
		keptCopiesText(p, d.Kept)
		return
	case !d.Connected:
		p.Line("the project is on this machine alone; leslie remote init URL makes it one of several machines")
		return
	}
	p.Line("remote %s", *d.URL)
	p.Field("machine", *d.Machine)
	p.Field("revision", d.Revision)
	switch {
	case d.Damaged:
		p.Field("damaged", d.Reason)
	case d.Diverged:
		p.Field("diverged", d.Reason)
	case !d.Reachable:
		p.Field("unreachable", d.Reason)
		answer := 0
		for _, s := range d.Servers {
			if s.Answers {
				answer++
			}
		}
		switch {
		case answer == 0 && !d.Untrusted:
			p.Line("if the servers have another address now: leslie remote move URL")
		case answer > 1 && answer == len(d.Servers):
			p.Line("servers that were started agree on a leader first, which takes some seconds: repeat leslie remote status")
		}
	case *d.Lag > 0:
		p.Field("behind", fact.Plural(*d.Lag, "operation"))
	default:
		p.Field("behind", "nothing")
	}
	if d.Hint != "" {
		p.Field("hint", d.Hint)
	}
	serversText(p, d.Servers, d.Reachable)
	if d.ReadOnly {
		p.Field("credentials", "they only read (leslie remote move URL --creds FILE takes others)")
	}
	var rows [][]string
	for _, m := range d.Machines {
		name := m.Name
		if m.Own {
			name += " (this one)"
		}
		rows = append(rows, []string{name, strconv.Itoa(int(m.Seq)), p.At(m.Last)})
	}
	p.Table("MACHINE NEWEST AT", rows)
	for _, id := range d.Leaving {
		p.Line("%s", page.LeavingText(id))
	}
	keptCopiesText(p, d.Kept)
}

// serversText says how many of several servers answer, and which do not: a machine reaches the log through one of them.
func serversText(p *page.Page, servers []projects.ServerStanding, reachable bool) {
	if len(servers) < 2 {
		return
	}
	var silent, untrusted []string
	for _, s := range servers {
		switch {
		case s.Untrusted:
			untrusted = append(untrusted, s.URL)
		case !s.Answers:
			silent = append(silent, s.URL)
		}
	}
	answer := len(servers) - len(silent) - len(untrusted)
	text := fmt.Sprintf("%d of %d answer", answer, len(servers))
	if len(silent) > 0 {
		text += "; no answer from " + strings.Join(silent, ", ")
	}
	if len(untrusted) > 0 {
		text += "; not trusted here is the certificate of " + strings.Join(untrusted, ", ")
	}
	if needed := len(servers)/2 + 1; !reachable && answer > 0 && answer < needed {
		text += fmt.Sprintf("; it takes %d", needed)
	}
	p.Field("servers", text)
}

// keptCopiesText names the copies that are kept beside the project's.
func keptCopiesText(p *page.Page, kept []app.KeptCopy) {
	for _, k := range kept {
		if k.Unfinished {
			p.Line("%s", page.UnfinishedCopyText(k))
		} else {
			p.Line("kept: %s, a copy as it was (leslie -C %s --offline history); delete it when you need nothing of it", k.Path, k.Path)
		}
	}
}

// RemoteStatus is the command leslie remote status.
func RemoteStatus() *cli.Command {
	return &cli.Command{
		Name:    "remote status",
		Summary: "show where the project's log is, how far behind this machine is, and who writes",
		Example: "leslie remote status",
		Run: func(c *cli.Call) (cli.Data, error) {
			return cli.RunUseCase(c, projects.RemoteStatus, projects.RemoteStatusRequest{},
				func(d *projects.RemoteStatusResult) cli.Data { return remoteStatusText{d} })
		},
	}
}

type remoteCheckText struct{ *projects.RemoteCheckResult }

func (d remoteCheckText) Text(p *page.Page) {
	p.Line("%s, %s of each log", fact.Plural(d.Servers, "server"), fact.Plural(d.Replicas, "replica"))
	var rows [][]string
	for _, s := range d.Settings {
		verdict := "fine"
		if !s.Fine {
			verdict = "wanted: " + s.Wanted
		}
		rows = append(rows, []string{s.Server, s.What, s.Found, verdict})
	}
	p.Table("SERVER SETTING FOUND VERDICT", rows)
	switch {
	case d.Log == nil:
	case len(d.Log.Damaged) == 0:
		p.Field("log", fact.Plural(int(d.Log.Lines), "line")+", each of them whole")
	default:
		p.Field("log", fact.Plural(int(d.Log.Lines), "line")+", damaged: "+strings.Trim(fmt.Sprint(d.Log.Damaged), "[]"))
	}
	if d.Content == nil {
		return
	}
	if len(d.Content.Damaged) == 0 {
		p.Field("content", fact.Plural(d.Content.Blobs, "blob")+", each of them whole")
	}
	damagedText(p, "damaged content", d.Content.Damaged, "whole on this machine")
}

// damagedText names content that no server has whole, once what several pieces of it belong to; here says how this
// machine has it.
func damagedText(p *page.Page, name string, all []projects.DamagedContent, here string) {
	for _, one := range projects.DistinctDamage(all) {
		where := "not on this machine"
		if one.Here {
			where = here
		}
		p.Field(name, one.What+" ("+where+")")
	}
}

// IsPartialResult: what was found is shown, too.
func (d remoteCheckText) IsPartialResult() {}

// RemoteCheck is the command leslie remote check.
func RemoteCheck() *cli.Command {
	return &cli.Command{
		Name: "remote check", Summary: "check how the servers of a remote are set up, and the project's log",
		Detail: "Without URL those of the project, every line of its log and all content: T513 names what no server " +
			"has whole. Settings with which a power cut could lose what was acknowledged are refused (T402), with " +
			"the lines to add.",
		Example:  "leslie remote check nats://one.example.com",
		Operands: []cli.Operand{urlOperand(false)},
		Flags: []cli.Flag{cli.NewFlag("creds", cli.Text("FILE").Offering(cli.FileNames),
			"a file of credentials, for this call alone")},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.RemoteCheckRequest{URL: c.Operand(0), Credentials: absolute(c, c.Text("creds"))}
			checkURL(c, in.Faults)
			d, err := cli.UseCase(c, projects.RemoteCheck, in)
			if d == nil {
				return nil, err
			}
			return remoteCheckText{d}, err
		},
	}
}

type remoteLeaveText struct{ *projects.RemoteLeaveResult }

func (d remoteLeaveText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing to do: the project is on this machine alone")
		return
	}
	p.Line("left %s: this store is one of its own now, at revision %d", d.URL, d.Revision)
	if d.Old {
		p.Line("nobody answered there: what others did since this machine last heard is not here")
	}
	if len(d.Missing) > 0 {
		p.Line("artifacts that are not here: of %s", app.Joined(d.Missing))
	}
	for _, what := range d.Lacking {
		p.Line("content that is not here: %s", what)
	}
	if len(d.Elsewhere) > 0 {
		p.Line("worktrees that are on other machines: of %s (leslie code setup ID makes one here of the commits that came)", app.Joined(d.Elsewhere))
	}
	if len(d.Released) > 0 {
		p.Line("released, so that the others can claim them: %s", app.Joined(d.Released))
	}
	if len(d.Held) > 0 {
		p.Line("claims that the others see until they expire: on %s", app.Joined(d.Held))
	}
	p.Line("to come back: %s", d.Return)
	p.Line("then what was done here alone is kept beside the project")
}

// RemoteLeave is the command leslie remote leave.
func RemoteLeave() *cli.Command {
	return &cli.Command{
		Name: "remote leave", Summary: "make this machine's copy a store of its own", Writes: true, NotBatchable: true,
		Detail: "Releases what somebody here holds, as leslie release does, brings all artifacts, content and commits " +
			"here, and says what cannot be had now. The log and the other machines see nothing of what is done here from then on.",
		Example: "leslie remote leave",
		Run: func(c *cli.Call) (cli.Data, error) {
			return cli.RunUseCase(c, projects.RemoteLeave, projects.RemoteLeaveRequest{},
				func(d *projects.RemoteLeaveResult) cli.Data { return remoteLeaveText{d} })
		},
	}
}

type remoteMoveText struct{ *projects.RemoteMoveResult }

func (d remoteMoveText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing to do: the project's log is at %s", d.URL)
		return
	}
	if d.Credentials {
		p.Line(credentialsKept)
	}
	if d.URL == d.Was {
		p.Line("the project's log is at %s, as before", d.URL)
		return
	}
	p.Line("the project's log is at %s now; it was at %s", d.URL, d.Was)
	p.Line("next: the same line on every other machine")
}

// RemoteMove is the command leslie remote move.
func RemoteMove() *cli.Command {
	return &cli.Command{
		Name: "remote move", Summary: "record that the project's servers have another address", Writes: true, NotBatchable: true,
		Detail: "The project's log must be there, with all that this machine knows: after its servers moved with what " +
			"they store, or another machine has restored it on new ones. Run it on each machine. With the address that they " +
			"have, and --creds: other credentials for this machine.",
		Example: "leslie remote move nats://two.example.com", Operands: []cli.Operand{urlOperand(true)}, Flags: []cli.Flag{credsFlag()},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.RemoteMoveRequest{URL: c.Operand(0), Credentials: absolute(c, c.Text("creds"))}
			checkURL(c, in.Faults)
			return cli.RunUseCase(c, projects.RemoteMove, in, func(d *projects.RemoteMoveResult) cli.Data { return remoteMoveText{d} })
		},
	}
}

type connectText struct {
	*projects.ConnectResult
	commands cli.CommandTable
	url      string
}

func (d connectText) Text(p *page.Page) {
	p.Line("connected %s/%s to %s at revision %d: %s", d.Root, app.StoreFolder, d.Project, d.Revision,
		fact.Plural(d.Threads, "thread"))
	p.Field("machine", d.Machine)
	switch {
	case d.Kept == "":
	case len(d.Operations)+len(d.Notes)+len(d.Alone) == 0:
		p.Line("nothing was done here alone; the store as it was is in %s", p.Place(d.Kept))
	default:
		p.Line("what was done here alone, and is in %s:", p.Place(d.Kept))
		operationsTable(p, d.Operations)
		keptNotesText(p, d.Kept, d.Notes)
		partedText(p, d.Alone)
		againText(p, d.commands, d.Kept, d.Operations, d.Again)
	}
	if d.LastWrote != nil {
		p.Line("%s wrote last at %s: if another machine goes on under that name, both are one holder", d.Machine, p.At(*d.LastWrote))
	}
	if d.Was != "" {
		p.Line("worktrees of %s are here; if this machine was that, and lost its copy: leslie connect %s --machine %s", d.Was, d.url, d.Was)
	}
	if d.CredentialsNotKept {
		p.Line("the credentials stay where LESLIE_REMOTE_CREDS names them, for each call: connect with --creds FILE keeps a copy")
	}
	if d.NoCode != "" {
		p.Line("threads here cannot own code: %s", d.NoCode)
	}
	p.Line("next: leslie list")
}

// Connect is the command leslie connect.
func Connect() *cli.Command {
	return &cli.Command{
		Name: "connect", Summary: "make this folder a copy of a project that other machines work on", Writes: true,
		Unrecorded: true,
		Detail: "URL is what leslie remote init and leslie remote status show. The folder gets a store with the " +
			"whole history; artifacts come when you look at a thread. Credentials are in the file that --creds names, " +
			"or LESLIE_REMOTE_CREDS, else in ~/.leslie/remote.creds. Run it again if it was interrupted. A machine that " +
			"has lost its copy, or has left the project, takes the name that it had with --machine: its claims and worktrees are its own again.",
		Example:  "leslie connect nats://one.example.com/proj-k3v7q2ma",
		Operands: []cli.Operand{urlOperand(true)},
		Flags: []cli.Flag{credsFlag(),
			cli.NewFlag("machine", cli.Text("NAME"), "the name of this machine in the project before, as leslie remote status shows it")},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := projects.ConnectRequest{
				Dir: c.Who.Dir, URL: c.Operand(0), Credentials: absolute(c, c.Text("creds")), Machine: c.Text("machine"),
			}
			c.CheckRequest(in.Faults, map[string]string{"URL": "URL", "Machine": "--machine"})
			if err := c.Usage(); err != nil {
				return nil, err
			}
			op, d, err := projects.Connect(c.Ctx, c.Environment(), c.Caller(), c.Request(), in)
			c.Op = op
			if d == nil {
				return nil, err
			}
			return connectText{d, c.Env.Commands, c.Operand(0)}, err
		},
	}
}

type publishText struct {
	*projects.PublishResult
	named bool // the line names the thread
}

func (d publishText) Text(p *page.Page) {
	switch {
	case len(d.Threads) == 0 && d.TravelOff:
		p.Line("nothing was published: commits stay on this machine, because code.travel is off in your configuration " +
			"(git push takes them on)")
	case len(d.Threads) == 0 && d.NotSent: // a warning says why
		p.Line("nothing was published: commits stay on this machine")
	case len(d.Threads) == 0 && len(d.Left) == 0 && d.named:
		p.Line("nothing to publish: what is here has been published, and the servers have it again if they had lost it")
	case len(d.Threads) == 0 && len(d.Left) == 0:
		p.Line("nothing to publish: what is here has been published")
	}
	for _, t := range d.Threads {
		var parts []string
		if t.FilesChanged > 0 {
			parts = append(parts, fact.Plural(t.FilesChanged, "file"))
		}
		if t.FilesDeleted > 0 {
			parts = append(parts, fact.Plural(t.FilesDeleted, "file")+" deleted")
		}
		if t.Commit != "" {
			parts = append(parts, "its commits up to "+t.Commit[:12])
		}
		left := ""
		if t.Uncommitted > 0 {
			left = "; not committed, and not published: " + fact.Plural(t.Uncommitted, "file")
		}
		p.Line("published %s: %s%s", t.ThreadID, cmp.Or(strings.Join(parts, ", "), "how its worktree stands"), left)
	}
	for _, t := range d.Left {
		p.Line("left %s  %s", t.ThreadID, t.Reason)
	}
}

// IsPartialResult: the others are published.
func (publishText) IsPartialResult() {}

// Publish is the command leslie publish.
func Publish() *cli.Command {
	return &cli.Command{
		Name: "publish", Summary: "take the artifacts and commits of threads to the other machines now", Writes: true,
		NotBatchable: true,
		Detail: "In a project on several machines both go along with what hands work on: done, checkpoint, " +
			"merge, reference, spawn, transfer, release, suspend. This is for in between. Without ID it publishes " +
			"all threads whose work has changed here.",
		Example:  "leslie publish write-docs",
		Operands: []cli.Operand{cli.Operand{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}},
		Run: func(c *cli.Call) (cli.Data, error) {
			d, err := cli.UseCase(c, projects.Publish, projects.PublishRequest{Thread: c.Operand(0)})
			if d == nil {
				return nil, err
			}
			return publishText{d, c.Operand(0) != ""}, err
		},
	}
}
