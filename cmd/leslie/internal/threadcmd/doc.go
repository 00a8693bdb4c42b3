// Package threadcmd has the commands about threads and objectives: create, list, claim, share
// artifacts, talk, and finish.
package threadcmd
