package importing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file reads a store of the Node edition: thread_relations.json and objectives.json
// in a folder, and the threads' folders below it. Of its operations only those are read
// that say what a record lacks; all are kept as a file of the threads that they name.

const (
	nodeState      = "thread_relations.json"
	nodeObjectives = "objectives.json"
	nodeInherited  = "context/inherited"
)

type nodeThread struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Objective   string   `json:"objective"`
	CreatedAt   string   `json:"created_at"`
	UpdatedAt   string   `json:"updated_at"`
	Status      string   `json:"status"`
	Tags        []string `json:"tags"`
	ParentID    *string  `json:"parent_id"`
	StoragePath string   `json:"storage_path"`
	Executor    string   `json:"executor"`
	SessionID   string   `json:"session_id"`
}

type nodeObjective struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
	Status    string `json:"status"`
}

type nodeRelation struct {
	ReferencesTo []string `json:"references_to"`
	DependsOn    []string `json:"depends_on"`
}

// nodeOperation is an operation; of params those of spawn, reference and transfer.
type nodeOperation struct {
	Command   string `json:"command"`
	Timestamp string `json:"timestamp"`
	Operator  string `json:"operator"`
	Params    struct {
		ThreadID  string   `json:"thread_id"`
		Intent    string   `json:"intent"`
		Inherit   string   `json:"inherit"`
		RefID     string   `json:"ref_id"`
		FromID    string   `json:"from_id"`
		ToID      string   `json:"to_id"`
		Scope     []string `json:"scope"`
		Binding   string   `json:"binding"`
		Direction string   `json:"direction"`
		Reason    string   `json:"reason"`
		Target    string   `json:"target"`
		Sources   []string `json:"sources"`
	} `json:"params"`

	raw json.RawMessage
}

// node is one reading.
type node struct {
	*Source
	files      fs.FS
	now        time.Time
	newID      func(prefix string) string
	threads    []member
	relations  map[string]nodeRelation
	operations []nodeOperation
	ids        *idMap
	objectives *idMap
	references *idMap
}

// ReadLeslie reads a store of the Node edition. files is its folder (.leslie); now is
// the time of records without one; newID makes the ids of records that the Node edition
// does not have. It follows no links: files must not either. Errors: T502, T506 for a
// store of another edition, T106, T507 for a folder of a thread that leads out, T508, and
// what files returns.
func ReadLeslie(files fs.FS, now time.Time, newID func(prefix string) string) (*Source, error) {
	n := &node{Source: &Source{}, files: files, now: now, newID: newID, relations: map[string]nodeRelation{}}
	if err := n.readState(); err != nil {
		return nil, err
	}
	if err := n.readObjectives(); err != nil {
		return nil, err
	}
	for _, m := range n.threads {
		if err := n.thread(m); err != nil {
			return nil, err
		}
	}
	n.finishObjectives()
	return n.Source, nil
}

// readFile reads a JSON file of the store.
func (n *node) readFile(name string) ([]byte, error) {
	f, err := n.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, codes.UnsafePath.New(fact.Of("path", name)).WithHint("It is no regular file; nothing was imported").WithNext("leslie help import")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxJSON+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxJSON:
		return nil, tooLong(name, "128 MiB")
	}
	data = withoutMark(data)
	return data, text(name, data)
}

func (n *node) readState() error {
	data, err := n.readFile(nodeState)
	if err != nil {
		return err
	}
	members, err := object(nodeState, data)
	if err != nil {
		return err
	}
	for _, m := range members {
		switch m.name {
		case "version":
			if version := string(bytes.Trim(m.value, `"`)); !strings.HasPrefix(version, "1.") && version != "1" {
				return codes.UnsupportedVersion.New(fact.Of("path", nodeState), fact.Of("writer", "another edition of leslie (version "+version+")")).
					WithHint("Let that edition export its store, and import what it wrote").WithNext("leslie help export")
			}
		case "threads":
			if n.threads, err = object(nodeState, m.value); err != nil {
				return err
			}
		case "operations":
			if err := n.readOperations(m.value); err != nil {
				return err
			}
		case "relations":
			if err := json.Unmarshal(m.value, &n.relations); err != nil {
				return broken(nodeState, fmt.Sprintf("relations: %v", err))
			}
		}
	}
	if len(members) == 0 {
		return broken(nodeState, "it is empty")
	}
	var ids []string
	for _, m := range n.threads {
		ids = append(ids, m.name)
	}
	n.ids = newIDs(ids)
	n.Renamed = append(n.Renamed, n.ids.renamed(ids)...)
	return nil
}

