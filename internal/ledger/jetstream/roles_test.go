package jetstream_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
)

// raw connects with an address, without leslie's code.
func raw(t *testing.T, at ledger.Address) *nats.Conn {
	t.Helper()
	secret, err := os.ReadFile(at.Credentials)
	require.NoError(t, err)
	user, password, ok := strings.Cut(strings.TrimSpace(string(secret)), ":")
	who := nats.UserInfo(user, password)
	if !ok {
		who = nats.UserCredentials(at.Credentials)
	}
	nc, err := nats.Connect(strings.Join(at.URLs, ","), who, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// kept is what an administrator sees of a log: what its streams have, and who has the turn.
func kept(t *testing.T, admin *nats.Conn) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, what := range []string{"STREAM.INFO.LESLIE_p", "STREAM.INFO.LESLIE_p_BLOBS", "STREAM.INFO.LESLIE_p_TURN", "CONSUMER.INFO.LESLIE_p_TURN.turn"} {
		m, err := admin.Request("$JS.API."+what, nil, ledgertest.Within)
		require.NoError(t, err)
		var answer struct {
			Error json.RawMessage `json:"error"`
			State struct {
				Messages int `json:"messages"`
				Last     int `json:"last_seq"`
			} `json:"state"`
			Pending  int `json:"num_pending"`
			Unacked  int `json:"num_ack_pending"`
			AckFloor any `json:"ack_floor"`
		}
		require.NoError(t, json.Unmarshal(m.Data, &answer))
		text, err := json.Marshal(answer)
		require.NoError(t, err)
		seen[what] = string(text)
	}
	return seen
}

// answersStayAway has the servers send answers to subjects that they act upon: NATS
// publishes an answer wherever the request says, without asking whether the requester may
// publish there. An answer without content is a request to delete, and an acknowledgement.
func answersStayAway(t *testing.T, s ledgertest.Setup) {
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, 3)
	ledgertest.Append(t, l, "", lines[:2]...)
	admin := raw(t, s.Admin)
	done, err := l.Turn(ledgertest.Soon(t))
	require.NoError(t, err)
	before := kept(t, admin)
	requests := map[string]string{
		"$JS.API.STREAM.INFO.LESLIE_p":    "",
		"$JS.API.STREAM.MSG.GET.LESLIE_p": `{"seq":1}`,
		"$JS.API.DIRECT.GET.LESLIE_p":     `{"seq":999}`, // answered without content
	}
	for _, role := range []struct {
		at      ledger.Address
		subject []string
	}{
		{s.Reader, []string{"$JS.ACK.LESLIE_p_TURN.turn.1.1.1.0.0", "leslie.p.op", "leslie.p.blob.x"}},
		{s.Writer, nil}, // may publish to these
	} {
		nc := raw(t, role.at)
		for _, answer := range append(role.subject,
			"leslie.p.turn", "$JS.API.CONSUMER.DELETE.LESLIE_p_TURN.turn",
			"$JS.API.STREAM.DELETE.LESLIE_p_BLOBS", "$JS.API.STREAM.DELETE.LESLIE_p", "$JS.API.STREAM.PURGE.LESLIE_p_TURN",
		) {
			for subject, request := range requests {
				require.NoError(t, nc.PublishRequest(subject, answer, []byte(request)))
			}
			_, err := nc.Request("$JS.API.STREAM.INFO.LESLIE_p", nil, ledgertest.Within)
			require.NoError(t, err)
			// What the servers do one after the other, they have done when this is answered.
			_, err = admin.Request("$JS.API.STREAM.DELETE.NONE", nil, ledgertest.Within)
			require.NoError(t, err)
			assert.Equal(t, before, kept(t, admin), "answers for %s", answer)
		}
	}
	done()
	ledgertest.Append(t, l, lines[1].ID, lines[2])
	ledgertest.Same(t, lines, ledgertest.Read(t, l, 0))
	assert.NotEqual(t, before, kept(t, admin))
}

func TestNobodyChangesALogByAnAnswer(t *testing.T) {
	t.Parallel()
	answersStayAway(t, startNode(t, nil).setup(t, "p"))
}

func TestNobodyChangesALogOfThreeServersByAnAnswer(t *testing.T) {
	t.Parallel()
	answersStayAway(t, clusterSetup(startCluster(t, false), "p"))
}
