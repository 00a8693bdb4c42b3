package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the user that owns nothing.
const nobody = 65534

// asNobody returns the command as one of a user who is not root, in a copy of the project and
// a namespace that has no network but the loopback interface.
func asNobody(ctx context.Context, cmd *exec.Cmd, dir string) (in *exec.Cmd, left string, err error) {
	if os.Geteuid() != 0 {
		return cmd, "unprivileged already; with the network that is there", nil
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, "", err
	}
	project, home := filepath.Join(dir, "project"), filepath.Join(dir, "home")
	if err := os.CopyFS(project, os.DirFS(".")); err != nil {
		return nil, "", err
	}
	cache := ""
	for _, entry := range cmd.Env {
		if path, is := strings.CutPrefix(entry, "GOMODCACHE="); is {
			cache = path
		}
	}
	// What root's caches have cannot be read by others where they are below /root.
	modules := filepath.Join(dir, "modules")
	if err := os.CopyFS(modules, os.DirFS(cache)); err != nil {
		return nil, "", err
	}
	for _, name := range []string{home, filepath.Join(dir, "tmp"), filepath.Join(dir, "cache")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return nil, "", err
		}
	}
	err = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(name, nobody, nobody))
	})
	if err != nil {
		return nil, "", err
	}
	program := filepath.Join(dir, "stress") // the one that "go run" made may be below /root
	if err := copyProgram(self(), program); err != nil {
		return nil, "", err
	}
	goProgram, err := exec.LookPath("go")
	if err != nil {
		return nil, "", err
	}
	in = exec.CommandContext(ctx, program, append([]string{"-inside"}, cmd.Args...)...)
	in.Env = append(cmd.Env, "HOME="+home, "USER=nobody", "LOGNAME=nobody", "TMPDIR="+filepath.Join(dir, "tmp"), "GOCACHE="+filepath.Join(dir, "cache"),
		"GOMODCACHE="+modules, "GOFLAGS=-modcacherw", "GOPROXY=off", "PATH="+filepath.Dir(goProgram)+":"+os.Getenv("PATH"))
	in.Dir, in.Stdout, in.Stderr = project, cmd.Stdout, cmd.Stderr
	in.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	return in, "", nil
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// runInside runs a command as nobody, after it has brought up the loopback interface.
func runInside(args []string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

func setUmask(mask int) int { return syscall.Umask(mask) }
