//go:build unix

package harness

import "syscall"

func setUmask(mask int) { syscall.Umask(mask) }
