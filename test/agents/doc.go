// Package agents has only a test: it installs the real agents that leslie knows, in pinned
// versions, and has the built binary run each of them against a model server that it
// plays itself. `make agents` runs it; it needs Linux, npm and the registry, and minutes.
// Without LESLIE_AGENTS it is skipped.
package agents
