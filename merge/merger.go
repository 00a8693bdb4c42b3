package merge

// A Merger looks at the conflicts of a merge by something finer than lines: list
// items, keys of a document. For every hunk in conflict it gives one verdict: an
// answer that it can prove, or a refusal with its reason. Where in doubt it
// refuses, since a refusal costs a question and a wrong answer costs a line.
//
// path is where the artifact stands; only its form counts ("plan.md"). A Merger
// is a pure function and leaves r as it is.
type Merger func(path string, r *Result) []Verdict

// Verdict is what a merger says about one conflict.
type Verdict struct {
	// Hunk is the index of the conflict.
	Hunk int
	// How is the name of the merger.
	How string
	// Text is the answer, unless Refused says why there is none.
	Text []byte
	// Refused is a clause that reads on after "because".
	Refused string
}

// Settle lets each merger in turn look at what is still in conflict. It
// gives back the merge with their answers in it, and all verdicts, refusals
// included, in the order in which they were given.
func Settle(path string, r *Result, mergers ...Merger) (*Result, []Verdict) {
	var all []Verdict
	for _, finer := range mergers {
		verdicts := finer(path, r)
		all = append(all, verdicts...)
		r = r.Answered(answers(verdicts)...)
	}
	return r, all
}

// answers picks the verdicts that are no refusals.
func answers(verdicts []Verdict) []Answer {
	var out []Answer
	for _, v := range verdicts {
		if v.Refused == "" {
			out = append(out, Answer{v.Hunk, v.Text, v.How})
		}
	}
	return out
}
