package filework

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/thread"
	"leslie/warnings"
)

// This file moves away what is in the place of a step, and stores it as blobs.

// These folders are next to the stage, not in it: its process may close the stage
// while a step is still pending.
const (
	displaced = ".displaced" // tmp/OP.displaced/: what was in the way
	spent     = ".spent"     // tmp/OP.spent/: the same, kept as blobs, to be removed
)

// displacedIn is the folder for what an operation displaces, displacedAt the name in it
// for what step i displaces.
func displacedIn(p *thread.Pending) string {
	return path.Join(content.Tmp, string(p.Operation)+displaced)
}

func displacedAt(p *thread.Pending, i int) string {
	return path.Join(displacedIn(p), strconv.Itoa(number(p, i)))
}

// number is that of a step in its operation.
func number(p *thread.Pending, i int) int {
	if p.At != nil {
		return p.At[i]
	}
	return i
}

// displace moves what is at a name to another.
func (w Work) displace(name, to string) error {
	there, err := w.Exists(name)
	if !there || err != nil {
		return err
	}
	// A process may have died after it displaced, and somebody created the name again.
	if to, err = w.Free(to, "+"); err != nil {
		return err
	}
	if err := w.Ensure(path.Dir(to)); err != nil {
		return err
	}
	w.Touch(path.Dir(name))
	return w.Rename(name, to)
}

// clearDisplaced stores what was displaced as blobs and removes it. If that fails in
// the end, nothing depends on it: sweeps try again, and doctor reports it.
// Errors: T505, T509; unkept.
func (w Work) clearDisplaced(p *thread.Pending) error {
	gone := path.Join(content.Tmp, string(p.Operation)+spent)
	there, err := w.Exists(displacedIn(p))
	if err != nil {
		return err
	}
	if there {
		kept, err := content.Keep(w.Disk(), displacedIn(p))
		if err != nil {
			return unkept{err}
		}
		if err := w.keepUnnamed(p, kept); err != nil {
			return err
		}
		if err := w.Rename(displacedIn(p), gone); err != nil {
			return err
		}
	}
	if left, err := w.Exists(gone); left && err == nil {
		_ = w.RemoveAll(gone)
	}
	return nil
}

// unkept says that all steps are done and on disk, and that what they displaced
// could not be put into blobs.
type unkept struct{ error }

func (e unkept) Unwrap() error { return e.error }

// clearUp is clearDisplaced for the steps of an earlier operation. What they displaced
// and nobody can read (a folder without permission, a bad sector) must not keep the
// store from being written for ever: it is moved aside. Errors: T505, T507, T509.
func (w Work) clearUp(p *thread.Pending, out *warnings.List) error {
	disk := w.Disk()
	err := w.clearDisplaced(p)
	var e unkept
	if !errors.As(err, &e) || !codes.Has(err, codes.ReadFailed) {
		return disk.WriteFailed(err)
	}
	to := disk.AsideName("displaced")
	if err := disk.Rename(w.Path(displacedIn(p)), to); err != nil {
		return disk.WriteFailed(err)
	}
	out.Add(warnings.NotSettled.New(
		fact.Of("what", "keeping what the operation '"+string(p.Operation)+"' displaced"),
		fact.Of("reason", disk.Reason(e.error)+"; it was moved aside to "+disk.Relative(to))))
	return nil
}

// keepUnnamed keeps a list of what an operation displaced and no list of its own names.
// Errors: T505.
func (w Work) keepUnnamed(p *thread.Pending, all content.Manifest) error {
	var unnamed content.Manifest
	for _, f := range all {
		planned := slices.ContainsFunc(p.Steps, func(step thread.Step) bool { return step.Expect == f.SHA256 })
		if planned {
			continue
		}
		first, rest, _ := strings.Cut(f.Path, "/")
		for i, step := range p.Steps {
			if strconv.Itoa(number(p, i)) == strings.TrimRight(first, "+") {
				f.Path = path.Join(step.To, rest)
			}
		}
		unnamed = append(unnamed, f)
	}
	if len(unnamed) == 0 {
		return nil
	}
	return content.KeepList(w.Disk(), string(p.Operation), unnamed)
}

// Cancel removes the empty folder that Prepare made for an operation that was not
// committed.
func (w Work) Cancel(p *thread.Pending) { _ = os.Remove(w.Path(displacedIn(p))) }
