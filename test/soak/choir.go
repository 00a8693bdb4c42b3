//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// This file is the play about merges. A choir is a thread and a few workers, each
// with a child of it. Each writes lines into its own section of one file and into
// a file of its own, merges them up and everybody's down, and nobody takes
// anything back: so a line is, once, wherever an acknowledged merge brought it,
// for good. From time to time a new generation begins, so that files stay small.

// singers are how many workers one choir has.
const singers = 4

// generation is how many lines a worker writes before a new generation is due.
const generation = 60

// choirs is what all choirs together know.
type choirs struct {
	mu    sync.Mutex
	born  int
	up    map[string][]string // by choir, the lines that have to be in it
	count int                 // acknowledged merges
}

// choirist is what a worker knows of its own child.
type choirist struct {
	mine    []string // written into it, for good
	others  []string // merged down into it
	unclear bool     // a killed call may have left work for the next writer
}

func (w *worker) choirID() string {
	return fmt.Sprintf("choir-%d-%d", w.choirs.born, w.n/singers)
}

func (w *worker) voiceID() string { return fmt.Sprintf("%s-%02d", w.choirID(), w.n) }

const song = "song.md"

// score is the empty file: a section for each singer, far enough from the next.
func score(singers []int) string {
	var b strings.Builder
	for _, n := range singers {
		b.WriteString(section(n))
		for i := range 5 {
			b.WriteString(sealed(fmt.Sprintf("rest %d of %02d", i, n)))
		}
	}
	return b.String()
}

func section(n int) string { return sealed(fmt.Sprintf("# %02d", n)) }

// sing takes a step.
func (w *worker) sing() {
	switch w.r.IntN(5) {
	case 0, 1:
		// Who saves looks what is there; a merge sees to that by itself.
		if w.choir.unclear && !w.settle(w.voiceID()) {
			return
		}
		w.choir.unclear = false
		w.voice()
	case 2, 3:
		w.mergeUp()
	default:
		w.mergeDown()
	}
}

// settle makes a write that sees an earlier one's work through.
func (w *worker) settle(id string) bool {
	o := w.do(line{command: "update", argv: []string{"update", id, "--title", fmt.Sprintf("Settled %d", w.r.Uint32())}, family: true, calm: true})
	return o.ok()
}

// voice writes a few lines.
func (w *worker) voice() {
	if len(w.choir.mine) > 3*generation {
		return // a new generation is long due
	}
	for range 1 + w.r.IntN(3) {
		name, line := song, w.line()
		if w.r.IntN(3) == 0 {
			name = w.name() + ".md"
		}
		text, err := os.ReadFile(w.path("threads/" + w.voiceID() + "/" + name))
		if err != nil && name == song {
			w.violate(w, "the song of "+w.voiceID()+" cannot be read: "+err.Error())
			return
		}
		if name == song {
			text = []byte(strings.Replace(string(text), section(w.n), section(w.n)+line, 1))
		} else {
			text = append(text, line...)
		}
		if err := w.save(w.voiceID(), name, string(text)); err != nil {
			w.violate(w, "a line cannot be saved: "+err.Error())
			return
		}
		w.choir.mine = append(w.choir.mine, line)
	}
}

// mergeUp brings what the worker has into the choir. Others do so too: a plan
// may be overtaken too often.
func (w *worker) mergeUp() {
	brought := slices.Concat(w.choir.mine, w.choir.others)
	o := w.merged(w.voiceID(), w.choirID())
	if !o.ok() {
		return
	}
	w.choirs.mu.Lock()
	defer w.choirs.mu.Unlock()
	w.choirs.count++
	w.choirs.up[w.choirID()] = union(w.choirs.up[w.choirID()], brought)
}

// mergeDown brings what the choir has to the worker, where it can be seen at once:
// nobody else has anything to do there.
func (w *worker) mergeDown() {
	w.choirs.mu.Lock()
	there := slices.Clone(w.choirs.up[w.choirID()])
	w.choirs.mu.Unlock()
	if o := w.merged(w.choirID(), w.voiceID()); !o.ok() {
		return
	}
	w.choirs.mu.Lock()
	w.choirs.count++
	w.choirs.mu.Unlock()
	for _, line := range there {
		if !slices.Contains(w.choir.mine, line) && !slices.Contains(w.choir.others, line) {
			w.choir.others = append(w.choir.others, line)
		}
	}
	if problem := w.sung(w.voiceID(), slices.Concat(w.choir.mine, w.choir.others)); problem != "" {
		w.violate(w, problem)
	}
}

func union(a, b []string) []string {
	known := map[string]bool{}
	for _, s := range a {
		known[s] = true
	}
	for _, s := range b {
		if !known[s] {
			a = append(a, s)
		}
	}
	return a
}

func (w *worker) merged(from, to string) outcome {
	o := w.do(line{command: "merge", argv: []string{"merge", "--sources", from, "--target", to}, family: true, may: "T304"})
	w.choir.unclear = w.choir.unclear || o.killed
	return o
}

// sung says which line a thread of a choir lacks, or has twice, or never should
// have had.
func (p *project) sung(id string, lines []string) string {
	files, err := p.artifacts(id)
	if err != nil {
		return "the artifacts of " + id + " cannot be read: " + err.Error()
	}
	all := ""
	for _, name := range sortedKeys(files) {
		all += files[name]
	}
	if line, times := missing(lines, all); line != "" {
		return fmt.Sprintf("%s has a line %d times that was merged into it: %s", id, times, line)
	}
	if line := torn(all); line != "" {
		return fmt.Sprintf("%s has a line that nobody wrote: %q", id, line)
	}
	return ""
}

// compare looks at all choirs and children while nobody works.
func (c *choirs) compare(p *project, workers []*worker) (problems []string) {
	for _, id := range sortedKeys(c.up) {
		if problem := p.sung(id, c.up[id]); problem != "" {
			problems = append(problems, problem)
		}
	}
	for _, w := range workers {
		if problem := p.sung(w.voiceID(), slices.Concat(w.choir.mine, w.choir.others)); problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
}

// due reports whether somebody has written enough.
func (c *choirs) due(workers []*worker) bool {
	return c.born == 0 || slices.ContainsFunc(workers, func(w *worker) bool { return len(w.choir.mine) > generation })
}

// rehearse ends a generation and begins the next, while nobody works.
func (g *ground) rehearse() error {
	c := &g.choirs
	for _, w := range g.workers {
		if c.born > 0 {
			if err := g.all("done "+w.voiceID(), "archive "+w.voiceID()); err != nil {
				return err
			}
		}
		w.choir = choirist{}
	}
	for _, id := range sortedKeys(c.up) {
		if err := g.all("done "+id, "archive "+id); err != nil {
			return err
		}
	}
	c.born++
	c.up = map[string][]string{}
	for _, w := range g.workers {
		if _, there := c.up[w.choirID()]; !there {
			c.up[w.choirID()] = nil
			if err := g.newChoir(w); err != nil {
				return err
			}
		}
		if err := g.all("spawn --intent Sing --id " + w.voiceID() + " --parent " + w.choirID() + " --inherit full --depends-on " + gateID); err != nil {
			return err
		}
	}
	return nil
}

func (g *ground) newChoir(w *worker) error {
	if err := g.all("spawn --intent Choir --objective plays --id " + w.choirID() + " --depends-on " + gateID); err != nil {
		return err
	}
	var all []int
	for _, other := range g.workers {
		if other.n/singers == w.n/singers {
			all = append(all, other.n)
		}
	}
	return w.save(w.choirID(), song, score(all))
}
