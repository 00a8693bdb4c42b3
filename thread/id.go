package thread

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/nearest"
)

// Prefixes of the ids that leslie generates at random: prefix, then 8 lower-case base32
// characters.
const (
	PrefixThread     = "thread-"
	PrefixObjective  = "obj-"
	PrefixReference  = "ref-"
	PrefixOperation  = "op-"
	PrefixRun        = "run-"
	PrefixApproval   = "appr-"
	PrefixInjection  = "inj-"
	PrefixCheckpoint = "ckpt-"
)

// BeginsID reports whether ids of some kind of record begin with a word and a dash.
func BeginsID(word string) bool {
	return slices.ContainsFunc([]string{PrefixThread, PrefixObjective, PrefixReference, PrefixOperation, PrefixRun, PrefixApproval,
		PrefixInjection, PrefixCheckpoint, PrefixMerge, PrefixQuestion, PrefixComment},
		func(prefix string) bool { return word == strings.TrimSuffix(prefix, "-") })
}

// MaxID is the length limit of an id that a caller chooses, in characters.
const MaxID = 64

// minPrefix is how many characters a shortened id must have, but for the prefix of a kind
// that is shorter.
const minPrefix = 3

// IDForm says what ValidID takes.
const IDForm = "a letter or digit, then letters, digits, '-', '_' and single '.' within; at most 64"

// NamesThread reports whether arg may stand for a thread: an id, the beginning of one, or the name
// of its branch, whose parts have the form of ids.
func NamesThread(arg string) bool {
	for part := range strings.SplitSeq(arg, "/") {
		if !ValidID(part) {
			return false
		}
	}
	return true
}

// ValidID reports whether id is valid: a letter or digit, then letters, digits, '-', '_' and
// '.', at most MaxID characters. A '.' is neither last nor next to another, and the id does
// not end with ".lock", which git refuses in names of branches. A valid id is safe as a file
// name and in a shell.
func ValidID(id string) bool {
	return ValidName(strings.ReplaceAll(id, ".", "-")) &&
		!strings.HasSuffix(id, ".") && !strings.Contains(id, "..") && !strings.HasSuffix(strings.ToLower(id), ".lock")
}

// ValidName reports whether a name of an agent, a check or a capability is valid: a letter
// or digit, then letters, digits, '-' and '_', at most MaxID characters.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxID {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return true
}

// ReservedName returns T903 for a new id that no folder can have everywhere: Windows keeps
// some for devices, whatever follows a '.', and leslie keeps those of folders that it sets
// aside. A store may be copied from one system to another.
func ReservedName(id string) error {
	folded := strings.ToLower(id)
	name, _, _ := strings.Cut(folded, ".")
	if strings.Contains(folded, ".leslie-") || strings.Contains(folded, ".set-aside-") {
		reason := "the id '" + id + "' is what leslie calls a folder that it sets aside; choose another"
		return codes.InvalidArgument.New(fact.Of("reason", reason), fact.Of("id", id))
	}
	device := slices.Contains([]string{"con", "prn", "aux", "nul"}, name)
	numbered := len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '1' && name[3] <= '9'
	if !device && !numbered {
		return nil
	}
	return codes.InvalidArgument.New(fact.Of("reason", "the id '"+id+"' is a reserved name on Windows; choose another"), fact.Of("id", id))
}

// Thread returns the thread that arg names, by its id or a unique prefix of it; it
// also finds archived threads. Errors: T101 with the nearest id, T105 with the
// candidates, and those of reading the archive.
func (s *State) Thread(arg string) (Thread, error) {
	t, err := find(arg, PrefixThread, &s.Threads, s.archiveLines(TableThreads, func() bool { return s.Exists(ThreadID(arg)) }),
		func(near string) error { return threadNotFound(arg, near) })
	if codes.Has(err, codes.ThreadNotFound) {
		if owner, ok := s.withBranch(arg); ok {
			return owner, nil
		}
	}
	return t, err
}

// withBranch returns the thread whose code has, or last had, a branch.
func (s *State) withBranch(branch string) (last Thread, ok bool) {
	if owner, ok := s.BranchOwner(branch); ok {
		return owner, true
	}
	for _, t := range s.owners() {
		if t.Branch == branch {
			last, ok = t, true
		}
	}
	return last, ok
}

// LiveThread is like Thread, but returns T107 for a terminated thread (completed,
// cancelled or archived).
func (s *State) LiveThread(arg string) (Thread, error) {
	t, err := s.Thread(arg)
	if err == nil && t.Status.Terminated() {
		return Thread{}, notWritable(t)
	}
	return t, err
}

// Objective returns the objective that arg names. Errors: T601, T105.
func (s *State) Objective(arg string) (Objective, error) {
	return find(arg, PrefixObjective, &s.Objectives, noArchive, func(near string) error {
		err := codes.ObjectiveNotFound.New(fact.Of("objectiveId", arg))
		if near != "" {
			err = err.With(fact.Of("nearest", near)).WithNext("leslie objective status " + near)
		}
		return err
	})
}

