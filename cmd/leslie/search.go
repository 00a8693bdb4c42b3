package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

type searchText struct {
	*app.SearchResult
	all bool // archived threads were searched, too
}

// searchRow is a hit with its thread.
type searchRow struct {
	app.SearchItem
	hit  app.SearchHit
	more int // further hits of the thread, in the row of the first
}

func (d searchText) Text(p *page) {
	var rows []searchRow
	for _, item := range d.Items.Items {
		for i, hit := range item.Hits.Items {
			row := searchRow{SearchItem: item, hit: hit}
			if i == 0 {
				row.more = item.Hits.Total - len(item.Hits.Items)
			}
			rows = append(rows, row)
		}
	}
	tableOf(p, rows, []column[searchRow]{
		{Column: screen.Column{Name: "THREAD"}, cell: text(func(r searchRow) thread.ThreadID { return r.ThreadID })},
		{Column: screen.Column{Name: "STATUS", Goes: 2}, cell: func(r searchRow) screen.Cell { return screen.Status(r.Status) }},
		{Column: screen.Column{Name: "MORE", Goes: 1}, cell: text(moreHits), used: true},
		{Column: screen.Column{Name: "WHERE", Shrinks: true, CutStart: true}, cell: text(hitPlace)},
		{Column: screen.Column{Name: "LINE", Shrinks: true}, cell: text(func(r searchRow) string { return r.hit.Text })},
	})
	p.rest(len(d.Items.Items), d.Total)
	switch {
	case d.Total > 0:
	case d.all:
		p.line("nothing was found")
	default:
		p.line("nothing was found; --all searches archived threads, too")
	}
	for _, u := range d.Unread.Items {
		p.line("not searched: %s: %s", strings.TrimSuffix(string(u.ThreadID)+"/"+u.Path, "/"), u.Reason)
	}
	if d.Unread.Truncated {
		p.line("not searched: %d more", d.Unread.Total-len(d.Unread.Items))
	}
}

// hitPlace says where a hit is.
func hitPlace(r searchRow) string {
	switch h := r.hit; h.In {
	case app.InTitles:
		return "title"
	case app.InIntents:
		return "intent:" + strconv.Itoa(h.Line)
	case app.InHistory:
		return h.Command + ", history " + strconv.FormatInt(int64(h.Seq), 10)
	case app.InTranscripts:
		return h.Kind + ", turn " + strconv.Itoa(h.Turn)
	default:
		if h.Line == 0 {
			return h.Path
		}
		return h.Path + ":" + strconv.Itoa(h.Line)
	}
}

func moreHits(r searchRow) string {
	if r.more == 0 {
		return ""
	}
	return "+" + strconv.Itoa(r.more)
}

func searchPlaceWords() []string {
	var words []string
	for _, place := range app.SearchPlaces() {
		words = append(words, string(place))
	}
	return words
}

func searchCommand() *command {
	return &command{
		name: "search", summary: "search threads, artifacts, history and transcripts",
		detail: "Finds threads with all words in one place: a title, an intent, an artifact, an operation, something that an agent " +
			"said or did. Upper and lower case are the same; a quoted operand is found as it is in one line. Titles come first, then intents, " +
			"artifacts, history and transcripts; of each thread the best three places are shown, with the line.",
		example:  "leslie search token refresh --in artifacts",
		operands: []operand{{value: anyText("WORD"), many: true}},
		flags: []cli.Flag{
			newOption("in", listOf(searchPlaceWords()...).as("PLACE,..."), "only here: "+strings.Join(searchPlaceWords(), ", ")),
			toggle("all", "include archived threads"),
			limitFlag(),
		},
		run: runSearch,
	}
}

func runSearch(c *call) (Data, error) {
	in := app.SearchRequest{Words: c.flags.Args().Slice(), All: c.on("all"), Limit: c.count("limit", app.DefaultLimit)}
	for _, place := range c.parts("in") {
		in.In = append(in.In, app.SearchPlace(place))
	}
	c.checkRequest(in.Faults, map[string]string{"Words": "WORD", "In": "--in"})
	return runUseCase(c, app.Search, in, func(d *app.SearchResult) Data { return searchText{d, in.All} })
}
