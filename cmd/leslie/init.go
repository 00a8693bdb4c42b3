package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/store"
	"leslie/thread"
)

// agentsFile is where coding agents look for a project's instructions.
const agentsFile = "AGENTS.md"

type initData struct {
	Root       string  `json:"root"`
	Created    bool    `json:"created"`
	AgentsFile *string `json:"agentsFile"` // null with --no-agents
	change
}

func (d *initData) Text(p *page) {
	switch {
	case d.Created:
		p.line("created the store in %s/%s", d.Root, store.Dir)
	case d.Changed:
		p.line("the store already exists in %s/%s", d.Root, store.Dir)
	default:
		p.line("nothing to do: the store is in %s/%s", d.Root, store.Dir)
		return
	}
	if d.AgentsFile != nil {
		p.line("%s tells agents how to use leslie", *d.AgentsFile)
	}
	if d.Created {
		p.line("next: leslie objective create TITLE")
	}
}

func initCommand() *command {
	return &command{
		name: "init", summary: "create a store in this folder and tell agents about leslie in AGENTS.md", writes: true, unrecorded: true,
		detail:  "If there is a store in this folder or above, only the block in AGENTS.md is updated. Text outside the block is never changed.",
		example: "leslie init",
		flags: []cli.Flag{
			toggle("no-agents", "do not change AGENTS.md"),
			toggle("here", "create a store in this folder even if there is one above"),
		},
		run: runInit,
	}
}

// withoutStore returns why no store could be created. It suggests no commands that
// need a store.
func (c *call) withoutStore(dir string, err error) error {
	e := codes.Of(err)
	if _, missing := store.Find(dir, c.storeOptions()); missing == nil || e == nil {
		return err
	}
	return e.WithNext("leslie help init")
}

// sameFolder reports whether two names lead to the same folder.
func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func runInit(c *call) (Data, error) {
	dir := c.who.dir
	if sameFolder(dir, c.env.home) {
		c.fault("--dir", dir, "the home folder cannot be a project: its "+store.Dir+" contains your own configuration")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	if !c.on("here") {
		if st, err := store.Find(dir, c.storeOptions()); err == nil {
			dir = st.Root()
		} else if !codes.Has(err, codes.NotInitialized) {
			return nil, err
		}
	}
	st, created, notes, err := store.Create(c.ctx, c.lockWait(), dir, c.storeOptions())
	if err != nil {
		return nil, c.withoutStore(dir, err)
	}
	c.st, c.changed = st, created // whatever fails now
	c.warnings.Add(notes...)
	if err := c.recognise(created); err != nil {
		return nil, err
	}
	d := &initData{Root: st.Root(), Created: created, change: change{Changed: created}}
	if c.on("no-agents") {
		return d, nil
	}
	edited, notes, err := st.EditFile(c.ctx, c.lockWait(), agentsFile, func(old []byte) []byte { return withGuide(old, commands()) })
	if err != nil {
		return d, err // a store that was made stands all the same: the answer says both
	}
	c.warnings.Add(notes...)
	name := agentsFile
	d.AgentsFile, d.Changed = &name, created || edited
	return d, nil
}

// recognise checks that an existing store can be read before anything next to it
// changes. A store that was just created needs no check, which could fail.
func (c *call) recognise(created bool) error {
	if created {
		c.revision = new(thread.Revision)
		return nil
	}
	_, err := c.view(func(*thread.State) error { return nil })
	return err
}
