package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/thread"
)

// objectiveData is one objective as every command answers it.
type objectiveData struct {
	ObjectiveID thread.ObjectiveID     `json:"objectiveId"`
	Title       string                 `json:"title"`
	Status      thread.ObjectiveStatus `json:"status"`
	CreatedAt   time.Time              `json:"createdAt"`
	DoneAt      *time.Time             `json:"doneAt,omitempty"`
	Threads     thread.Counts          `json:"threads"`
	Revision    thread.Revision        `json:"revision"`
}

func objectiveOf(s *thread.State, o thread.Objective) objectiveData {
	counts := s.CountsOf(o)
	return objectiveData{
		ObjectiveID: o.ID, Title: o.Title, Status: o.Status(counts), CreatedAt: o.CreatedAt, DoneAt: o.DoneAt,
		Threads: counts, Revision: o.Revision,
	}
}

func (d objectiveData) Text(p *page) {
	p.line("objective %s  %s", d.ObjectiveID, d.Status)
	p.field("title", d.Title)
	p.field("created", d.CreatedAt.Format(time.RFC3339))
	if d.DoneAt != nil {
		p.field("done", d.DoneAt.Format(time.RFC3339))
	}
	p.field("threads", countsText(d.Threads))
}

type objectiveWritten struct {
	objectiveData
	change
}

func objectiveCreateCommand() *command {
	return &command{
		name: "objective create", summary: "create an objective: a goal that threads work for", writes: true,
		teach:    lesson{starting, "objective create TITLE"},
		example:  `leslie objective create "Ship the parser"`,
		operands: []operand{{value: anyText("TITLE")}},
		flags:    []cli.Flag{newOption("id", anID("ID", otherIDs), "use this id in place of a random one")},
		run:      runObjectiveCreate,
	}
}

func runObjectiveCreate(c *call) (Data, error) {
	title := c.operand(0)
	c.checkTitle("TITLE", title)
	if err := c.usage(); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*objectiveWritten, thread.ThreadID, error) {
		o, err := s.CreateObjective(thread.NewObjective{ID: thread.ObjectiveID(c.newID("id", thread.PrefixObjective, func(id string) bool {
			_, taken := s.Objectives.Peek(id)
			return taken
		})), Title: title}, stamp)
		if err != nil {
			return nil, "", err
		}
		return &objectiveWritten{objectiveData: objectiveOf(s, o)}, "", nil
	})
}

type objectiveList struct{ items[objectiveData] }

func (d *objectiveList) Text(p *page) {
	var rows [][]string
	for _, o := range d.Items {
		rows = append(rows, []string{string(o.ObjectiveID), string(o.Status), countsText(o.Threads), o.Title})
	}
	p.table("OBJECTIVE STATUS THREADS TITLE", rows)
	p.rest(len(d.Items), d.Total)
	if d.Total == 0 {
		p.line("no objectives yet; create one with: leslie objective create TITLE")
	}
}

func objectiveListCommand() *command {
	return &command{
		name: "objective list", summary: "list the objectives", example: "leslie objective list",
		flags: []cli.Flag{limitFlag()}, run: runObjectiveList,
	}
}

func runObjectiveList(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	var all []objectiveData
	_, err := c.view(func(s *thread.State) error {
		all = nil
		for _, o := range s.ObjectivesInOrder() {
			all = append(all, objectiveOf(s, o))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &objectiveList{firstItems(all, c.count("limit", defaultLimit))}, nil
}

func objectiveStatusCommand() *command {
	return &command{
		name: "objective status", summary: "show one objective", example: "leslie objective status obj-a1b2c3d4",
		operands: []operand{{value: anID("ID", objectiveIDs)}}, run: runObjectiveStatus,
	}
}

func runObjectiveStatus(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	var d objectiveData
	_, err := c.view(func(s *thread.State) error {
		o, err := s.Objective(c.operand(0))
		d = objectiveOf(s, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func objectiveDoneCommand() *command {
	return &command{
		name: "objective done", summary: "mark an objective done", writes: true,
		detail:   "Every thread of it must be completed, cancelled or archived.",
		example:  "leslie objective done obj-a1b2c3d4",
		operands: []operand{{value: anID("ID", objectiveIDs)}}, run: runObjectiveDone,
	}
}

func runObjectiveDone(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*objectiveWritten, thread.ThreadID, error) {
		o, err := s.FinishObjective(c.operand(0), stamp)
		if err != nil {
			return nil, "", err
		}
		return &objectiveWritten{objectiveData: objectiveOf(s, o)}, "", nil
	})
}
