package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/internal/acp"
	"leslie/internal/app"
)

// This file reads when a limit is over out of what an agent says: in members of JSON, or
// in words. The expressions are compiled where they are needed: at every start they would
// take a quarter of a millisecond.

// longestLimit is the longest pause that an agent's own words may cause.
const longestLimit = 32 * 24 * time.Hour

// limitWords match what agents and the models behind them say when nothing is left to use.
func limitWords() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(usage|rate|session|weekly|daily|hourly|monthly|hour|day|week|month)s?[ _-]?limit` +
		`|\b(request|token|message|plan|spending)s?[ _-]?limit` +
		`|(?:\b|_)quota|resource[ _]?exhausted|too many requests|\b429\b|\b(hit|reached) (your|the) .{0,30}limit` +
		`|\blimit (was |is )?(reached|exceeded|hit)\b.{0,40}\breset`)
}

// LimitOf reports whether an agent's answer says that nothing is left to use for now, and
// until when; the zero time if it does not say. Times without a zone are in that of now.
func LimitOf(err error, now time.Time) (until time.Time, limited bool) {
	return LimitSaid{}.Limit(err, now)
}

// LimitSaid is what an agent said of its limits before its answer.
type LimitSaid struct {
	Usage json.RawMessage // _meta of its last update of usage that has a time
	Words string          // the end of what it said in the turn, since its last call of a tool
}

// Limit is LimitOf for an agent that has said more.
func (said LimitSaid) Limit(err error, now time.Time) (until time.Time, limited bool) {
	var answered *acp.Error
	if !errors.As(err, &answered) {
		return until, false
	}
	text := answered.Message + "\n" + string(answered.Data)
	if !limitWords().MatchString(text) || strings.Contains(strings.ToLower(text), "disk quota") {
		return until, false
	}
	answer, usage := LimitsIn(answered.Data, now), LimitsIn(said.Usage, now)
	find := []func() time.Time{
		answer.over, usage.over,
		func() time.Time { return spokenEnd(text, now) },
		answer.soonest, usage.soonest,
		func() time.Time {
			if !limitWords().MatchString(said.Words) {
				return time.Time{}
			}
			return spokenEnd(said.Words, now)
		},
	}
	for _, f := range find {
		if until = f(); !until.IsZero() {
			return until.UTC(), true
		}
	}
	return until, true
}

// Alone returns what an agent said last if it is that nothing is left to use: some end a turn
// with these words as if all was well. Words about limits in general are not.
func (said LimitSaid) Alone(now time.Time) (words string, limited bool) {
	words = said.Words[max(0, len(said.Words)-mostLimitAlone):]
	own := regexp.MustCompile(`(?i)\byou(?:['’]ve| have)? (?:hit|reached|exceeded|used up|exhausted) your\b.{0,40}\b(?:limit|quota)\b`)
	if at := own.FindStringIndex(words); at != nil {
		return words[at[0]:], true
	}
	met := regexp.MustCompile(`(?i)(?:\b[a-z]+ ){0,3}\b(?:limit|quota) (?:was |is |has been )?(?:reached|exceeded|exhausted|hit)\b`)
	at := met.FindStringIndex(words)
	if at == nil || !limitWords().MatchString(words[at[0]:]) {
		return "", false
	}
	words = words[at[0]:]
	return words, LimitsIn(said.Usage, now).spent() || !spokenEnd(words, now).IsZero()
}

// mostLimitAlone is how long the last words of a turn may be that say nothing but the limit.
const mostLimitAlone = 300

// limitEnd returns a time that may be the end of a limit, else the zero time.
func limitEnd(at, now time.Time) time.Time {
	if at.After(now) && at.Sub(now) <= longestLimit {
		return at
	}
	return time.Time{}
}

// toldLimit is a limit in JSON: the members of an object that has a time.
type toldLimit struct {
	end         time.Time
	spent, left bool // it says that nothing is left, or that something is
}

type toldLimits []toldLimit

// over is when all limits are over of which nothing is left, or the first of those that do
// not say.
func (all toldLimits) over() (end time.Time) {
	for _, l := range all {
		if l.spent && l.end.After(end) {
			end = l.end
		}
	}
	if !end.IsZero() {
		return end
	}
	for _, l := range all {
		if !l.left {
			end = app.Earlier(end, l.end)
		}
	}
	return end
}

// spent reports whether nothing is left of one of them.
func (all toldLimits) spent() bool {
	return slices.ContainsFunc(all, func(l toldLimit) bool { return l.spent })
}

// soonest is when the first limit is over.
func (all toldLimits) soonest() (end time.Time) {
	for _, l := range all {
		end = app.Earlier(end, l.end)
	}
	return end
}

// LimitsIn finds limits in JSON, also where it is the text of a member.
func LimitsIn(raw json.RawMessage, now time.Time) (all toldLimits) {
	var value any
	if len(raw) > 0 && json.Unmarshal(raw, &value) == nil {
		all.add(value, now, 8)
	}
	return all
}

func (all *toldLimits) add(value any, now time.Time, depth int) {
	if depth == 0 {
		return
	}
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			all.add(item, now, depth-1)
		}
	case string:
		var inner any
		begin, end := strings.IndexByte(v, '{'), strings.LastIndexByte(v, '}')
		if begin >= 0 && end > begin && json.Unmarshal([]byte(v[begin:end+1]), &inner) == nil {
			all.add(inner, now, depth-1)
		}
	case map[string]any:
		var l toldLimit
		for _, name := range app.SortedKeys(v) {
			l.note(plainName(name), v[name], now)
			all.add(v[name], now, depth-1)
		}
		if !l.end.IsZero() {
			*all = append(*all, l)
		}
	}
}

