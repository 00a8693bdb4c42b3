package thread

import "time"

// Preheat has encoding/json meet the types of records: see store.Warm.
func Preheat() {
	at := time.Unix(0, 0).UTC()
	decode[Thread](encode(Thread{Tags: []string{""}, DependsOn: []ThreadID{""}, Created: Attribution{At: at}, Updated: at}))
}
