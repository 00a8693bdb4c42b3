package viewcmd

import (
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/views"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

type searchText struct{ *views.SearchResult }

// searchRow is a hit with its thread.
type searchRow struct {
	views.SearchItem
	hit  views.SearchHit
	more int // further hits of the thread, in the row of the first
}

func (d searchText) Text(p *page.Page) {
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
	page.TableOf(p, rows, []page.Column[searchRow]{
		{Column: screen.Column{Name: "THREAD"},
			Cell: page.Text(func(r searchRow) thread.ThreadID { return r.ThreadID })},
		{Column: screen.Column{Name: "STATUS", DropOrder: 2},
			Cell: func(r searchRow) screen.Cell { return screen.StatusCell(r.Status) }},
		{Column: screen.Column{Name: "MORE", DropOrder: 1}, Cell: page.Text(moreHits), HideIfEmpty: true},
		{Column: screen.Column{Name: "WHERE", Shrinks: true, CutStart: true}, Cell: page.Text(hitPlace)},
		{Column: screen.Column{Name: "LINE", Shrinks: true},
			Cell: page.Text(func(r searchRow) string { return r.hit.Text })},
	})
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("nothing was found")
	}
	if d.Archived > 0 {
		p.Line("not searched: %s; --all searches them too", fact.Plural(d.Archived, "archived thread"))
	}
	for _, u := range d.Unread.Items {
		p.Line("not searched: %s: %s", strings.TrimSuffix(string(u.ThreadID)+"/"+u.Path, "/"), u.Reason)
	}
	if d.Unread.Truncated {
		p.Line("not searched: %d more", d.Unread.Total-len(d.Unread.Items))
	}
}

// hitPlace says where a hit is.
func hitPlace(r searchRow) string {
	switch h := r.hit; h.In {
	case views.InTitles:
		return "title"
	case views.InIntents:
		return "intent:" + strconv.Itoa(h.Line)
	case views.InHistory:
		return h.Command + ", history " + strconv.FormatInt(int64(h.Seq), 10)
	case views.InTranscripts:
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
	for _, place := range views.SearchPlaces() {
		words = append(words, string(place))
	}
	return words
}

// Search is the command leslie search.
func Search() *cli.Command {
	return &cli.Command{
		Name: "search", Summary: "search threads, artifacts, history and transcripts",
		Detail: "Finds threads with all words in one place: a title, an intent, an artifact, an operation, " +
			"something that an agent said or did. Upper and lower case are the same; a quoted operand is found as " +
			"it is in one line. Titles come first, then intents, artifacts, history and transcripts; of each thread " +
			"the best three places are shown, with the line.",
		Example:  "leslie search token refresh --in artifacts",
		Operands: []cli.Operand{{Value: cli.Text("WORD"), Many: true}},
		Flags: append([]cli.Flag{
			cli.NewFlag("in", cli.ListOf(searchPlaceWords()...).As("PLACE,..."),
				"only here: "+strings.Join(searchPlaceWords(), ", ")),
			cli.SinceFlag("threads that changed"),
			cli.Toggle("all", "include archived threads"),
			cli.LimitFlag(),
		}, cli.HolderFlags()...),
		Run: runSearch,
	}
}

func runSearch(c *cli.Call) (cli.Data, error) {
	in := views.SearchRequest{Words: c.Flags.Args().Slice(), All: c.On("all"), ActorFilter: c.ActorFilter(),
		Limit: c.Count("limit", app.DefaultLimit)}
	in.Since, in.From = c.ChangedSince()
	for _, place := range c.Parts("in") {
		in.In = append(in.In, views.SearchPlace(place))
	}
	c.CheckRequest(in.Faults, map[string]string{"Words": "WORD", "In": "--in"})
	return cli.RunUseCase(c, views.Search, in, func(d *views.SearchResult) cli.Data { return searchText{d} })
}
