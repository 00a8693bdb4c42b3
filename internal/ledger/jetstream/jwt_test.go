package jetstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
)

// operator gives out JWTs: to the three accounts of the file for operators, which are set up
// as they are there, and to users.
type operator struct {
	key                                   nkeys.KeyPair
	sysKey, logsKey, readersKey, writeKey nkeys.KeyPair
	sys, logs, readers, writers           *jwt.AccountClaims
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public string) {
	t.Helper()
	key, err := create()
	require.NoError(t, err)
	public, err = key.PublicKey()
	require.NoError(t, err)
	return key, public
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{}
	o.key, _ = newKey(t, nkeys.CreateOperator)
	account := func(name string) (nkeys.KeyPair, *jwt.AccountClaims) {
		key, public := newKey(t, nkeys.CreateAccount)
		a := jwt.NewAccountClaims(public)
		a.Name = name
		return key, a
	}
	o.sysKey, o.sys = account("SYS")
	o.logsKey, o.logs = account("LESLIE")
	o.readersKey, o.readers = account("READERS")
	o.writeKey, o.writers = account("WRITERS")
	servers := jwt.Subject("$SYS.REQ.SERVER.PING.JSZ")
	o.sys.Exports.Add(&jwt.Export{Subject: servers, Type: jwt.Service, ResponseType: jwt.ResponseTypeStream})
	o.logs.Imports.Add(&jwt.Import{Account: o.sys.Subject, Subject: servers, Type: jwt.Service})
	o.logs.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	both, write := []*jwt.AccountClaims{o.readers, o.writers}, []*jwt.AccountClaims{o.writers}
	o.share("$JS.API.STREAM.INFO.*", jwt.Service, jwt.ResponseTypeSingleton, both...)
	o.share("$JS.API.STREAM.MSG.GET.*", jwt.Service, jwt.ResponseTypeSingleton, both...)
	o.share("$JS.API.DIRECT.GET.>", jwt.Service, jwt.ResponseTypeStream, both...)
	o.share("leslie.*.stored", jwt.Stream, "", both...)
	o.share("leslie.*.op", jwt.Service, jwt.ResponseTypeSingleton, write...)
	o.share("leslie.*.blob.>", jwt.Service, jwt.ResponseTypeSingleton, write...)
	o.share("$JS.API.CONSUMER.MSG.NEXT.*.turn", jwt.Service, jwt.ResponseTypeStream, write...)
	o.share("$JS.ACK.*.turn.>", jwt.Service, jwt.ResponseTypeSingleton, write...)
	return o
}

// share exports a subject of the logs' account to others. Requests of $JS.API go there by
// another name.
func (o *operator) share(subject jwt.Subject, kind jwt.ExportType, answers jwt.ResponseType, to ...*jwt.AccountClaims) {
	o.logs.Exports.Add(&jwt.Export{Subject: subject, Type: kind, ResponseType: answers})
	for _, a := range to {
		in, allowed := &jwt.Import{Account: o.logs.Subject, Subject: subject, Type: kind}, string(subject)
		if local, ok := strings.CutPrefix(string(subject), "$JS.API."); ok {
			local = "LESLIE.API." + strings.Replace(local, "*", "$1", 1)
			in.LocalSubject = jwt.RenamingSubject(local)
			a.Mappings[subject] = []jwt.WeightedMapping{{Subject: jwt.Subject(local)}}
			allowed = strings.Replace(local, "$1", "*", 1)
		}
		if kind == jwt.Stream {
			a.DefaultPermissions.Sub.Allow.Add("_INBOX.>", allowed)
		} else {
			a.DefaultPermissions.Pub.Allow.Add(allowed)
		}
		a.Imports.Add(in)
	}
}

// file returns credentials of a new user of an account. change, if not nil, changes what
// the user may do.
func (o *operator) file(t *testing.T, account nkeys.KeyPair, change func(*jwt.UserClaims)) (path string) {
	t.Helper()
	key, public := newKey(t, nkeys.CreateUser)
	claims := jwt.NewUserClaims(public)
	if change != nil {
		change(claims)
	}
	token, err := claims.Encode(account)
	require.NoError(t, err)
	seed, err := key.Seed()
	require.NoError(t, err)
	content, err := jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	return secret(t, string(content))
}

