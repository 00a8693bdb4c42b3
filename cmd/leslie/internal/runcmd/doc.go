// Package runcmd has the commands that start agents, follow and stop them, and show what they
// said.
package runcmd
