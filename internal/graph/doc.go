// Package graph knows how threads belong together, and draws that as Mermaid and as DOT.
//
// A Graph has threads and edges between them, each edge from the thread that has the
// relation: a child, a thread that depends on another, one that refers to another, the
// source of a merge. Everything here is a pure function of a Graph. Titles come from
// outside: each drawing escapes what its language would act on.
package graph
