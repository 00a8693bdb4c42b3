package app

import "leslie/thread"

// This file lists grants: open requests, and decided ones.

// ListApprovalsRequest lists grants.
type ListApprovalsRequest struct {
	All   bool // also decided requests, delegations, and those of archived threads
	Limit int  // 0: all; with All the newest are returned
}

// ListApprovalsResult has what waits for a person.
type ListApprovalsResult struct {
	Items[ApprovalRecord]
	// Suspended has the threads that the mistake limit suspended, which a person has
	// to review as well.
	Suspended []SuspendedThread `json:"suspended"`
}

// SuspendedThread is a thread that the mistake limit suspended.
type SuspendedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	thread.Mistakes
}

// ShowApproval returns the grant with an id, also of an archived thread. Errors: T403, T105,
// those of a view.
func ShowApproval(c *Call, id string) (*ApprovalRecord, error) {
	c.readOnly()
	var g thread.Approval
	if _, err := c.view(func(s *thread.State) (err error) {
		g, err = s.Approval(id)
		return err
	}); err != nil {
		return nil, err
	}
	d := approvalOf(g, c.now())
	return &d, nil
}

// ListApprovals lists what waits for a person. Errors: those of a view.
func ListApprovals(c *Call, in ListApprovalsRequest) (*ListApprovalsResult, error) {
	c.readOnly()
	d := &ListApprovalsResult{}
	var grants []thread.Approval
	_, err := c.view(func(s *thread.State) (err error) {
		grants, d.Suspended = s.OpenRequests(""), []SuspendedThread{}
		for _, t := range s.Stopped() {
			d.Suspended = append(d.Suspended, SuspendedThread{t.ID, *t.Mistakes})
		}
		if in.All {
			grants, err = s.AllApprovals()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.Items = converted(grants, in.Limit, in.All, func(g thread.Approval) ApprovalRecord { return approvalOf(g, c.now()) })
	return d, nil
}

// approvalsOf returns the grants of a thread, live or archived.
func approvalsOf(s *thread.State, t thread.Thread) ([]thread.Approval, error) {
	if t.Status == thread.Archived {
		return s.ArchivedApprovals(t.ID)
	}
	return s.ApprovalsOf(t.ID), nil
}
