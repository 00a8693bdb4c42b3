package main

import (
	"fmt"
	"strconv"

	"leslie/internal/app"
)

// This file implements the commands about projects on several machines.

// remoteMakers are these commands.
func remoteMakers() []maker {
	return []maker{
		{"remote init", remoteInitCommand},
		{"remote status", remoteStatusCommand},
		{"remote check", remoteCheckCommand},
		{"remote restore", remoteRestoreCommand},
		{"remote leave", remoteLeaveCommand},
		{"connect", connectCommand},
		{"publish", publishCommand},
	}
}

type remoteInitText struct{ *app.RemoteInitResult }

func (d remoteInitText) Text(p *page) {
	p.line("remote %s  %s", d.Project, many(d.Operations, "operation"))
	p.field("replicas", d.Replicas)
	p.line("next: leslie connect %s", d.URL)
}

func urlOperand(needed bool) operand {
	return operand{value: &value{shown: "URL", check: fits}, optional: !needed}
}

// checkURL adds the faults of the operand, if it is there.
func checkURL(c *call, faults func(app.Names) []app.Fault) {
	if c.operand(0) != "" {
		c.checkRequest(faults, map[string]string{"URL": "URL"})
	}
}

func remoteInitCommand() *command {
	return &command{
		name: "remote init", summary: "make the project's log on a remote, so that other machines can work on it", writes: true, notBatchable: true,
		detail: "Uploads the whole history and the artifacts of all threads to NATS JetStream servers, and connects this store. Other machines then run " +
			"leslie connect with the URL that this prints. Before anything is uploaded, the settings of the servers are checked. Run it again if it was interrupted.",
		example:  "leslie remote init nats://one.example.com,two.example.com,three.example.com",
		operands: []operand{urlOperand(true)},
		run: func(c *call) (Data, error) {
			in := app.RemoteInitRequest{URL: c.operand(0)}
			checkURL(c, in.Faults)
			return runUseCase(c, app.RemoteInit, in, func(d *app.RemoteInitResult) Data { return remoteInitText{d} })
		},
	}
}

func remoteRestoreCommand() *command {
	return &command{
		name: "remote restore", summary: "make the project's log anew from this machine's copy", writes: true, notBatchable: true,
		detail: "For servers that have lost the log, or went back to an older one. Compare leslie remote status on all machines first, and run this where the " +
			"revision is greatest: operations that only other machines know are refused there from then on (T512).",
		example: "leslie remote restore",
		run: func(c *call) (Data, error) {
			return runUseCase(c, app.RemoteRestore, app.RemoteRestoreRequest{}, func(d *app.RemoteInitResult) Data { return remoteInitText{d} })
		},
	}
}

type remoteStatusText struct{ *app.RemoteStatusResult }

func (d remoteStatusText) Text(p *page) {
	if !d.Connected {
		p.line("the project is on this machine alone; leslie remote init URL makes it one of several machines")
		return
	}
	p.line("remote %s", *d.URL)
	p.field("machine", *d.Machine)
	p.field("revision", d.Revision)
	switch {
	case d.Diverged:
		p.field("diverged", d.Reason)
	case !d.Reachable:
		p.field("unreachable", d.Reason)
	case *d.Lag > 0:
		p.field("behind", many(*d.Lag, "operation"))
	default:
		p.field("behind", "nothing")
	}
	var rows [][]string
	for _, m := range d.Machines {
		name := m.Name
		if m.Own {
			name += " (this one)"
		}
		rows = append(rows, []string{name, strconv.Itoa(m.Operations), strconv.Itoa(int(m.Seq)), p.at(m.Last)})
	}
	p.table("MACHINE OPERATIONS NEWEST AT", rows)
}

func remoteStatusCommand() *command {
	return &command{
		name: "remote status", summary: "show where the project's log is, how far behind this machine is, and who writes",
		example: "leslie remote status",
		run: func(c *call) (Data, error) {
			return runUseCase(c, app.RemoteStatus, app.RemoteStatusRequest{}, func(d *app.RemoteStatusResult) Data { return remoteStatusText{d} })
		},
	}
}

type remoteCheckText struct{ *app.RemoteCheckResult }

func (d remoteCheckText) Text(p *page) {
	p.line("%s, %s of each log", many(d.Servers, "server"), many(d.Replicas, "replica"))
	var rows [][]string
	for _, s := range d.Settings {
		verdict := "fine"
		if !s.Fine {
			verdict = "wanted: " + s.Wanted
		}
		rows = append(rows, []string{s.Server, s.What, s.Found, verdict})
	}
	p.table("SERVER SETTING FOUND VERDICT", rows)
}