// plainName is the name of a member without case and what separates its words.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// note takes over what a member says.
func (l *toldLimit) note(name string, value any, now time.Time) {
	number, isNumber := value.(float64)
	text, _ := value.(string)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		number, isNumber = n, true
	}
	switch name {
	case "resetsat", "resetat", "resettime", "resetstime", "resetdate", "reset", "resets", "resetson", "nextreset",
		"nextresetat", "retryat", "availableat", "limitresetsat":
		if end := limitEnd(toldTime(number, isNumber, text, now), now); end.After(l.end) {
			l.end = end
		}
	case "retryafter", "retryafterseconds", "resetsin", "resetin", "resetsinseconds", "resetinseconds", "resetafter",
		"resetsafter", "resetafterseconds", "resetsafterseconds", "secondsuntilreset", "retrydelay", "retryin",
		"retryinseconds":
		l.in(seconds(number, isNumber, text), now)
	case "retryafterms", "resetsinms", "resetinms", "resetafterms", "retryinms", "retrydelayms":
		l.in(seconds(number/1000, isNumber, text), now)
	case "status", "state":
		over := []string{"rejected", "exceeded", "exhausted", "blocked", "limited", "reached", "denied", "ratelimited"}
		l.spent = l.spent || slices.Contains(over, plainName(text))
		l.left = l.left || strings.HasPrefix(plainName(text), "allowed") || text == "ok" || text == "active"
	case "limitreached", "limited", "exceeded", "islimited", "exhausted", "ratelimited":
		if is, ok := value.(bool); ok {
			l.spent, l.left = l.spent || is, l.left || !is
		}
	case "utilization", "usedratio":
		l.share(number, isNumber, 1)
	case "usedpercent", "percentused", "usedpercentage", "usagepercent":
		l.share(number, isNumber, 100)
	case "remaining", "remainingpercent":
		l.spent, l.left = l.spent || isNumber && number <= 0, l.left || isNumber && number > 0
	}
}

