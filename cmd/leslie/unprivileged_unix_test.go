//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// asNobody becomes the user nobody, whom permission bits restrict, and then runs its
// arguments. A caller other than root is restricted already.
func asNobody() {
	var err error
	if os.Geteuid() == 0 {
		const nobody = 65534
		err = syscall.Setgroups(nil)
		if err == nil {
			err = syscall.Setgid(nobody)
		}
		if err == nil {
			err = syscall.Setuid(nobody)
		}
	}
	path := os.Args[1]
	if err == nil {
		path, err = exec.LookPath(path)
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "as-nobody:", err)
	os.Exit(99)
}
