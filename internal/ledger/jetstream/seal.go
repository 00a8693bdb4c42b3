package jetstream

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/nats-io/nats.go"

	"leslie/internal/ledger"
)

// sealHeader holds a checksum of what a message is. A server has one of its own, but
// does not compare it at each reading: after one flipped bit of its disk it sent a message
// whose headers ended elsewhere.
const sealHeader = "Leslie-Seal"

// seal returns the checksum of content in its place.
func seal(place string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(place + "\n"))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// lineSeal returns the checksum of a line.
func lineSeal(line ledger.Line) string {
	return seal(strconv.FormatInt(line.Seq, 10)+" "+line.ID, line.Data)
}

// whole reports whether a line is as it was appended.
func whole(line ledger.Line, header nats.Header) bool {
	return header.Get(sealHeader) == lineSeal(line)
}
