package merging

import "leslie/thread"

// reviewed returns T408 if a source has open comments on what the merge brings.
func reviewed(p *Planning) error {
	return p.call.View(func(st *thread.State) error {
		return st.Reviewed(p.record.Sources, func(c thread.Comment) bool {
			switch only := codeRecord(p).Only; {
			case isCode(c.Path):
				return only != OnlyArtifacts
			case only == OnlyCode:
				return false
			}
			return p.set.Match(c.Path)
		})
	})
}
