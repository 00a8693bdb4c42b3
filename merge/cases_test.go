package merge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A threeWay is one generated case: a base and two sides derived from it.
type threeWay struct {
	name               string
	base, ours, theirs []byte
}

// generate returns case n of a seed: the same bytes in every run.
func generate(seed, n uint64) threeWay {
	g := newGen(seed, n)
	kind := kinds()[g.IntN(len(kinds()))]
	ending := endings()[g.IntN(len(endings()))]
	base := kind.lines(g)
	ours, theirs := g.sides(base, kind)
	if g.chance(5) {
		kind.name = "heavy"
		base, ours, theirs = g.heavy()
	}
	return threeWay{
		name:   kind.name + " " + ending.name,
		base:   ending.join(g, base),
		ours:   ending.join(g, ours),
		theirs: ending.join(g, theirs),
	}
}

// gen is a source of deterministic choices.
type gen struct{ *rand.Rand }

func newGen(seed, n uint64) gen { return gen{rand.New(rand.NewPCG(seed, n))} }

func (g gen) between(lo, hi int) int     { return lo + g.IntN(hi-lo+1) }
func (g gen) chance(percent int) bool    { return g.IntN(100) < percent }
func (g gen) pick(from ...string) string { return from[g.IntN(len(from))] }
func (g gen) words(lo, hi int) string    { return strings.Join(g.some(lo, hi, vocabulary()...), " ") }
func (g gen) some(lo, hi int, from ...string) []string {
	out := make([]string, g.between(lo, hi))
	for i := range out {
		out[i] = g.pick(from...)
	}
	return out
}

func vocabulary() []string {
	return []string{"lock", "store", "merge", "thread", "plan", "test", "écrire", "行", "review", "api", "retry",
		"the", "a", "schema", "design", "cache", "naïve", "ship", "🙂", "draft", "index", "token", "client"}
}

// A kind generates the lines of a base, and single new lines that fit into it.
type kind struct {
	name  string
	lines func(gen) []string
	line  func(gen) string
}

func kinds() []kind {
	return []kind{
		{"plan", planLines, planLine},
		{"progress", progressLines, progressLine},
		{"design", designLines, designLine},
		{"go", goLines, goLine},
		{"python", pythonLines, pythonLine},
		{"json", jsonLines, jsonLine},
		{"yaml", yamlLines, yamlLine},
		{"table", tableLines, tableLine},
		{"letters", letterLines, letterLine},
		{"long", longLines, letterLine},
		{"blanks", blankLines, blankLine},
		{"tiny", tinyLines, letterLine},
	}
}

func planLine(g gen) string { return g.pick("- ", "- ", "  - ", "1. ") + g.words(1, 4) }
func planLines(g gen) []string {
	out := []string{"# Plan", ""}
	for i := range g.between(1, 5) {
		out = append(out, fmt.Sprintf("## Step %d", i+1), "")
		out = append(out, many(g, 1, 7, planLine)...)
		out = append(out, "")
	}
	return out
}

func progressLine(g gen) string { return "- [" + g.pick(" ", " ", "x") + "] " + g.words(1, 2) }
func progressLines(g gen) []string {
	return append([]string{"# Progress", ""}, many(g, 1, 25, progressLine)...)
}

func designLine(g gen) string { return g.pick("", g.words(4, 10), g.words(4, 10)) }
func designLines(g gen) []string {
	out := []string{"Design", "======", ""}
	for range g.between(1, 6) {
		out = append(append(out, "### "+g.words(1, 2), ""), many(g, 1, 9, designLine)...)
		if g.chance(30) {
			out = append(out, "```", g.words(1, 3), "```")
		}
		out = append(out, "")
	}
	return out
}

