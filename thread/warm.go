package thread

import "time"

// Warm has encoding/json meet the types of records: see store.Warm.
func Warm() {
	at := time.Unix(0, 0).UTC()
	decode[Thread](encode(Thread{Tags: []string{""}, DependsOn: []ThreadID{""}, Created: By{At: at}, Updated: at}))
}
