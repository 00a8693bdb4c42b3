// Package projects makes projects and takes them elsewhere: init, setup, import, export, and
// sharing one between machines.
package projects