func goLine(g gen) string {
	return g.pick("\treturn nil", "\t}", "\tif err != nil {", "\t\treturn err", "", "\tx := "+g.words(1, 1), "// "+g.words(2, 4))
}
func goLines(g gen) []string {
	out := []string{"package " + g.words(1, 1), ""}
	for range g.between(1, 6) {
		out = append(append(out, "func "+g.words(1, 1)+"() error {"), many(g, 1, 8, goLine)...)
		out = append(out, "\treturn nil", "}", "")
	}
	return out
}

func pythonLine(g gen) string {
	return g.pick("    pass", "    return None", "", "    x = "+g.words(1, 1), "        continue", "    # "+g.words(2, 3))
}
func pythonLines(g gen) []string {
	var out []string
	for range g.between(1, 6) {
		out = append(append(out, "def "+g.words(1, 1)+"(self):"), many(g, 1, 6, pythonLine)...)
		out = append(out, "", "")
	}
	return out
}

func jsonLine(g gen) string {
	return g.pick("  },", "  {", "    \""+g.words(1, 1)+"\": "+g.pick("1", "true", "null")+",", "    \"name\": \""+g.words(1, 2)+"\"")
}
func jsonLines(g gen) []string {
	out := []string{"["}
	for range g.between(1, 8) {
		out = append(append(append(out, "  {"), many(g, 1, 4, jsonLine)...), "  },")
	}
	return append(out, "]")
}

func yamlLine(g gen) string {
	return g.pick("  "+g.words(1, 1)+": "+g.words(1, 2), "  - "+g.words(1, 1), "  enabled: true", g.words(1, 1)+":")
}
func yamlLines(g gen) []string { return append([]string{"---"}, many(g, 1, 30, yamlLine)...) }

func tableLine(g gen) string {
	return "| " + g.words(1, 1) + " | " + g.words(1, 2) + " | " + g.pick("yes", "no") + " |"
}
func tableLines(g gen) []string {
	return append([]string{"| name | what | done |", "|---|---|---|"}, many(g, 1, 20, tableLine)...)
}

func letterLine(g gen) string    { return g.pick("a", "b", "c", "d") }
func letterLines(g gen) []string { return many(g, 1, 40, letterLine) }
func tinyLines(g gen) []string   { return many(g, 0, 4, letterLine) }
func blankLine(g gen) string     { return g.pick("", "", "", "}", g.words(1, 1)) }
func blankLines(g gen) []string  { return many(g, 3, 60, blankLine) }

// longLines has a few hundred lines.
func longLines(g gen) []string {
	return many(g, 60, 300, func(g gen) string { return g.pick(letterLine(g), g.words(1, 2)) })
}

func many(g gen, lo, hi int, line func(gen) string) []string {
	out := make([]string, g.between(lo, hi))
	for i := range out {
		out[i] = line(g)
	}
	return out
}

// An eolStyle says how the lines of a text end, and whether its last line does.
type eolStyle struct {
	name    string
	eol     string
	final   int // percent of texts whose last line has an ending
	another int // percent of lines that end the other way
}

func endings() []eolStyle {
	lf := eolStyle{"lf", "\n", 100, 0}
	return []eolStyle{lf, lf, lf, lf, {"crlf", "\r\n", 100, 0}, {"unfinished", "\n", 40, 0},
		{"crlf unfinished", "\r\n", 40, 0}, {"mixed", "\n", 80, 5}}
}

func (e eolStyle) join(g gen, lines []string) []byte {
	var out strings.Builder
	for i, line := range lines {
		out.WriteString(line)
		switch {
		case i == len(lines)-1 && !g.chance(e.final):
		case g.chance(e.another):
			out.WriteString("\r\n")
		default:
			out.WriteString(e.eol)
		}
	}
	return []byte(out.String())
}

