package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// maxMessage is what a stream takes: a line or a part of a blob, with room.
const maxMessage = 900_000

// config is how a stream is set up, as far as leslie asks for it.
type config struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Subjects    []string      `json:"subjects"`
	Retention   string        `json:"retention"`
	Storage     string        `json:"storage"`
	Discard     string        `json:"discard"`
	Replicas    int           `json:"num_replicas"`
	MaxMessage  int           `json:"max_msg_size"`
	PerSubject  int           `json:"max_msgs_per_subject"`
	MaxMessages int64         `json:"max_msgs"`
	MaxBytes    int64         `json:"max_bytes"`
	MaxAge      time.Duration `json:"max_age"`
	Duplicates  time.Duration `json:"duplicate_window"`
	DenyDelete  bool          `json:"deny_delete"`
	DenyPurge   bool          `json:"deny_purge"`
	AllowDirect bool          `json:"allow_direct"`
	Sealed      bool          `json:"sealed,omitempty"` // it takes no message any more
	Republish   *republish    `json:"republish,omitempty"`
}

// republish tells subscribers of a subject of what is stored.
type republish struct {
	Source      string `json:"src"`
	Destination string `json:"dest"`
	HeadersOnly bool   `json:"headers_only"`
}

// configs returns the streams of a project. Nothing of them is ever dropped to make room,
// and nobody may delete single messages.
func (n names) configs(replicas int) []config {
	base := config{
		Retention: "limits", Storage: "file", Discard: "new", Replicas: replicas,
		MaxMessage: maxMessage, PerSubject: -1, MaxMessages: -1, MaxBytes: -1,
		Duplicates: 2 * time.Minute, DenyDelete: true, DenyPurge: true, AllowDirect: true,
	}
	log, blobs, turn := base, base, base
	log.Name, log.Subjects, log.Description = n.log, []string{n.op}, "the operations of a leslie project"
	log.Republish = &republish{Source: n.op, Destination: n.notice, HeadersOnly: true}
	blobs.Name, blobs.Subjects, blobs.Description = n.blobs, []string{n.blob + ">"}, "the content that they rely on"
	blobs.PerSubject = 1
	turn.Name, turn.Subjects, turn.Description = n.turn, []string{n.token}, "whose turn it is to append"
	turn.PerSubject = 1
	return []config{log, blobs, turn}
}

// differs returns what another stream of the same name does otherwise than a log needs;
// "" if it can be used. How much it may hold, and how many copies it has, is for
// administrators to change.
func (c config) differs(have config) string {
	switch {
	case !slices.Equal(c.Subjects, have.Subjects):
		return "its subjects"
	case c.Retention != have.Retention || have.MaxAge != 0 || c.PerSubject != have.PerSubject:
		return "what it keeps"
	case c.Storage != have.Storage:
		return "its storage"
	case c.Discard != have.Discard:
		return "what it does when it is full"
	case !have.DenyDelete || !have.DenyPurge:
		return "that messages can be deleted"
	case !have.AllowDirect:
		return "that copies cannot be read"
	case c.Republish != nil && (have.Republish == nil || *have.Republish != *c.Republish):
		return "whom it tells of new messages"
	case have.MaxMessage >= 0 && have.MaxMessage < c.MaxMessage:
		return "the size of its messages"
	}
	return ""
}

// Create makes the streams, the consumer that gives the turn, and its token.
func (e Engine) Create(ctx context.Context, at ledger.Address) error {
	l, err := e.open(at)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }()
	report, err := l.check(ctx)
	if err != nil {
		return err
	}
	if !report.Fine() {
		return &ledger.SettingsError{Report: report}
	}
	for _, c := range l.configs(report.Replicas) {
		if err := l.stream(ctx, c); err != nil {
			return err
		}
	}
	return l.makeTurn(ctx, report.Replicas)
}

// Seal changes the stream so that it takes no message any more. Its leader answers when it
// does so itself, and then says where it ends.
func (e Engine) Seal(ctx context.Context, at ledger.Address) (last int64, err error) {
	l, err := e.open(at)
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.close() }()
	var have struct {
		Config map[string]any `json:"config"`
	}
	if err := l.api(ctx, "STREAM.INFO."+l.names.log, struct{}{}, &have); err != nil {
		return 0, err
	}
	if sealed, _ := have.Config["sealed"].(bool); !sealed {
		have.Config["sealed"] = true
		if err := l.api(ctx, "STREAM.UPDATE."+l.names.log, have.Config, nil); err != nil {
			return 0, err
		}
	}
	i, err := l.info(ctx, l.names.log)
	if err == nil && !i.Config.Sealed {
		err = failure(ledger.ErrUnreachable, errors.New("the server that leads the log has not sealed it yet"))
	}
	return i.State.Last, err
}

// Discard deletes the stream with the lines.
func (e Engine) Discard(ctx context.Context, at ledger.Address) error {
	l, err := e.open(at)
	if err != nil {
		return err
	}
	defer func() { _ = l.close() }()
	return l.api(ctx, "STREAM.DELETE."+l.names.log, struct{}{}, nil)
}

// stream makes a stream if it is not there.
func (l *log) stream(ctx context.Context, c config) error {
	err := l.api(ctx, "STREAM.CREATE."+c.Name, c, nil)
	var refusal *apiError
	if !errors.As(err, &refusal) || refusal.ErrCode != codeOtherConfig {
		return err
	}
	i, err := l.info(ctx, c.Name)
	if err != nil {
		return err
	}
	if i.Config.Sealed {
		return ledger.ErrSealed
	}
	if differs := c.differs(i.Config); differs != "" {
		return fmt.Errorf("stream %s is there and differs in %s", c.Name, differs)
	}
	return nil
}

// makeTurn makes the consumer that gives the turn, and the message that is given. What the
// consumer knows is in the memory of three servers: when all have been down, nobody has the turn. A
// single one forgets a consumer in memory when it is restarted, so there it is a file.
func (l *log) makeTurn(ctx context.Context, replicas int) error {
	err := l.api(ctx, "CONSUMER.CREATE."+l.names.turn+"."+turnConsumer, map[string]any{
		"stream_name": l.names.turn,
		"config": map[string]any{
			"name": turnConsumer, "durable_name": turnConsumer,
			"deliver_policy": "all", "ack_policy": "explicit", "ack_wait": silentFor,
			"max_ack_pending": 1, "max_deliver": -1, "max_waiting": 4096,
			"mem_storage": replicas > 1, "num_replicas": replicas,
		},
	}, nil)
	if err != nil {
		return err
	}
	i, err := l.info(ctx, l.names.turn)
	if err != nil || i.State.Last > 0 {
		return err
	}
	return l.publish(ctx, &nats.Msg{Subject: l.token, Data: []byte("turn"), Header: nats.Header{nats.ExpectedStreamHdr: {l.names.turn}}}, l.names.turn)
}
