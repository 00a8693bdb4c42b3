// Package viewcmd has the commands that only look: show, search, graph, observe, report and
// explain.
package viewcmd