// sides edits the base twice. Some edits of the second side are at or next to those of
// the first, some are the same.
func (g gen) sides(base []string, k kind) (ours, theirs []string) {
	switch g.IntN(40) {
	case 0: // both wrote from nothing
		return k.lines(g), k.lines(g)
	case 1:
		return g.edited(base, k, nil), nil
	case 2:
		return g.edited(base, k, nil), slices.Clone(base)
	case 3:
		return nil, nil
	}
	places := g.places(len(base))
	ours = g.edited(base, k, places)
	near := make([]int, 0, len(places))
	for _, p := range places {
		if g.chance(10) {
			near = append(near, max(0, min(len(base), p+g.between(-2, 2))))
		}
	}
	if g.chance(15) {
		return ours, g.edited(ours, k, g.places(len(ours))[:1])
	}
	return ours, g.edited(base, k, append(near, g.places(len(base))...))
}

// heavy returns a text of many hundred lines and sides that rewrote large parts of it:
// so much that the search for the shortest diff hits its cost cap, or with so many new
// lines that the common ones among them mislead it.
func (g gen) heavy() (base, ours, theirs []string) {
	alphabet, fresh := g.between(2, 300), 0
	if g.chance(50) {
		alphabet, fresh = g.between(2, 12), g.between(50, 95)
	}
	line := func(g gen) string { return fmt.Sprint("line ", g.IntN(alphabet)) }
	mixed := func(g gen) string {
		if g.chance(fresh) {
			return fmt.Sprint("new ", g.IntN(1_000_000))
		}
		return line(g)
	}
	base = many(g, 200, 1800, mixed)
	side := func() []string {
		out := slices.Clone(base)
		for range g.between(1, 4) {
			at := g.IntN(len(out) + 1)
			end := min(len(out), at+g.between(20, 500))
			out = slices.Concat(out[:at], many(g, 0, 500, mixed), out[end:])
		}
		if g.chance(40) && len(out) > 0 {
			at := g.IntN(len(out))
			out = slices.Concat(out[at:], out[:at])
		}
		return out
	}
	return base, side(), side()
}

// places chooses where to edit: mostly a few places, sometimes many.
func (g gen) places(n int) []int {
	count := g.between(1, 3)
	if g.chance(15) {
		count = g.between(1, 4+n/4)
	}
	out := make([]int, count)
	for i := range out {
		out[i] = g.IntN(n + 1)
	}
	return out
}

// edited applies one random edit at each place, from the last to the first.
func (g gen) edited(base []string, k kind, places []int) []string {
	if places == nil {
		places = g.places(len(base))
	}
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b int) int { return b - a })
	out := slices.Clone(base)
	for _, at := range places {
		out = g.edit(out, k, min(at, len(out)))
	}
	return out
}

func (g gen) edit(lines []string, k kind, at int) []string {
	end := min(len(lines), at+g.between(1, 3))
	switch g.IntN(9) {
	case 0, 1, 2: // rewrite
		return slices.Concat(lines[:at], many(g, 1, end-at+1, k.line), lines[end:])
	case 3, 4: // insert
		return slices.Concat(lines[:at], many(g, 1, 3, k.line), lines[at:])
	case 5: // delete
		return slices.Concat(lines[:at], lines[end:])
	case 6: // repeat a block
		return slices.Concat(lines[:end], lines[at:end], lines[end:])
	case 7: // move a block
		rest := slices.Concat(lines[:at], lines[end:])
		to := g.IntN(len(rest) + 1)
		return slices.Concat(rest[:to], lines[at:end], rest[to:])
	default: // touch a line up: tick it, or add a word
		out := slices.Clone(lines)
		if at < len(out) && strings.Contains(out[at], "[ ]") {
			out[at] = strings.Replace(out[at], "[ ]", "[x]", 1)
		} else if at < len(out) {
			out[at] += " " + g.words(1, 1)
		}
		return out
	}
}

// repetitive reports whether at least a quarter of the lines occur more than once.
func repetitive(text []byte) bool {
	count, total, repeated := map[string]int{}, 0, 0
	for line := range strings.Lines(string(text)) {
		count[line]++
		total++
	}
	for _, n := range count {
		if n > 1 {
			repeated += n
		}
	}
	return repeated > 0 && repeated*4 >= total
}
