// Package projectcmd has the commands about a project as a whole: init, setup, configuration,
// import and export, other machines, doctor.
package projectcmd
