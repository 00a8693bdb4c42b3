package replica

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/thread"
)

// Offline is why the log is not asked.
type Offline struct{}

// Error implements error.
func (Offline) Error() string { return "--offline" }

// Is reports that the log cannot be reached.
func (Offline) Is(target error) bool { return target == ledger.ErrUnreachable }

// Error is the coded error for one of the log's; op is the operation that was sent.
// Coded errors stay as they are.
func Error(ctx context.Context, err error, op thread.OperationID) error {
	reason := fact.Of("reason", Reason(err))
	switch {
	case err == nil || codes.Of(err) != nil:
		return err
	case errors.Is(err, ledger.ErrUnknown):
		next := "leslie history --limit 1"
		return codes.OutcomeUnknown.Wrap(err, fact.Of("operationId", op), fact.Of("changed", nil)).WithNext(next)
	case ctx.Err() != nil:
		return codes.Interrupted.Wrap(context.Cause(ctx))
	case errors.Is(err, ledger.ErrDenied):
		return Denied(err).WithNext("leslie remote status")
	case errors.Is(err, ledger.ErrFull):
		return codes.WriteFailed.Wrap(err, fact.Of("path", "the project's remote"), reason).WithNext("leslie remote status")
	case errors.Is(err, ledger.ErrSealed):
		return sealed(err)
	case errors.Is(err, ledger.ErrGap):
		return codes.RemoteDamaged.Wrap(err, reason)
	case errors.Is(err, ledger.ErrMissing):
		return lost(codes.RemoteDiverged.Wrap(err, fact.Of("reason", "there is no log of this project")))
	}
	if Untrusted(err) {
		return codes.RemoteUnreachable.Wrap(err, reason).WithHint(CertificateHint(err))
	}
	return codes.RemoteUnreachable.Wrap(err, reason)
}

// CertificateHint says what to do about servers whose certificate this machine does not trust.
func CertificateHint(err error) string {
	if name, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("The certificate is not for %s: use an address that it names (leslie remote move URL where this "+
			"machine has the project), or have one made that names this one", name.Host)
	}
	return untrustedHint
}

const untrustedHint = "If it is signed by itself or by an authority of your own, append the certificate of that to the file of " +
	"credentials that --creds names (leslie remote move URL --creds FILE takes it where this machine has the project); " +
	"SSL_CERT_FILE names one for a single call"

// Untrusted reports whether this machine does not trust the certificate of the servers.
func Untrusted(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
}

// sealed is T510 for a log that leslie remote restore has begun to make anew.
func sealed(err error) *codes.Error {
	return codes.RemoteUnreachable.Wrap(err, fact.Of("reason", ledger.ErrSealed.Error())).
		WithHint("Write again when it is done. If leslie remote restore was interrupted, a person runs it again on the same machine")
}

// Denied is T402 for what the log's engine does not allow, without a next line.
func Denied(err error) *codes.Error {
	what := "this call to the project's remote"
	hint := "The credentials of this machine do not allow it (a reader's only read): ask who runs the remote for others, " +
		"which leslie remote move URL --creds FILE takes, with the URL of leslie remote status"
	if login, ok := errors.AsType[*ledger.LoginError](err); ok {
		what = "connecting to the project's remote"
		hint = "There are no credentials: name their file with --creds FILE, of which this machine keeps a copy, or in LESLIE_REMOTE_CREDS"
		if !login.None {
			hint = "The credentials are wrong, have expired or were revoked: ask who runs the remote for others, and name their file with --creds FILE " +
				"(leslie remote move URL takes them where this machine has the project), or in LESLIE_REMOTE_CREDS. " +
				"Until then leslie --offline reads what is here"
		}
	}
	return codes.PermissionDenied.Wrap(err, fact.Of("capability", what), fact.Of("reason", err.Error())).WithHint(hint)
}

// Reason is an error in one line.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	if e := codes.Of(err); e != nil && e.Facts().Text("reason") != "" {
		return e.Facts().Text("reason")
	}
	if few, ok := errors.AsType[*ledger.TooFewError](err); ok {
		return few.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + AskFor.String()
	}
	return err.Error()
}

// Diverged is T512.
func Diverged(reason string) *codes.Error { return codes.RemoteDiverged.New(fact.Of("reason", reason)) }

// Parted is T512 for a log that has other operations than this machine knows, in the place of some.
func Parted(reason string) error {
	return codes.RemoteDiverged.New(fact.Of("reason", reason)).
		WithHint("leslie remote rejoin keeps what only this machine has beside the project, and makes a new copy of the log").
		WithNext("leslie remote status", "leslie remote rejoin --dry-run")
}

// EndsEarly is T512 for a log that ends before what this machine knows.
func EndsEarly(log, own thread.Revision) error {
	return lost(Diverged(fmt.Sprintf("it ends at revision %d, and this machine knows %d", log, own)))
}

// lost adds to T512 what to do where the servers have lost the log, or a part of it.
func lost(err *codes.Error) *codes.Error {
	return err.WithHint("The servers have lost something. leslie remote status on each machine shows what it knows: where the revision is greatest " +
		"a person runs leslie remote restore --creds FILE, with an administrator's credentials. Until then leslie --offline reads what is here")
}

// Another is T512 for a log that has another operation at a revision than this machine.
func Another(at thread.Revision, there string, here thread.OperationID) error {
	return Parted(fmt.Sprintf("operation %d is %s there, and %s here", at, there, here))
}

// DamagedLine is T513 for a line that no machine can have written so.
func DamagedLine(seq int64) error {
	return codes.RemoteDamaged.New(fact.Of("reason", fmt.Sprintf("line %d of the log is not what was appended", seq)))
}
