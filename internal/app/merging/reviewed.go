package merging

import "leslie/thread"

// LeaveUnread is the value of Request.Unread that merges sources whose agents have not read
// what they were told.
const LeaveUnread = "leave"

// IgnoreUnread records that a pending merge is applied whatever the agents of its sources
// have not read. Errors: those of a write.
func IgnoreUnread(s *Session) error {
	if s.record.Unread == LeaveUnread {
		return nil
	}
	s.record.Unread = LeaveUnread
	return s.call.Update(s.record.Target, nil, func(st *thread.State, _ thread.Stamp) error {
		if m, ok := st.Merges.Get(string(s.record.ID)); ok {
			m.Unread = LeaveUnread
			st.Merges.Put(m)
		}
		return nil
	})
}

// reviewed returns T408 if a source has open comments on what the merge brings, and T409 if
// its agent has not read what may change that.
func reviewed(p *Planning) error {
	return p.call.View(func(st *thread.State) error {
		err := st.Reviewed(p.record.Sources, func(c thread.Comment) bool {
			switch only := codeRecord(p).Only; {
			case isCode(c.Path):
				return only != OnlyArtifacts
			case only == OnlyCode:
				return false
			}
			return p.set.Match(c.Path)
		})
		if err == nil && p.record.Unread != LeaveUnread {
			err = st.HaveRead(p.record.Sources)
		}
		return err
	})
}
