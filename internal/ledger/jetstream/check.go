package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// floor is the oldest server whose JetStream was tested to keep what it confirmed.
const floor = "2.15.2"

// maxSkew is how far the servers' clocks may be apart.
const maxSkew = 2 * time.Second

const (
	askServers = "$SYS.REQ.SERVER.PING.JSZ"

	alwaysLines = `jetstream {
  sync_interval: always
}`
	importLines = `accounts {
  SYS {
    exports: [{ service: "` + askServers + `", response_type: stream, accounts: [LESLIE] }]
  }
  LESLIE {
    imports: [{ service: { account: SYS, subject: "` + askServers + `" } }]
  }
}`
	payloadLines = `max_payload: 1MB`
)

// server is what a server says of itself.
type server struct {
	Server struct {
		Name    string `json:"name"`
		Version string `json:"ver"`
	} `json:"server"`
	Data struct {
		Now      time.Time `json:"now"`
		Disabled bool      `json:"disabled"`
		Config   struct {
			SyncAlways   bool          `json:"sync_always"`
			SyncInterval time.Duration `json:"sync_interval"`
		} `json:"config"`
		Meta struct {
			Size int `json:"cluster_size"`
		} `json:"meta_cluster"`
	} `json:"data"`
}

// Check asks every server for its settings.
func (e Engine) Check(ctx context.Context, at ledger.Address) (ledger.Report, error) {
	link, err := e.newLink(at)
	if err != nil {
		return ledger.Report{}, err
	}
	defer func() { _ = link.close() }()
	return link.check(ctx)
}

func (l *link) check(ctx context.Context) (ledger.Report, error) {
	nc, err := l.connected(ctx)
	if err != nil {
		return ledger.Report{}, err
	}
	found, why, err := l.askAll(ctx, nc)
	switch {
	case ctx.Err() != nil:
		return ledger.Report{}, l.silence(ctx)
	case err != nil:
		return ledger.Report{}, err
	}
	return report(found, why, nc.MaxPayload()), nil
}

// askAll returns what the servers answer that have JetStream, and why nothing came. Errors:
// ErrDenied.
func (l *link) askAll(ctx context.Context, nc *nats.Conn) (found []server, why string, err error) {
	watched, stop := l.watch(ctx, askServers)
	defer stop()
	answers, err := subscribe(nc, askServers, nil)
	if err != nil {
		return nil, err.Error(), nil
	}
	defer func() { _ = answers.Unsubscribe() }()
	for size := 1; len(found) < size; {
		limited, cancel := context.WithTimeout(watched, answerWithin)
		m, err := answers.NextMsgWithContext(limited)
		cancel()
		switch {
		case errors.Is(context.Cause(watched), ledger.ErrDenied):
			return nil, "", context.Cause(watched)
		case err != nil:
			return found, "not every server answered", nil
		case status(m) != "":
			return nil, "the account does not import " + askServers, nil
		}
		var s server
		if json.Unmarshal(m.Data, &s) == nil && !s.Data.Disabled {
			found = append(found, s)
			size = max(size, s.Data.Meta.Size)
		}
	}
	return found, "", nil
}

// report judges what the servers answered.
func report(found []server, why string, payload int64) ledger.Report {
	size := 1
	for _, s := range found {
		size = max(size, s.Data.Meta.Size)
	}
	r := ledger.Report{Servers: len(found), Replicas: 1}
	if size >= 3 {
		r.Replicas = 3
	}
	if len(found) < size {
		missing := ledger.Setting{What: "settings", Found: fmt.Sprintf("read from %d of %d servers: %s", len(found), size, why), Wanted: "read from all"}
		if r.Silent = size - len(found); len(found) == 0 {
			missing.Found, missing.Lines = "unreadable: "+why, importLines
		}
		r.Settings = append(r.Settings, missing)
	}
	for _, s := range found {
		r.Settings = append(r.Settings, s.version(), s.sync())
	}
	if len(found) > 0 {
		r.Settings = append(r.Settings, clocks(found), ledger.Setting{What: "replicas", Found: strconv.Itoa(r.Replicas), Fine: true})
	}
	r.Settings = append(r.Settings, payloads(payload))
	return r
}

func (s server) version() ledger.Setting {
	return ledger.Setting{
		Server: s.Server.Name, What: "version", Found: s.Server.Version, Wanted: floor + " or newer",
		Fine: atLeast(s.Server.Version, floor),
	}
}

// sync says whether a server confirms only what is on its disk. The interval that it
// reports does not tell: it shows the default beside always.
func (s server) sync() ledger.Setting {
	out := ledger.Setting{Server: s.Server.Name, What: "sync_interval", Found: "always", Wanted: "always", Fine: true}
	if !s.Data.Config.SyncAlways {
		out.Found, out.Fine, out.Lines = s.Data.Config.SyncInterval.String(), false, alwaysLines
	}
	return out
}

func clocks(found []server) ledger.Setting {
	first, last := found[0].Data.Now, found[0].Data.Now
	for _, s := range found {
		if s.Data.Now.Before(first) {
			first = s.Data.Now
		}
		if s.Data.Now.After(last) {
			last = s.Data.Now
		}
	}
	apart := last.Sub(first)
	return ledger.Setting{
		What: "clocks", Found: apart.Round(time.Millisecond).String() + " apart", Wanted: "at most " + maxSkew.String(),
		Fine: apart <= maxSkew,
	}
}

func payloads(payload int64) ledger.Setting {
	out := ledger.Setting{What: "max_payload", Found: strconv.FormatInt(payload, 10), Wanted: "1000000 or more", Fine: payload >= 1_000_000}
	if !out.Fine {
		out.Lines = payloadLines
	}
	return out
}

// atLeast compares versions by their three numbers. What follows them, as in
// 2.15.2-RC.1, does not count.
func atLeast(have, want string) bool {
	h, w := numbers(have), numbers(want)
	for i := range h {
		if h[i] != w[i] {
			return h[i] > w[i]
		}
	}
	return true
}

func numbers(version string) (out [3]int) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	for i, part := range strings.SplitN(version, ".", 3) {
		out[i], _ = strconv.Atoi(part)
	}
	return out
}
