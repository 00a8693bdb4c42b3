//go:build !windows

package store

import "syscall"

const openCareful = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC
