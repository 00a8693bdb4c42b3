// Package report writes what app.Report collects as one HTML page.
//
// The page needs nothing else and may load nothing: its policy (CSP) allows only its own
// style and its own script, by their hashes. All that comes from outside is escaped by
// html/template. Without the script the page shows everything but the older part of a long
// history, which the script shows and searches.
package report
