package thread

import "time"

// Preheat makes encoding/json build its type information for records: see
// store.Preheat.
func Preheat() {
	at := time.Unix(0, 0).UTC()
	decode[Thread](encode(Thread{Tags: []string{""}, DependsOn: []ThreadID{""}, Created: Attribution{At: at}, Updated: at}))
}
