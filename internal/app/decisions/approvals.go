package decisions

import (
	"leslie/internal/app"
	"leslie/thread"
)

// This file lists grants: open requests, and decided ones.

// ListApprovalsRequest lists grants.
type ListApprovalsRequest struct {
	All   bool // also decided requests, delegations, and those of archived threads
	Limit int  // 0: all; with All the newest are returned
	app.RecordFilter
}

// ListApprovalsResult has what waits for a person.
type ListApprovalsResult struct {
	app.Items[app.ApprovalRecord]
	// Suspended has the threads that the mistake limit suspended, which a person has
	// to review as well; none where a filter is set.
	Suspended []SuspendedThread `json:"suspended"`
}

// SuspendedThread is a thread that the mistake limit suspended.
type SuspendedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	thread.Mistakes
}

// ShowApproval returns the grant with an id, also of an archived thread. Errors: T403, T105,
// those of a view.
func ShowApproval(c *app.Call, id string) (*app.ApprovalRecord, error) {
	c.ReadOnly()
	var g thread.Approval
	if _, err := c.View(func(s *thread.State) (err error) {
		g, err = s.Approval(id)
		return err
	}); err != nil {
		return nil, err
	}
	d := app.ApprovalOf(g, c.Now())
	return &d, nil
}

// ListApprovals lists what waits for a person. Errors: T903, T101 and T105 for the filter, those of a view.
func ListApprovals(c *app.Call, in ListApprovalsRequest) (*ListApprovalsResult, error) {
	c.ReadOnly()
	d := &ListApprovalsResult{}
	var grants []thread.Approval
	_, err := c.View(func(s *thread.State) (err error) {
		grants, d.Suspended = s.OpenRequests(""), []SuspendedThread{}
		if in.Empty() {
			for _, t := range s.Stopped() {
				d.Suspended = append(d.Suspended, SuspendedThread{t.ID, *t.Mistakes})
			}
		}
		if in.All {
			grants, err = s.AllApprovals()
		}
		if err == nil {
			grants, err = app.Select(c, s, in.RecordFilter, grants, func(g thread.Approval) app.Filterable {
				return app.Filterable{Threads: []thread.ThreadID{g.ThreadID}, Made: g.Created, Decided: g.Decided, Changed: g.Revision}
			})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.Items = app.Converted(grants, in.Limit, in.All, func(g thread.Approval) app.ApprovalRecord { return app.ApprovalOf(g, c.Now()) })
	return d, nil
}
