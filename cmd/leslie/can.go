package main

import (
	"time"

	"leslie/thread"
)

// canData says that a thread may do something, and why.
type canData struct {
	Capability string             `json:"capability"`
	ThreadID   *thread.ThreadID   `json:"threadId"` // null: the policy alone was asked
	Allowed    bool               `json:"allowed"`
	By         string             `json:"by"` // policy, delegation, approval
	ApprovalID *thread.ApprovalID `json:"approvalId,omitempty"`
	Until      *time.Time         `json:"until,omitempty"`
}

func (d *canData) Text(p *page) {
	by := d.By
	if d.ApprovalID != nil {
		by += " " + string(*d.ApprovalID)
	}
	if d.Until != nil {
		by += ", until " + d.Until.Format(time.RFC3339)
	}
	p.line("%s is allowed by %s", d.Capability, by)
}

func canCommand() *command {
	return &command{
		name: "can", summary: "ask whether a thread has a capability: exit 0, or T402",
		teach: lesson{asking, "can CAPABILITY ID"},
		detail: "Made for hooks: it takes no lock and changes nothing; a refusal is noted in the log. Without ID and --thread the policy alone answers.\n" +
			"See docs/capabilities.md for what leslie enforces itself and what a hook has to.",
		example:  "leslie can code_edit thread-a1b2c3d4",
		operands: []operand{{value: aCapability()}, {value: anID("ID", threadIDs), optional: true}},
		run:      runCan,
	}
}

func runCan(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	set, err := c.configured(st)
	if err != nil {
		return nil, err
	}
	capability, about := c.operand(0), c.operand(1)
	if err := c.knownCapabilities("CAPABILITY", []string{capability}, set.policy); err != nil {
		return nil, err
	}
	if about == "" {
		about = c.who.thread
	}
	c.about = thread.ThreadID(about)
	d := &canData{Capability: capability, Allowed: true}
	_, err = c.view(func(s *thread.State) error {
		why, err := s.Can(about, capability, set.policy, c.now())
		if err != nil || about == "" {
			d.By = why.By
			return err
		}
		t, err := s.Thread(about)
		d.ThreadID, d.By, d.ApprovalID, d.Until = &t.ID, why.By, orNull(why.Grant), why.Until
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}
