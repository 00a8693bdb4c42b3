package merge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"leslie/merge"
)

// A load is a three-way case of a given size.
type load struct {
	name string
	make func(g gen, n int) threeWay
}

func loads() []load {
	return []load{
		{"1% edits", func(g gen, n int) threeWay { return edited(g, n, 100) }},
		{"10% edits", func(g gen, n int) threeWay { return edited(g, n, 10) }},
		{"equal lines", equalLines},
		{"shuffled", shuffled},
		{"all different", allDifferent},
	}
}

// source returns n lines like a program's: two thirds are unique.
func source(g gen, n int) []string {
	out := make([]string, n)
	for i := range out {
		switch g.IntN(9) {
		case 0:
			out[i] = "}"
		case 1:
			out[i] = ""
		case 2:
			out[i] = "\treturn " + g.words(1, 1)
		default:
			out[i] = fmt.Sprint("\tx := call(", i, ")")
		}
	}
	return out
}

// edited changes one line in every few on each side.
func edited(g gen, n, every int) threeWay {
	base := source(g, n)
	side := func(name string) []byte {
		out := slices.Clone(base)
		for i := range n / every {
			at := g.IntN(n)
			out[at] = fmt.Sprint("\t", name, i)
			if g.chance(30) {
				out[at] += "\n\tmore"
			}
		}
		return text(out)
	}
	return threeWay{base: text(base), ours: side("ours"), theirs: side("theirs")}
}

// equalLines has more of the same line on one side, and fewer on the other.
func equalLines(_ gen, n int) threeWay {
	same := func(n int) []byte { return []byte(strings.Repeat("same\n", n)) }
	return threeWay{base: same(n), ours: same(n + n/10), theirs: same(n - n/10)}
}

func shuffled(g gen, n int) threeWay {
	base := source(g, n)
	side := func() []byte {
		out := slices.Clone(base)
		g.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
		return text(out)
	}
	return threeWay{base: text(base), ours: side(), theirs: side()}
}

func allDifferent(_ gen, n int) threeWay {
	side := func(name string) []byte {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprint(name, i)
		}
		return text(out)
	}
	return threeWay{base: side("base"), ours: side("ours"), theirs: side("theirs")}
}

func text(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// BenchmarkText merges and renders; "git" is the oracle's whole process on the
// same texts.
func BenchmarkText(b *testing.B) {
	for _, l := range loads() {
		for _, n := range []int{10_000, 100_000} {
			c := l.make(gen{rand.New(rand.NewPCG(1, uint64(n)))}, n)
			b.Run(fmt.Sprintf("%s/%d/leslie", l.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					render(c)
				}
			})
			b.Run(fmt.Sprintf("%s/%d/git", l.name, n), func(b *testing.B) {
				git := newOracle(b)
				for b.Loop() {
					if _, _, err := git.merge(c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		c := ticked(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				merge.Settle("progress.md", merge.Text(c.base, c.ours, c.theirs), merge.List)
			}
		})
	}
}

// ticked is a list in which the sides ticked neighbouring boxes.
func ticked(n int) threeWay {
	side := func(mark int) []byte {
		var out strings.Builder
		for i := range n {
			state := " "
			if i%5 == mark {
				state = "x"
			}
			fmt.Fprintf(&out, "- [%s] item %d\n", state, i)
		}
		return []byte(out.String())
	}
	return threeWay{base: side(-1), ours: side(0), theirs: side(1)}
}
