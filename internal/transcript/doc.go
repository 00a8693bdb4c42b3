// Package transcript keeps what an agent is told, says and does in a run, as lines of
// JSON in the folder of the run, and reads them.
//
// One process writes, any number read at the same time. Each line is an entry with a
// number that counts on across runs and files. A full file gets the name
// transcript.N.jsonl, N being its first entry; the newest entries are always in
// transcript.jsonl. Reading passes over lines that are damaged, and counts them.
//
// What belongs here: the form of the files. Which thread they belong to, who may write
// them and how they are shown belongs to package app and to interfaces.
package transcript