// in notes that a limit is over after a while.
func (l *toldLimit) in(d time.Duration, now time.Time) {
	if end := limitEnd(now.Add(d), now); end.After(l.end) {
		l.end = end
	}
}

// share notes how much is used of all that there is.
func (l *toldLimit) share(used float64, known bool, all float64) {
	l.spent, l.left = l.spent || known && used >= all, l.left || known && used < all
}

// seconds is a duration as a member has it: a number of seconds, or words.
func seconds(number float64, isNumber bool, text string) time.Duration {
	if isNumber && number < longestLimit.Seconds()*2 {
		return time.Duration(number * float64(time.Second))
	}
	return spokenDuration(text)
}

// toldTime is a time as a member has it: seconds or milliseconds since 1970, a time stamp,
// words, or the seconds until then.
func toldTime(number float64, isNumber bool, text string, now time.Time) time.Time {
	switch {
	case isNumber && (math.IsNaN(number) || math.IsInf(number, 0) || number > 1e16):
		return time.Time{}
	case isNumber && number >= 1e11:
		return time.UnixMilli(int64(number))
	case isNumber && number >= 1e8:
		return time.Unix(int64(number), 0)
	case isNumber:
		return now.Add(time.Duration(number * float64(time.Second)))
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at
	}
	if d := spokenDuration(text); d > 0 {
		return now.Add(d)
	}
	return spokenTime(text, now)
}

// matched is the first match of an expression in a text, with its groups; nil for none.
func matched(text, expression string) []string {
	return regexp.MustCompile(expression).FindStringSubmatch(text)
}

// spokenEnd finds when a limit is over in what an agent says in words.
func spokenEnd(said string, now time.Time) time.Time {
	if m := matched(said, `(?:\||(?i:reset|until|retry)[a-z]*(?: at| on)?:?)\s*(1\d{9})\b`); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		if end := limitEnd(time.Unix(n, 0), now); !end.IsZero() {
			return end
		}
	}
	stamps := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	for _, m := range stamps.FindAllString(said, -1) {
		at, _ := time.Parse(time.RFC3339Nano, m)
		if end := limitEnd(at, now); !end.IsZero() {
			return end
		}
	}
	if m := matched(said, `(?i)retry[-_ ]?after\\?"?\s*[:=]\s*\\?"?(\d+(?:\.\d+)?)`); m != nil {
		n, _ := strconv.ParseFloat(m[1], 64)
		if end := limitEnd(now.Add(seconds(n, true, "")), now); !end.IsZero() {
			return end
		}
	}
	begins := regexp.MustCompile(`(?i)\b(resets?|resetting|again|retry|retrying|available|until|renews?|` +
		`refresh(es)?|refills?|restored|lifted|back|expires?|wait)\b`)
	for _, at := range begins.FindAllStringIndex(said, -1) {
		rest := sentence(said[at[1]:])
		if d := spokenWait(rest); d > 0 {
			if end := limitEnd(now.Add(d), now); !end.IsZero() {
				return end
			}
		}
		if end := limitEnd(spokenTime(rest, now), now); !end.IsZero() {
			return end
		}
	}
	return time.Time{}
}

// sentence is the rest of a sentence, at most 100 bytes, without the points of abbreviations.
func sentence(text string) string {
	text = text[:min(len(text), 120)]
	text = regexp.MustCompile(`(?i)\b([ap])\.m\.?`).ReplaceAllString(text, "${1}m")
	text = regexp.MustCompile(`(?i)\b(`+monthNames+`|mon|tue|wed|thu|fri|sat|sun|hrs?|mins?|secs?)\.`).ReplaceAllString(text, "$1")
	if end := regexp.MustCompile(`\. |[\n;!"]|\\n|\.$`).FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	return text[:min(len(text), 100)]
}

const spokenUnits = `\d+(?:\.\d+)?\s*(?:weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[wdhms])`

