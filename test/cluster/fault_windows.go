package cluster

import "errors"

// Pause is not possible on Windows.
func (c *Cluster) Pause(int) error { return errors.New("a process cannot be paused on Windows") }

// Resume is not possible on Windows.
func (c *Cluster) Resume(int) error { return errors.New("a process cannot be paused on Windows") }

// Quit is not possible on Windows.
func (c *Cluster) Quit(int) error { return errors.New("a process cannot be asked to end on Windows") }
