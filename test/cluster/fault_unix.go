//go:build !windows

package cluster

import "syscall"

// Pause stops a server without ending it: its connections stay open and nobody answers.
func (c *Cluster) Pause(i int) error { return c.nodes[i].process.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (c *Cluster) Resume(i int) error { return c.nodes[i].process.Process.Signal(syscall.SIGCONT) }

// Quit ends a server in an orderly way. What it writes then about its files makes it trust
// them at its next start, also where FlipBit has changed them; after Kill it reads all.
func (c *Cluster) Quit(i int) error {
	if err := c.nodes[i].process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-c.nodes[i].ended
	return nil
}
