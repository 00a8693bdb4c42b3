// Package agents knows the coding agents that leslie can start: their commands and
// settings, the limits of their accounts, and what they ask to be allowed.
package agents