func remoteCheckCommand() *command {
	return &command{
		name: "remote check", summary: "check how the servers of a remote are set up",
		detail:   "Without URL those of the project. Settings with which a power cut could lose what was acknowledged are refused (T402), with the lines to add.",
		example:  "leslie remote check nats://one.example.com",
		operands: []operand{urlOperand(false)},
		run: func(c *call) (Data, error) {
			in := app.RemoteCheckRequest{URL: c.operand(0)}
			checkURL(c, in.Faults)
			return runUseCase(c, app.RemoteCheck, in, func(d *app.RemoteCheckResult) Data { return remoteCheckText{d} })
		},
	}
}

type remoteLeaveText struct{ *app.RemoteLeaveResult }

func (d remoteLeaveText) Text(p *page) {
	if !d.Changed {
		p.line("nothing to do: the project is on this machine alone")
		return
	}
	p.line("left %s: this store is one of its own now", d.URL)
}

func remoteLeaveCommand() *command {
	return &command{
		name: "remote leave", summary: "make this machine's copy a store of its own", writes: true, notBatchable: true,
		detail:  "Brings all published artifacts here first. The log and the other machines stay as they are, and see nothing of what is done here from then on.",
		example: "leslie remote leave",
		run: func(c *call) (Data, error) {
			return runUseCase(c, app.RemoteLeave, app.RemoteLeaveRequest{}, func(d *app.RemoteLeaveResult) Data { return remoteLeaveText{d} })
		},
	}
}

type connectText struct{ *app.ConnectResult }

func (d connectText) Text(p *page) {
	p.line("connected %s/%s to %s at revision %d: %s", d.Root, app.StoreFolder, d.Project, d.Revision, many(d.Threads, "thread"))
	p.field("machine", d.Machine)
	p.line("next: leslie list")
}

func connectCommand() *command {
	return &command{
		name: "connect", summary: "make this folder a copy of a project that other machines work on", writes: true, unrecorded: true,
		detail: "URL is what leslie remote init and leslie remote status show. The folder gets a store with the whole history; artifacts come when you look at a " +
			"thread. Credentials are in ~/.leslie/remote.creds, or in the file that LESLIE_REMOTE_CREDS names. Run it again if it was interrupted.",
		example:  "leslie connect nats://one.example.com/proj-k3v7q2ma",
		operands: []operand{urlOperand(true)},
		run: func(c *call) (Data, error) {
			in := app.ConnectRequest{Dir: c.who.dir, URL: c.operand(0)}
			checkURL(c, in.Faults)
			if err := c.usage(); err != nil {
				return nil, err
			}
			op, d, err := app.Connect(c.ctx, environment(c), c.caller(), c.request(), in)
			c.op = op
			if d == nil {
				return nil, err
			}
			return connectText{d}, err
		},
	}
}

type publishText struct{ *app.PublishResult }

func (d publishText) Text(p *page) {
	if len(d.Threads) == 0 {
		p.line("nothing to publish: other machines have all of it")
		return
	}
	for _, t := range d.Threads {
		p.line("published %s: %s", fmt.Sprint(t.ThreadID), many(t.Files, "file"))
	}
}

func publishCommand() *command {
	return &command{
		name: "publish", summary: "take the artifacts of threads to the other machines now", writes: true, notBatchable: true,
		hint: hint{sharing, "publish ID"},
		detail: "In a project on several machines artifacts go along with what hands work on: done, checkpoint, merge, reference, spawn, transfer, release, suspend. " +
			"This is for in between. Without ID it publishes all threads whose artifacts have changed here.",
		example:  "leslie publish thread-a1b2c3d4",
		operands: []operand{operand{value: anID("ID", threadIDs), optional: true}},
		run: func(c *call) (Data, error) {
			return runUseCase(c, app.Publish, app.PublishRequest{Thread: c.operand(0)}, func(d *app.PublishResult) Data { return publishText{d} })
		},
	}
}

// environment is the environment of use cases, as the line's flags have it.
func environment(c *call) app.Environment {
	e := c.env.app()
	e.Offline = c.who.offline
	return e
}

// ownCopy is the environment of a look at what this machine has, without asking a remote:
// for completion, and for what a line means.
func ownCopy(c *call) app.Environment {
	e := environment(c)
	e.Offline = true
	return e
}
