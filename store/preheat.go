package store

import (
	"encoding/json"

	"leslie/thread"
)

// Preheat makes ready what the first use of a store would wait for: the table of the
// checksum, and what encoding/json learns of a type when it first meets it. It
// changes nothing and may run beside everything, so that a short command has it
// done while it waits for the disk.
func Preheat() {
	castagnoli()
	var op operation
	_ = json.Unmarshal([]byte(`{"time":"2006-01-02T15:04:05Z","changes":[{"record":"","before":null,"after":null}]}`), &op)
	thread.Preheat()
}
