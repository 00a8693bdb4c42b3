//go:build linux

package lab

import "syscall"

// olderCalls returns the calls that only old systems have.
func olderCalls() map[uint64]string {
	return map[uint64]string{
		syscall.SYS_OPEN: "open", syscall.SYS_CREAT: "creat", syscall.SYS_RENAME: "rename", syscall.SYS_LINK: "link", syscall.SYS_UNLINK: "unlink",
		syscall.SYS_RMDIR: "rmdir", syscall.SYS_MKDIR: "mkdir", syscall.SYS_SYMLINK: "symlink", syscall.SYS_CHMOD: "chmod",
		316: "renameat2", 326: "copy_file_range",
	}
}

// Tracing says why the tracer cannot work on this machine, "" if it can.
const Tracing = ""

// entering returns the number and the first arguments of the call that a stopped thread
// enters; ok is false if it leaves one.
func entering(tid int) (nr uint64, args [3]uint64, ok bool) {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, args, false
	}
	const begins = -int64(syscall.ENOSYS) // the result until there is one
	return regs.Orig_rax, [3]uint64{regs.Rdi, regs.Rsi, regs.Rdx}, int64(regs.Rax) == begins
}