// spokenWait is the duration with which the rest of a sentence begins: "in 3h 20m", "after 2
// hours and 5 minutes", "in an hour", "in less than a minute". 0: there is none.
func spokenWait(text string) time.Duration {
	if m := matched(text, `(?i)^\D{0,20}?\bin\s+(\d{1,2}):([0-5]\d):([0-5]\d)\b`); m != nil {
		return spokenDuration(m[1] + "h" + m[2] + "m" + m[3] + "s")
	}
	const parts = `((?:` + spokenUnits + `[\s,]*(?:and\s+)?)+)([a-z])?`
	m := matched(text, `(?i)^\D{0,25}?\b(?:in|after|within|for)\s+(?:about|around|approximately|~|another)?\s*`+parts)
	if m == nil {
		m = matched(text, `(?i)^(?:\s*[:=]?\s*|\s+(?:after)?\s*)`+parts)
	}
	if m != nil && (m[2] == "" || strings.HasSuffix(m[1], " ")) {
		return spokenDuration(m[1])
	}
	m = matched(text, `(?i)^\D{0,20}?\b(?:in|within)\s+(?:less than |about |under )?an?\s+(day|hour|minute|second)\b`)
	if m == nil {
		return 0
	}
	return spokenDuration("1 " + m[1])
}

// spokenDuration is a duration in words: "2 hours and 5 minutes", "1h 3m", "3h20m15s".
func spokenDuration(text string) (d time.Duration) {
	units := map[byte]time.Duration{
		'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second,
	}
	for _, m := range regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([a-zA-Z]+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(m[1], 64)
		if n = n * float64(units[strings.ToLower(m[2])[0]]); n > float64(2*longestLimit) {
			return 2 * longestLimit
		}
		d = min(d+time.Duration(n), 2*longestLimit)
	}
	return d
}

const monthNames = `jan|feb|mar|apr|may|jun|jul|aug|sept|sep|oct|nov|dec`

// spokenTime is the next time that is meant by words: "3pm (Europe/Berlin)", "Nov 28th, 2026
// 3:24 PM", "tomorrow at 09:00 UTC", "2026-11-24 03:00 +02:00", "midnight Pacific time". The
// zero time: none is.
func spokenTime(text string, now time.Time) time.Time {
	text = strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(text)
	now = now.In(cmp.Or(spokenZone(text), now.Location()))
	hour, minute, second, clock := spokenClock(text)
	at := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, hour, minute, second, 0, now.Location())
	}
	today := at(now.Date())
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	month := func(s string) time.Month {
		return time.Month(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(s)[:3])/3 + 1)
	}
	dated := func(m time.Month, day, year string) time.Time {
		if day := number(day); day < 1 || day > 31 {
			return time.Time{}
		}
		if year != "" {
			return at(number(year), m, number(day))
		}
		if end := at(now.Year(), m, number(day)); end.After(now.AddDate(0, 0, -1)) {
			return end
		}
		return at(now.Year()+1, m, number(day))
	}
	if m := matched(text, `\b(\d{4})-(\d\d)-(\d\d)(?:\D|T|$)`); m != nil {
		return at(number(m[1]), time.Month(number(m[2])), number(m[3]))
	}
	if m := matched(text, `\b(\d{1,2})([./])(\d{1,2})[./](\d{4})\b`); m != nil {
		day, inYear := m[1], m[3]
		if m[2] == "/" && number(m[1]) <= 12 { // as in America
			day, inYear = m[3], m[1]
		}
		return dated(time.Month(number(inYear)), day, m[4])
	}
	if m := matched(text, `(?i)\b(`+monthNames+`)[a-z]*\s+(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4})\b)?`); m != nil {
		return dated(month(m[1]), m[2], m[3])
	}
	if m := matched(text, `(?i)\b(\d{1,2})(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(`+monthNames+`)[a-z]*\b`+
		`(?:,?\s+(\d{4})\b)?`); m != nil {
		return dated(month(m[2]), m[1], m[3])
	}
	if m := matched(text, `(?i)\b(sun|mon|tue|wed|thu|fri|sat)(?:day|s?day|nesday|rsday|urday|s|rs)?\b`); m != nil {
		ahead := (strings.Index("sunmontuewedthufrisat", strings.ToLower(m[1]))/3 - int(now.Weekday()) + 7) % 7
		if end := today.AddDate(0, 0, ahead); end.After(now) {
			return end
		}
		return today.AddDate(0, 0, ahead+7)
	}
	switch {
	case regexp.MustCompile(`(?i)\btomorrow\b`).MatchString(text):
		return today.AddDate(0, 0, 1)
	case !clock:
		return time.Time{}
	case today.After(now):
		return today
	}
	return today.AddDate(0, 0, 1)
}

