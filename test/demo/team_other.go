//go:build windows

package main

func playsAgent() bool { return false }

func (s *stage) team() { s.say("A team of agents is left out: the agent of the demo needs signals") }
