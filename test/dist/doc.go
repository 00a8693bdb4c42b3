// Dist makes what is installed and given away: the manual, and archives for all systems.
//
//	go run ./test/dist man -leslie bin/leslie -version v1.0.0 -time 1700000000 -out bin/man
//	go run ./test/dist archives -leslie bin/leslie -version v1.0.0 -time 1700000000 -tags T -out bin/dist
//
// The manual has the texts of leslie help, as the binary answers them in JSON. Archives
// depend only on the source, the version, the time and the version of Go: two runs write
// the same bytes. They name no user, and all their files have the same time.
package main
