package store

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// This file computes checksums: CRC-32C (RFC 3720), written as "crc32c:" and eight
// lower-case hexadecimal digits. They detect damage, not malice. Sums are compared
// byte for byte, so one in upper case counts as damage, too.

const (
	sumPrefix = "crc32c:"
	sumLen    = len(sumPrefix) + 8
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum covers the parts as if they were one.
func checksum(parts ...[]byte) string {
	var crc uint32
	for _, p := range parts {
		crc = crc32.Update(crc, castagnoli(), p)
	}
	return fmt.Sprintf("%s%08x", sumPrefix, crc)
}

// A sealed line is a JSON object whose last key is sum, over all bytes in front
// of it: {...,"sum":"crc32c:xxxxxxxx"}.
const (
	sealHead = `,"sum":"`
	sealTail = `"}`
	sealLen  = len(sealHead) + sumLen + len(sealTail)
)

// seal adds the sum to a JSON object.
func seal(object []byte) []byte {
	open := object[:len(object)-1]
	out := make([]byte, 0, len(open)+sealLen)
	out = append(out, open...)
	return append(out, sealHead+checksum(open)+sealTail...)
}

// intact reports whether the sum of a sealed line matches.
func intact(line []byte) bool {
	if len(line) <= sealLen || line[0] != '{' {
		return false
	}
	open := line[:len(line)-sealLen]
	return bytes.Equal(line[len(open):], []byte(sealHead+checksum(open)+sealTail))
}