// Reference returns the reference that arg names, also one of an archived thread.
// Errors: T204, T105.
func (s *State) Reference(arg string) (Reference, error) {
	return find(arg, PrefixReference, &s.References, s.archiveLines(TableReferences, func() bool { return true }),
		func(near string) error {
			err := codes.ReferenceNotFound.New(fact.Of("refId", arg))
			if near != "" {
				err = err.With(fact.Of("nearest", near)).WithNext("leslie reference show " + near)
			}
			return err
		})
}

// Exists reports whether a thread has or had this id.
func (s *State) Exists(id ThreadID) bool {
	if _, ok := s.Threads.Peek(string(id)); ok || s.archivedHere(TableThreads, string(id)) {
		return true
	}
	return s.source != nil && ValidID(string(id)) && s.source.Exists(id)
}

// FreeThreadID reports whether a valid id can be that of a new thread.
func (s *State) FreeThreadID(id ThreadID) bool {
	return ReservedName(string(id)) == nil && !slices.Contains(commandWords(), string(id)) && s.alike(id) == ""
}

// alike returns the id of a thread or a folder that has this id, or differs from it in upper
// and lower case only: not every system keeps such folders apart. "" is none.
func (s *State) alike(id ThreadID) ThreadID {
	if s.Exists(id) {
		return id
	}
	if generated(string(id)) {
		return ""
	}
	if other := s.Threads.alike(string(id)); other != "" {
		return ThreadID(other)
	}
	if s.source == nil {
		return ""
	}
	return s.source.Alike(id)
}

// generated reports whether an id is of the form that leslie generates: nobody else takes
// such a name.
func generated(id string) bool {
	random, is := strings.CutPrefix(id, PrefixThread)
	return is && len(random) == 8 && random == strings.ToLower(random)
}

func threadNotFound(id, near string) error {
	err := codes.ThreadNotFound.New(fact.Of("threadId", id))
	if strings.HasPrefix(id, PrefixOperation) {
		return err.WithHint("This is the id of an operation").WithNext("leslie history")
	}
	if near != "" {
		err = err.With(fact.Of("nearest", near)).WithNext("leslie status " + near)
	}
	return err
}

func notWritable(t Thread) error {
	err := endedFacts(codes.NotWritable.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status)), t)
	if t.Status == Cancelled && t.Ended != nil {
		return err.WithHint(t.otherWork())
	}
	if _, ok := t.Status.After(Reopen); ok {
		return err.WithHint("Reopen it with leslie reopen " + string(t.ID) + ", or spawn another")
	}
	return err.WithHint("Spawn another, or undo what archived it: leslie history --thread " + string(t.ID) + " has the operation")
}

// lineSource gives access to the archived lines of a table. An exact id always
// wins, so find searches the archive for it whenever exact reports that it may be
// there; it searches the archive for a shortened id only if the State has no match.
type lineSource struct {
	exact func() bool
	lines func() ([]Line, error)
}

var noArchive = lineSource{exact: func() bool { return false }, lines: func() ([]Line, error) { return nil, nil }}

func (s *State) archiveLines(table string, exact func() bool) lineSource {
	return lineSource{exact: exact, lines: func() ([]Line, error) { return s.archivedLines(table) }}
}

// archivedLines returns the archived records of a table ordered by id, including
// those that this State's own rules archived.
func (s *State) archivedLines(table string) ([]Line, error) {
	var lines []Line
	if s.source != nil {
		was, err := s.source.Archived(table)
		if err != nil {
			return nil, err
		}
		lines = slices.Clone(was)
	}
	for _, c := range s.archived {
		if id, ok := strings.CutPrefix(c.Record, table+"/"); ok {
			lines = append(lines, Line{ID: id, JSON: c.After})
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.ID, b.ID) })
	return lines, nil
}

// archivedHere reports whether this State's own rules archived the record.
func (s *State) archivedHere(table, id string) bool {
	return slices.ContainsFunc(s.archived, func(c Change) bool { return c.Record == table+"/"+id })
}

