// Package views shows a project as a whole: search, graph, report, one record of any kind, what
// happens now, and what ids there are.
package views
