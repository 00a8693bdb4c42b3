package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"leslie/store"
	"leslie/store/internal/teststore"
	"leslie/test/harness"
)

// This file lets a test run parts of itself in processes of their own: the test
// binary is started again with the part's name in the environment.

const (
	partVariable = "LESLIE_STORE_PART"
	dirVariable  = "LESLIE_STORE_DIR"
	argVariable  = "LESLIE_STORE_ARG"
)

// parts are what a child process can be asked to do in a store.
func parts() map[string]func(dir, arg string) error {
	return map[string]func(dir, arg string) error{
		"writes": writeMany,
		"crash":  crashAt,
	}
}

func TestMain(m *testing.M) {
	if part := parts()[os.Getenv(partVariable)]; part != nil {
		if err := part(os.Getenv(dirVariable), os.Getenv(argVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	harness.UsualUmask()
	if err := harness.UseMemory(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// child is a process that carries out a part.
func child(t testing.TB, part, dir, arg string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"="+part, dirVariable+"="+dir, argVariable+"="+arg)
	cmd.Stderr = os.Stderr
	return cmd
}

// writeMany makes ten updates; arg names the process.
func writeMany(dir, arg string) error {
	s := store.Open(dir, store.Options{})
	for i := range 10 {
		name := fmt.Sprintf("obj-%s-%d", arg, i)
		if _, err := s.Update(context.Background(), teststore.CallNamed(name), teststore.Create(name)); err != nil {
			return err
		}
	}
	return nil
}

// crashAt runs a scenario and kills the process in front of its n-th step; arg
// is NAME:N.
func crashAt(dir, arg string) error {
	name, number, err := cut(arg)
	if err != nil {
		return err
	}
	n := 0
	opts := store.Options{Now: teststore.Clock, Before: func(store.Action, string) error {
		if n++; n == number {
			return kill()
		}
		return nil
	}}
	return scenarios()[name].run(dir, opts)
}

// kill ends this process as a power cut would: nothing of it runs any more.
func kill() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGKILL)
	}
	if err == nil {
		select {}
	}
	return err
}

func cut(arg string) (name string, number int, err error) {
	for i := range arg {
		if arg[i] == ':' {
			number, err = strconv.Atoi(arg[i+1:])
			return arg[:i], number, err
		}
	}
	return arg, 0, fmt.Errorf("no number in %q", arg)
}