// find looks up a record: by exact id in the State, then in the archive, by prefix
// in the State, then in the archive.
func find[R record[R]](arg, kind string, t *Table[R], archive lineSource, missing func(near string) error) (R, error) {
	var none R
	if r, ok := t.Get(arg); ok {
		return r, nil
	}
	var archived []Line
	read := false
	look := func() (err error) {
		if !read {
			archived, err = archive.lines()
			read = true
		}
		return err
	}
	if archive.exact() {
		if err := look(); err != nil {
			return none, err
		}
		if line, ok := LineOf(archived, arg); ok {
			return t.archived(line), nil
		}
	}
	if len(arg) >= minPrefix || arg == kind {
		ids := slices.DeleteFunc(t.withPrefix(arg), func(id string) bool { return !shortens(arg, id, kind) })
		if unique(arg, len(ids)) {
			r, _ := t.Get(ids[0])
			return r, nil
		}
		if len(ids) > 0 {
			return none, ambiguous(arg, kind, ids, candidates(ids, t.Peek))
		}
		if err := look(); err != nil {
			return none, err
		}
		for _, line := range archived {
			if shortens(arg, line.ID, kind) {
				ids = append(ids, line.ID)
			}
		}
		if unique(arg, len(ids)) {
			line, _ := LineOf(archived, ids[0])
			return t.archived(line), nil
		}
		if len(ids) > 0 {
			return none, ambiguous(arg, kind, ids, candidates(ids, func(id string) (R, bool) {
				line, ok := LineOf(archived, id)
				return t.archived(line), ok
			}))
		}
	}
	return none, missing(nearestID(arg, kind, t.ids()))
}

// shortens reports whether arg is a prefix of id that may stand for it: at least minPrefix
// characters, or the prefix of its kind.
func shortens(arg, id, kind string) bool {
	return strings.HasPrefix(id, arg) && (len(arg) >= minPrefix || arg == kind)
}

// unique reports whether arg may stand for the id that it shortens if it shortens this many.
func unique(arg string, ids int) bool { return ids == 1 && !CutOff(arg) }

// CutOff reports whether arg ends with a separator of ids, as "thread-$X" does if the shell
// has no X. It shortens no id, however few begin with it: nobody may have meant that one.
func CutOff(arg string) bool { return strings.TrimRight(arg, "-_.") != arg }

// nearestID returns the id most similar to arg, or "" if none is close. The prefix
// of the kind does not count as similarity.
func nearestID(arg, kind string, ids []string) string {
	rest, ok := strings.CutPrefix(arg, kind)
	if !ok {
		return nearest.Name(arg, ids)
	}
	rests := make([]string, 0, len(ids))
	for _, id := range ids {
		if r, ok := strings.CutPrefix(id, kind); ok {
			rests = append(rests, r)
		}
	}
	if near := nearest.Name(rest, rests); near != "" {
		return kind + near
	}
	return ""
}

// LineOf finds a record in lines that are ordered by id.
func LineOf(lines []Line, id string) (Line, bool) {
	i, ok := slices.BinarySearchFunc(lines, id, func(l Line, id string) int { return strings.Compare(l.ID, id) })
	if !ok {
		return Line{}, false
	}
	return lines[i], true
}

// MaxCandidates is how many ids an ambiguity error lists at most; its count says how
// many there are.
const MaxCandidates = 20

// ambiguous returns T105 for a prefix of several ids. listed are the first of them, for
// a person.
func ambiguous(prefix, kind string, ids []string, listed []codes.Candidate) error {
	shown := ids[:min(len(ids), MaxCandidates)]
	status := "leslie status "
	switch kind { // not the prefix of the ids: an objective may be called thread-2
	case PrefixObjective:
		status = "leslie objective status "
	case PrefixReference:
		status = "leslie reference show "
	case PrefixMerge:
		status = "leslie merge status "
	}
	next := status + ids[0]
	switch kind {
	case PrefixApproval:
		next = "leslie approvals --all"
	case PrefixQuestion:
		next = "leslie questions --all"
	case PrefixComment:
		next = "leslie comments --all"
	}
	return Ambiguous(prefix, len(ids), shown).WithNext(next).WithCandidates(len(ids), listed...)
}

// Ambiguous returns T105 for a shortened id that stands for none of the count ids that
// begin with it. shown are the first of them.
func Ambiguous[ID ~string](prefix string, count int, shown []ID) *codes.Error {
	err := codes.AmbiguousID.New(fact.Of("prefix", prefix), fact.Of("count", count), fact.Of("candidates", shown))
	if CutOff(prefix) {
		err = err.WithHint("Nothing follows '" + prefix + "', so it shortens no id; check for a variable that is empty, and use more characters")
	}
	return err
}

// ofThread names in an error about a record that is not there what the caller may mean
// where arg is the id of a thread: its open ones. Whatever decides takes the id of what is
// decided.
func ofThread[R record[R]](s *State, err *codes.Error, arg, what string, open func(ThreadID) []R) *codes.Error {
	t, missing := s.Thread(arg)
	if missing != nil {
		return err
	}
	all := open(t.ID)
	if len(all) == 0 {
		return err.WithHint(arg + " is a thread, and has no open " + what)
	}
	first := Candidates(all[:min(len(all), MaxCandidates)])
	ids := make([]string, len(first))
	for i, one := range first {
		ids[i] = one.ID
	}
	return err.With(fact.Of("candidates", ids)).WithCandidates(len(all), first...).
		WithHint(arg + " is a thread: give the id of its " + what + ", " + strings.Join(ids, " or "))
}
