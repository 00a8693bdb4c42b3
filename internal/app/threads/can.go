package threads

import (
	"time"

	"leslie/internal/app"
	"leslie/internal/nearest"
	"leslie/thread"
)

// CanRequest asks whether a thread has a capability.
type CanRequest struct {
	Capability string
	Thread     string // "": the thread that the caller speaks for; without one the policy alone answers
}

// CanResult says that a thread has a capability, and why.
type CanResult struct {
	Capability string             `json:"capability"`
	ThreadID   *thread.ThreadID   `json:"threadId"` // null: only the policy was checked
	Allowed    bool               `json:"allowed"`
	By         string             `json:"by"` // policy, worktree, delegation, approval
	ApprovalID *thread.ApprovalID `json:"approvalId,omitempty"`
	Until      *time.Time         `json:"until,omitempty"`
}

// Can checks whether a thread has a capability. Errors: T402 if not, T903 for an
// unknown capability, T101, T105, T509 for the configuration, those of reading.
func Can(c *app.Call, in CanRequest) (*CanResult, error) {
	c.ReadOnly()
	set, err := c.Configured()
	if err != nil {
		return nil, err
	}
	if err := app.FaultsError(UnknownCapabilities("Capability", []string{in.Capability}, set.Policy)); err != nil {
		return nil, err
	}
	about := c.ThreadOr(in.Thread)
	d := &CanResult{Capability: in.Capability, Allowed: true}
	_, err = c.View(func(s *thread.State) error {
		why, err := s.Can(about, in.Capability, set.Policy, c.Now())
		if err != nil || about == "" {
			d.By = why.By
			return err
		}
		t, err := s.Thread(about)
		d.ThreadID, d.By, d.ApprovalID, d.Until = &t.ID, why.By, app.OrNull(why.Grant), why.Until
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// CapabilityRecord says where a capability stands for a thread.
type CapabilityRecord struct {
	Capability string             `json:"capability"`
	Allowed    bool               `json:"allowed"`
	By         *string            `json:"by"` // policy, worktree, delegation, approval; null: a person has to grant it
	ApprovalID *thread.ApprovalID `json:"approvalId,omitempty"`
	Until      *time.Time         `json:"until,omitempty"`
	Requested  *thread.ApprovalID `json:"requested,omitempty"` // the open request for it
}

// ListCapabilitiesRequest asks where every capability stands.
type ListCapabilitiesRequest struct {
	Thread string // "": the thread that the caller speaks for; without one the policy alone answers
}

// ListCapabilitiesResult has every capability of the policy, sorted by name.
type ListCapabilitiesResult struct {
	ThreadID *thread.ThreadID `json:"threadId"` // null: the policy alone was asked
	app.Items[CapabilityRecord]
}

// ListCapabilities lists the capabilities, and where each stands for a thread. Errors:
// T101, T105, T903 and T509 for the configuration, those of reading.
func ListCapabilities(c *app.Call, in ListCapabilitiesRequest) (*ListCapabilitiesResult, error) {
	c.ReadOnly()
	set, err := c.Configured()
	if err != nil {
		return nil, err
	}
	about := c.ThreadOr(in.Thread)
	d := &ListCapabilitiesResult{}
	_, err = c.View(func(s *thread.State) error {
		var of *thread.Thread
		if about != "" {
			t, err := s.Thread(about)
			if err != nil {
				return err
			}
			of, d.ThreadID = &t, &t.ID
		}
		d.Items = app.Converted(s.Standings(of, set.Policy, c.Now()), 0, false, capabilityOf)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func capabilityOf(at thread.Standing) CapabilityRecord {
	d := CapabilityRecord{Capability: at.Capability, Allowed: at.Why != nil, Requested: app.OrNull(at.Requested)}
	if at.Why != nil {
		d.By, d.ApprovalID, d.Until = &at.Why.By, app.OrNull(at.Why.Grant), at.Why.Until
	}
	return d
}

// UnknownCapabilities returns faults for names that are neither in the default policy
// nor in a configured one.
func UnknownCapabilities(field string, names []string, p thread.Policy) (faults []app.Fault) {
	for _, name := range names {
		if _, known := p[name]; !known {
			all := p.Capabilities()
			faults = append(faults, app.Fault{
				Field: field, Value: name, Problem: "there is no capability " + app.Quoted(name) + " among " + app.Joined(all), Nearest: nearest.Name(name, all), Allowed: all,
			})
		}
	}
	return faults
}
