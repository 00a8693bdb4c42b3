package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/thread"
)

// threadData is a thread's own fields as every command answers them.
type threadData struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	Title       string             `json:"title"`
	Intent      string             `json:"intent"`
	Status      thread.Status      `json:"status"`
	Reason      string             `json:"reason,omitempty"`
	Executor    thread.Executor    `json:"executor"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	Tags        []string           `json:"tags"`
	DependsOn   []thread.ThreadID  `json:"dependsOn"`
	Branch      *string            `json:"branch"`
	Worktree    *string            `json:"worktree"`
	Inherit     thread.Inherit     `json:"inherit"`
	Path        string             `json:"path"`
	CreatedAt   time.Time          `json:"createdAt"`
	CreatedBy   actorData          `json:"createdBy"`
	UpdatedAt   time.Time          `json:"updatedAt"`
	Revision    thread.Revision    `json:"revision"`
}

type actorData struct {
	As    thread.ActorKind `json:"as"`
	Actor string           `json:"actor"`
}

func threadOf(t thread.Thread) threadData {
	return threadData{
		ThreadID: t.ID, Title: t.Title, Intent: t.Intent, Status: t.Status, Reason: t.Reason, Executor: t.Executor,
		ObjectiveID: t.ObjectiveID, ParentID: orNull(t.ParentID), Tags: append([]string{}, t.Tags...),
		DependsOn: append([]thread.ThreadID{}, t.DependsOn...), Branch: orNull(t.Branch), Worktree: orNull(t.Worktree),
		Inherit: t.Inherit, Path: threadPath(t.ID), CreatedAt: t.Created.At,
		CreatedBy: actorData{As: t.Created.As, Actor: t.Created.Actor}, UpdatedAt: t.Updated, Revision: t.Revision,
	}
}

func (d threadData) Text(p *page) {
	p.line("thread %s  %s", d.ThreadID, d.Status)
	p.field("title", d.Title)
	if firstLine(d.Intent) != d.Title {
		p.field("intent", cut(d.Intent, 2000))
	}
	p.field("reason", d.Reason)
	p.field("executor", string(d.Executor))
	p.field("objective", string(d.ObjectiveID))
	if d.ParentID != nil {
		p.field("parent", string(*d.ParentID)+" (inherits: "+string(d.Inherit)+")")
	}
	p.field("tags", joined(d.Tags))
	p.field("depends on", joined(d.DependsOn))
	p.field("branch", d.Branch)
	p.field("worktree", d.Worktree)
	p.field("path", d.Path)
	p.field("created", d.CreatedAt.Format(time.RFC3339)+" by "+d.CreatedBy.Actor+" ("+string(d.CreatedBy.As)+")")
	p.field("updated", d.UpdatedAt.Format(time.RFC3339))
	p.field("revision", int64(d.Revision))
}

type updateData struct {
	threadData
	change
}

func (d *updateData) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	d.threadData.Text(p)
}

func updateCommand() *command {
	return &command{
		name: "update", summary: "change a thread's title, tags, dependencies, branch or worktree", writes: true,
		example:  "leslie update thread-a1b2c3d4 --tag +api --depends-on +thread-e5f6g7h8",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("title", anyText("T"), "the new title, at most 200 characters"),
			newOption("tag", edits("+T|-T"), "add or drop a tag; may be given several times"),
			newOption("depends-on", edits("+ID|-ID"), "add or drop a dependency; may be given several times"),
			newOption("branch", anyText("B"), "the git branch of the thread's code"),
			newOption("worktree", anyText("DIR"), "the git worktree of the thread's code"),
		},
		run: runUpdate,
	}
}

func runUpdate(c *call) (Data, error) {
	id := c.subject()
	edit := c.edit()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if edit.Worktree != nil {
		place := c.worktree(st.Root(), *edit.Worktree)
		edit.Worktree = &place
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*updateData, thread.ThreadID, error) {
		t, err := s.Edit(id, edit, stamp)
		if err != nil {
			return nil, "", c.blamed(err, "depends-on")
		}
		return &updateData{threadData: threadOf(t)}, t.ID, nil
	})
}

func (c *call) edit() thread.Edit {
	edit := thread.Edit{Title: c.optional("title"), Branch: c.optional("branch"), Worktree: c.optional("worktree")}
	edit.AddTags, edit.DropTags = c.edits("tag")
	edit.AddDepends, edit.DropDepend = c.edits("depends-on")
	if edit.Title != nil {
		c.checkTitle("--title", *edit.Title)
	}
	c.checkTags(edit.AddTags)
	for _, id := range slices.Concat(edit.AddDepends, edit.DropDepend) {
		if f := anID("ID", threadIDs).fault("--depends-on", id); f != nil {
			c.faults = append(c.faults, *f)
		}
	}
	flags := []string{"title", "tag", "depends-on", "branch", "worktree"}
	if !slices.ContainsFunc(flags, c.has) && !slices.ContainsFunc(flags, c.faulty) {
		c.fault("flags", "", "say what is to change: --title, --tag, --depends-on, --branch or --worktree")
	}
	return edit
}

// edits sorts "+VALUE" and "-VALUE". A value in both is a fault.
func (c *call) edits(flag string) (add, drop []string) {
	for _, v := range c.texts(flag) {
		if v[0] == '+' {
			add = append(add, v[1:])
		} else {
			drop = append(drop, v[1:])
		}
	}
	for _, v := range add {
		if slices.Contains(drop, v) {
			c.fault("--"+flag, v, "--"+flag+" both adds and drops "+quoted(v))
		}
	}
	return add, drop
}