// spokenClock finds the time of day in a text.
func spokenClock(text string) (hour, minute, second int, found bool) {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	m := matched(text, `(?i)(?:^|[^\d:.])(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*([ap])m\b`)
	if m != nil && number(m[1]) >= 1 && number(m[1]) <= 12 {
		hour = number(m[1]) % 12
		if strings.EqualFold(m[4], "p") {
			hour += 12
		}
		return hour, number(m[2]), number(m[3]), true
	}
	m = matched(text, `(?i)(?:^|[^\d:+.-])([01]?\d|2[0-4])[:h]([0-5]\d)(?::([0-5]\d))?(?:\D|$)`)
	if m != nil {
		return number(m[1]), number(m[2]), number(m[3]), true
	}
	m = matched(text, `(?i)\b(noon|midnight)\b`)
	if m != nil && strings.EqualFold(m[1], "noon") {
		hour = 12
	}
	return hour, 0, 0, m != nil
}

// spokenZone finds a zone in a text, nil for none, and for one that this machine does not
// know.
func spokenZone(text string) *time.Location {
	if m := matched(text, `\b([A-Z][A-Za-z]+(?:/[A-Z][A-Za-z0-9_+-]+)+)`); m != nil {
		zone, _ := time.LoadLocation(m[1])
		return zone
	}
	offset := func(sign, hours, minutes string) *time.Location {
		h, _ := strconv.Atoi(hours)
		m, _ := strconv.Atoi(minutes)
		if sign == "-" {
			h, m = -h, -m
		}
		return time.FixedZone("", h*3600+m*60)
	}
	const behind = `(?i)(?:\b(?:UTC|GMT)\s*|:\d\d\s*(?:[ap]m)?\s*\(?|\d\s*[ap]m\s*\(?)`
	if m := matched(text, behind+`([+-])(\d{1,2})(?::?(\d\d))?(?:\D|$)`); m != nil {
		return offset(m[1], m[2], m[3])
	}
	const short = `\b(UTC|GMT|PST|PDT|MST|MDT|CST|CDT|EST|EDT|BST|CET|CEST|EET|EEST|JST|KST|IST|SGT|AEST|AEDT)\b`
	if m := matched(text, short+`|\d(Z)\b`); m != nil {
		hours := map[string]float64{
			"PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "CST": -6, "CDT": -5, "EST": -5, "EDT": -4, "BST": 1,
			"CET": 1, "CEST": 2, "EET": 2, "EEST": 3,
			"JST": 9, "KST": 9, "IST": 5.5, "SGT": 8, "AEST": 10, "AEDT": 11,
		}
		return time.FixedZone(m[1], int(hours[m[1]]*3600))
	}
	m := matched(text, `(?i)\b(pacific|mountain|central|eastern)\b|\b(?-i:(PT|MT|CT|ET))\b`)
	if m == nil {
		return nil
	}
	places := map[byte]string{
		'p': "America/Los_Angeles", 'm': "America/Denver", 'c': "America/Chicago", 'e': "America/New_York",
	}
	zone, _ := time.LoadLocation(places[strings.ToLower(m[0])[0]])
	return zone
}
