package merge

// A Merger resolves conflicts by a unit other than lines: list items, or keys of a
// document. It returns one verdict for every hunk in conflict: an answer that it can
// prove, or a refusal with a reason. In doubt it refuses, because a refusal costs a
// question and a wrong answer costs a line.
//
// path is the artifact's path; only its form counts ("plan.md"). A Merger is a pure
// function and does not change r.
type Merger func(path string, r *Result) []Verdict

// Verdict is the result of a merger for one conflict.
type Verdict struct {
	// Hunk is the index of the conflict.
	Hunk int
	// How is the name of the merger.
	How string
	// Text is the answer if Refused is "".
	Text []byte
	// Refused is a clause that could follow "because".
	Refused string
}

// Settle applies each merger in turn to the remaining conflicts. It returns the merge
// with their answers, and all verdicts, including refusals, in order.
func Settle(path string, r *Result, mergers ...Merger) (*Result, []Verdict) {
	var all []Verdict
	for _, merger := range mergers {
		verdicts := merger(path, r)
		all = append(all, verdicts...)
		r = r.Answered(answers(verdicts)...)
	}
	return r, all
}

// answers returns the verdicts that are not refusals.
func answers(verdicts []Verdict) []Answer {
	var out []Answer
	for _, v := range verdicts {
		if v.Refused == "" {
			out = append(out, Answer{v.Hunk, v.Text, v.How})
		}
	}
	return out
}
