//go:build linux && !amd64

package lab

// olderCalls returns the calls that only old systems have: newer ones need none.
func olderCalls() map[uint64]string { return nil }

// Tracing says why the tracer cannot work on this machine, "" if it can.
const Tracing = "the tracer knows the registers of amd64 only"

func entering(int) (nr uint64, args [3]uint64, ok bool) { return 0, args, false }