// start runs a server that trusts the operator alone, with all accounts in its memory.
func (o *operator) start(t *testing.T) *node {
	t.Helper()
	public, err := o.key.PublicKey()
	require.NoError(t, err)
	claims := jwt.NewOperatorClaims(public)
	claims.SystemAccount = o.sys.Subject
	self, err := claims.Encode(o.key)
	require.NoError(t, err)
	var preload strings.Builder
	for _, a := range []*jwt.AccountClaims{o.sys, o.logs, o.readers, o.writers} {
		token, err := a.Encode(o.key)
		require.NoError(t, err)
		fmt.Fprintf(&preload, "  %s: %s\n", a.Subject, token)
	}
	return startNode(t, func(config string) string {
		before, _, found := strings.Cut(config, "\naccounts {\n")
		require.True(t, found)
		return fmt.Sprintf("%s\noperator: %s\nresolver: MEMORY\nresolver_preload {\n%s}\nsystem_account: %s\n", before, self, &preload, o.sys.Subject)
	})
}

func (o *operator) setup(t *testing.T, n *node, project string) ledgertest.Setup {
	t.Helper()
	s := n.setup(t, project)
	s.Admin.Credentials = o.file(t, o.logsKey, nil)
	s.Writer.Credentials = o.file(t, o.writeKey, nil)
	s.Reader.Credentials = o.file(t, o.readersKey, nil)
	return s
}

func TestAServerOfAnOperatorKeepsTheContract(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	n, p := o.start(t), projects{}
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Setup { return o.setup(t, n, p.next()) })
}

func TestNobodyChangesALogOfAnOperatorByAnAnswer(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	answersStayAway(t, o.setup(t, o.start(t), "p"))
}

func TestCredentialsThatAnOperatorDoesNotGiveAreDenied(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	var revoked string
	back := o.file(t, o.writeKey, func(u *jwt.UserClaims) { revoked = u.Subject })
	o.writers.RevokeAt(revoked, time.Now())
	n := o.start(t)
	s := o.setup(t, n, "p")
	require.NoError(t, s.Engine.Create(ledgertest.Soon(t), s.Admin))
	ended := time.Now().Add(-time.Hour)
	stranger, _ := newKey(t, nkeys.CreateAccount)
	for name, path := range map[string]string{
		"of an account that nobody knows": o.file(t, stranger, nil),
		"expired":                         o.file(t, o.writeKey, func(u *jwt.UserClaims) { u.Expires = ended.Unix() }),
		"revoked":                         back,
		"a password":                      secret(t, "writer:wpw"),
	} {
		t.Run(name, func(t *testing.T) {
			at := s.Writer
			at.Credentials = path
			l := ledgertest.Opened(t, s, at)
			_, err := l.Head(ledgertest.Soon(t))
			require.ErrorAs(t, err, new(*ledger.LoginError))
			assert.ErrorContains(t, err, path, "whoever reads it does not know which file is meant")
			assert.Equal(t, name == "expired", strings.Contains(err.Error(), ended.UTC().Format(time.RFC3339)), "%v", err)
			require.ErrorIs(t, l.Append(ledgertest.Soon(t), "", ledgertest.Lines(1, 1)[0]), ledger.ErrDenied)
		})
	}
}

// TestCredentialsThatExpireEndACall follows until the server ends the connection.
func TestCredentialsThatExpireEndACall(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	s := o.setup(t, o.start(t), "p")
	writer := ledgertest.Created(t, s)
	s.Reader.Credentials = o.file(t, o.readersKey, func(u *jwt.UserClaims) { u.Expires = time.Now().Add(2 * time.Second).Unix() })
	l := ledgertest.Opened(t, s, s.Reader)
	seen, ended := make(chan int64, 10), make(chan error, 1)
	go func() {
		ended <- l.Follow(t.Context(), 0, func(line ledger.Line) error { seen <- line.Seq; return nil })
	}()
	ledgertest.Append(t, writer, "", ledgertest.Lines(1, 1)...)
	ctx, cancel := context.WithTimeout(t.Context(), ledgertest.Within)
	defer cancel()
	select {
	case seq := <-seen:
		assert.Equal(t, int64(1), seq)
	case <-ctx.Done():
		require.Fail(t, "the line did not come")
	}
	select {
	case err := <-ended:
		require.ErrorAs(t, err, new(*ledger.LoginError))
	case <-ctx.Done():
		require.Fail(t, "who follows is not told that the credentials have expired")
	}
}