func (n *node) readOperations(raw json.RawMessage) error {
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return broken(nodeState, fmt.Sprintf("operations: %v", err))
	}
	var refs []string
	for _, raw := range all {
		var op nodeOperation
		if err := json.Unmarshal(raw, &op); err != nil { // one of a form that is not known
			op = nodeOperation{}
		}
		op.raw = raw
		if op.Command == "reference" && op.Params.RefID != "" {
			refs = append(refs, op.Params.RefID)
		}
		n.operations = append(n.operations, op)
	}
	n.references = newIDs(refs)
	return nil
}

func (n *node) readObjectives() error {
	n.objectives = newIDs(nil)
	data, err := n.readFile(nodeObjectives)
	if errors.Is(err, fs.ErrNotExist) && len(n.threads) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	members, err := object(nodeObjectives, data)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(members, func(m member) bool { return m.name == "objectives" })
	if at < 0 {
		return broken(nodeObjectives, "it has no objectives")
	}
	all, err := object(nodeObjectives, members[at].value)
	if err != nil {
		return err
	}
	var ids []string
	for _, m := range all {
		ids = append(ids, m.name)
	}
	n.objectives = newIDs(ids)
	n.Renamed = append(n.Renamed, n.objectives.renamed(ids)...)
	for _, m := range all {
		if err := n.objective(m); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) objective(m member) error {
	var in nodeObjective
	if err := json.Unmarshal(m.value, &in); err != nil {
		return broken(nodeObjectives, fmt.Sprintf("%s: %v", m.name, err))
	}
	created, err := stampOf(nodeObjectives, in.CreatedAt, n.now)
	if err != nil {
		return err
	}
	o := thread.Objective{ID: thread.ObjectiveID(n.objectives.to[m.name]), CreatedAt: created}
	o.Title = firstOf(maxTitle, in.Title, m.name, string(o.ID))
	if in.Status == "completed" {
		done, err := stampOf(nodeObjectives, in.UpdatedAt, created)
		if err != nil {
			return err
		}
		o.DoneAt = &done
	}
	n.Objectives = append(n.Objectives, o)
	return nil
}

// finishObjectives takes the mark from objectives that are completed there and have
// threads that are not.
func (n *node) finishObjectives() {
	open := map[thread.ObjectiveID]bool{}
	for _, t := range n.Threads {
		open[t.ObjectiveID] = open[t.ObjectiveID] || !t.Status.Terminated()
	}
	for i, o := range n.Objectives {
		if o.DoneAt != nil && open[o.ID] {
			n.Objectives[i].DoneAt = nil
			n.note("status", thread.TableObjectives+"/"+string(o.ID), "completed, although threads of it are not terminated: active")
		}
	}
}

func (n *node) thread(m member) error {
	var in nodeThread
	if err := json.Unmarshal(m.value, &in); err != nil {
		return broken(nodeState, fmt.Sprintf("%s: %v", m.name, err))
	}
	created, err := stampOf(nodeState, in.CreatedAt, n.now)
	if err != nil {
		return err
	}
	updated, err := stampOf(nodeState, in.UpdatedAt, created)
	if err != nil {
		return err
	}
	objective, known := n.objectives.to[in.Objective]
	if !known {
		return codes.ObjectiveNotFound.New(fact.Of("objectiveId", in.Objective), fact.Of("threadId", m.name)).
			WithHint("The source names an objective that it does not have; nothing was imported").WithNext("leslie help import")
	}
	t := thread.Thread{
		ID: n.ids.thread(m.name), ObjectiveID: thread.ObjectiveID(objective), Updated: updated, Inherit: thread.InheritNone,
		Created: thread.Attribution{At: created, As: thread.User, Actor: "user"},
	}
	record := thread.TableThreads + "/" + string(t.ID)
	t.Title = firstOf(maxTitle, in.Title, m.name, string(t.ID))
	t.Intent = firstOf(maxIntent/utf8.UTFMax, in.Title, m.name, string(t.ID))
	t.Tags = cleanTags(n.Source, record, in.Tags)
	if t.Executor = thread.Executor(in.Executor); t.Executor != thread.ByHuman && t.Executor != thread.ByAgent {
		t.Executor = thread.ByAgent
		if in.Executor != "" {
			n.note("executor", record, "the executor %s: agent", in.Executor)
		}
	}
	if in.SessionID != "" {
		n.note("session", record, "the session %s: kept in %s/thread.json", in.SessionID, KeptDir)
	}
	n.spawned(m.name, &t)
	if err := n.related(m.name, in, &t); err != nil {
		return err
	}
	if err := n.status(m.name, in, &t); err != nil {
		return err
	}
	n.Threads = append(n.Threads, t)
	n.keep(t.ID, "thread.json", append(slices.Clone(m.value), '\n'))
	n.keepOperations(m.name, t.ID)
	injected := 0
	for _, op := range n.operations {
		if op.Command == "inject" && op.Params.ThreadID == m.name {
			injected++
		}
	}
	if injected > 0 {
		n.note("injections", record, "injections (%d): kept in %s/operations.jsonl; inject again what still holds", injected, KeptDir)
	}
	return n.folder(m.name, in, t.ID)
}

// spawned reads from the operation what the thread's record lacks.
func (n *node) spawned(id string, t *thread.Thread) {
	for _, op := range n.operations {
		if op.Command != "spawn" || op.Params.ThreadID != id {
			continue
		}
		if op.Params.Intent != "" {
			t.Intent = strings.ToValidUTF8(op.Params.Intent[:min(len(op.Params.Intent), maxIntent)], "")
		}
		if i := thread.Inherit(op.Params.Inherit); i == thread.InheritFull || i == thread.InheritPartial {
			t.Inherit = i
		}
		t.Created.As, t.Created.Actor = actorOf(op.Operator)
		return
	}
}

func actorOf(operator string) (thread.ActorKind, string) {
	switch kind := thread.ActorKind(operator); kind {
	case thread.Agent, thread.System:
		return kind, operator
	}
	return thread.User, "user"
}

// related sets the parent, the dependencies and the references. What depends_on names
// beyond the parent and the references is what the thread waits for.
func (n *node) related(id string, in nodeThread, t *thread.Thread) error {
	record := thread.TableThreads + "/" + string(t.ID)
	if in.ParentID != nil && *in.ParentID != "" {
		parent, known := n.ids.to[*in.ParentID]
		if !known {
			return missingThread(*in.ParentID)
		}
		t.ParentID = thread.ThreadID(parent)
		if parent == string(t.ID) {
			return selfCycle(t.ID)
		}
	}
	of := n.relations[id]
	for _, on := range of.DependsOn {
		switch to, known := n.ids.to[on]; {
		case thread.ThreadID(to) == t.ParentID || slices.Contains(of.ReferencesTo, on):
		case !known:
			n.note("dependency", record, "depends_on %s: there is no such thread", on)
		case to == string(t.ID):
			return selfCycle(t.ID)
		default:
			t.DependsOn = append(t.DependsOn, thread.ThreadID(to))
		}
	}
	slices.Sort(t.DependsOn)
	t.DependsOn = slices.Compact(t.DependsOn)
	for _, target := range of.ReferencesTo {
		if err := n.reference(id, target, t); err != nil {
			return err
		}
	}
	return nil
}

func missingThread(id string) *codes.Error {
	return codes.ThreadNotFound.New(fact.Of("threadId", id)).
		WithHint("The source names a thread that it does not have; nothing was imported").WithNext("leslie help import")
}

func selfCycle(id thread.ThreadID) *codes.Error {
	return codes.CircularReference.New(fact.Of("path", string(id)+" -> "+string(id))).
		WithHint("The source has this cycle; nothing was imported").WithNext("leslie help import")
}

// reference adds the references from a thread to another: one for each operation that
// made one, or one for the relation alone.
func (n *node) reference(from, target string, t *thread.Thread) error {
	to, known := n.ids.to[target]
	if to == string(t.ID) {
		return selfCycle(t.ID)
	}
	ref := thread.Reference{From: t.ID, Target: thread.ThreadID(to), Binding: thread.Live, Created: t.Created, TakenAt: t.Created.At}
	if !known {
		ref.Target = thread.ThreadID(inAlphabet(target))
	}
	made := slices.DeleteFunc(slices.Clone(n.operations), func(op nodeOperation) bool {
		return op.Command != "reference" || op.Params.FromID != from || op.Params.ToID != target
	})
	copied := "threads/" + from + "/" + nodeInherited + "/" + target
	if fs.ValidPath(copied) {
		info, err := fs.Stat(n.files, copied)
		switch {
		case err == nil && info.IsDir():
			ref.Binding = thread.Frozen
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(made) > 0 {
		last := made[len(made)-1]
		ref.ID, ref.Scope = thread.ReferenceID(n.references.to[last.Params.RefID]), cleanScope(last.Params.Scope)
		ref.Created.As, ref.Created.Actor = actorOf(last.Operator)
		at, err := stampOf(nodeState, last.Timestamp, t.Created.At)
		if err != nil {
			return err
		}
		ref.Created.At, ref.TakenAt = at, at
	}
	if ref.ID == "" {
		ref.ID = thread.ReferenceID(n.newID(thread.PrefixReference))
	}
	ref.Resolved = known
	if !known {
		ref.Unresolved = thread.ReasonMissing
	}
	n.References = append(n.References, ref)
	if ref.Binding == thread.Frozen {
		n.Copies = append(n.Copies, Copy{From: copied, Reference: len(n.References) - 1})
	}
	return nil
}

// cleanScope is a scope as records have it: sorted, without what no artifact can match.
func cleanScope(scope []string) []string {
	var out []string
	for _, s := range scope {
		if s = path.Clean(strings.TrimPrefix(s, "./")); fs.ValidPath(s) && s != "." {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// status sets the status. A thread that waits for a person gets the approval that it
// waits for; without one it is active.
func (n *node) status(id string, in nodeThread, t *thread.Thread) error {
	record := thread.TableThreads + "/" + string(t.ID)
	switch t.Status = thread.Status(in.Status); {
	case t.Status == thread.WaitingHuman:
		return n.waits(id, t)
	case slices.Contains(thread.Statuses(), t.Status):
	default:
		n.note("status", record, "the status %s: active", in.Status)
		t.Status = thread.Active
	}
	return nil
}

func (n *node) waits(id string, t *thread.Thread) error {
	for _, op := range slices.Backward(n.operations) {
		if op.Command != "transfer" || op.Params.ThreadID != id || op.Params.Direction != "request_approval" {
			continue
		}
		scope := slices.DeleteFunc(slices.Clone(op.Params.Scope), func(s string) bool { return !thread.ValidID(s) })
		if slices.Sort(scope); len(scope) == 0 {
			break
		}
		at, err := stampOf(nodeState, op.Timestamp, t.Updated)
		if err != nil {
			return err
		}
		as, actor := actorOf(op.Operator)
		n.Approvals = append(n.Approvals, thread.Approval{
			ID: thread.ApprovalID(n.newID(thread.PrefixApproval)), ThreadID: t.ID, Kind: thread.Request, Scope: slices.Compact(scope),
			Reason: op.Params.Reason, Status: thread.GrantOpen, Fallback: thread.Block, Created: thread.Attribution{At: at, As: as, Actor: actor},
		})
		return nil
	}
	t.Status = thread.Active
	n.note("status", thread.TableThreads+"/"+string(t.ID), "it waits for a person, and nothing says for what: active")
	return nil
}

// keepOperations keeps the operations that name a thread. Those that name none are kept
// with the first thread.
func (n *node) keepOperations(id string, to thread.ThreadID) {
	first := n.threads[0].name == id
	var lines bytes.Buffer
	for _, op := range n.operations {
		p := op.Params
		names := append([]string{p.ThreadID, p.FromID, p.ToID, p.Target}, p.Sources...)
		ours := slices.Contains(names, id)
		nobodys := !slices.ContainsFunc(names, func(name string) bool { _, known := n.ids.to[name]; return known })
		if ours || first && nobodys {
			_ = json.Compact(&lines, op.raw) // it was read as JSON
			lines.WriteByte('\n')
		}
	}
	if lines.Len() > 0 {
		n.keep(to, "operations.jsonl", lines.Bytes())
	}
}

// folder takes over the thread's folder: its artifacts, and apart from them what leslie
// keeps for itself in folders of these names.
func (n *node) folder(id string, in nodeThread, to thread.ThreadID) error {
	dir := "threads/" + id
	if in.StoragePath != "" {
		rel, inside := strings.CutPrefix(path.Clean(strings.ReplaceAll(in.StoragePath, `\`, "/")), ".leslie/")
		if !inside || !fs.ValidPath(rel) || !strings.HasPrefix(rel, "threads/") {
			return codes.UnsafePath.New(fact.Of("path", in.StoragePath), fact.Of("threadId", id)).
				WithHint("The source puts a thread's folder there; nothing was imported").WithNext("leslie help import")
		}
		dir = rel
	}
	if !fs.ValidPath(dir) { // an id that cannot be a folder has none
		return nil
	}
	n.Folders = append(n.Folders,
		Folder{From: dir, Skip: []string{".meta", "context"}, Thread: to, To: "."},
		Folder{From: dir + "/.meta", Thread: to, To: KeptDir + "/meta"},
		Folder{From: dir + "/context", Skip: []string{"inherited"}, Thread: to, To: KeptDir + "/context"})
	skip := []string{}
	for _, c := range n.Copies {
		if from, name := path.Split(c.From); strings.TrimSuffix(from, "/") == path.Join(dir, nodeInherited) {
			skip = append(skip, name)
		}
	}
	n.Folders = append(n.Folders, Folder{From: dir + "/" + nodeInherited, Skip: skip, Thread: to, To: KeptDir + "/inherited"})
	return nil
}

// firstOf is the first line of the first of the texts that is not blank, at most limit
// characters of it.
func firstOf(limit int, texts ...string) string {
	for _, text := range texts {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if line = strings.TrimSpace(line); line != "" {
			line, _ = cutText(line, limit)
			return line
		}
	}
	return ""
}
