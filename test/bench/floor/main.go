//go:build unix

// Floor does the minimum that any reader or durable writer of a file must do.
//
//	floor read FILE    opens the file and reads it
//	floor write FILE   takes FILE.floor-lock, reads the file, writes the same
//	                   bytes under another name, fsyncs them, renames that over
//	                   the file, fsyncs the folder
//	floor folders FILE FOLDER
//	                   as write, and creates a thousand folders in FOLDER, which
//	                   stay; fsyncs FOLDER
//	floor copy FILE FOLDER
//	                   as write, and copies a small file atomically: first it
//	                   writes the file in a folder of its own and fsyncs both and
//	                   the parent; after the rename of FILE it renames the folder
//	                   into a new folder of a new folder in FOLDER, and fsyncs
//	                   the three
//
// Write is the cost of replacing a file durably on this machine, without a backup and
// without a journal.
package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "read":
		_, err = os.ReadFile(args[1])
	case len(args) == 2 && args[0] == "write":
		err = rewrite(args[1])
	case len(args) == 3 && args[0] == "folders":
		if err = rewrite(args[1]); err == nil {
			err = folders(args[2])
		}
	case len(args) == 3 && args[0] == "copy":
		err = withCopy(args[1], args[2])
	default:
		fail("usage: floor read FILE | write FILE | folders FILE FOLDER | copy FILE FOLDER")
	}
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	_, _ = os.Stderr.WriteString("floor: " + why + "\n")
	os.Exit(1)
}

func rewrite(name string) error {
	lock, err := os.OpenFile(name+".floor-lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := write(name+".floor", data); err != nil {
		return err
	}
	if err := os.Rename(name+".floor", name); err != nil {
		return err
	}
	return settle(filepath.Dir(name))
}

func write(name string, data []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

func folders(in string) error {
	unique := unique()
	for i := range 1_000 {
		if err := os.Mkdir(filepath.Join(in, unique+strconv.Itoa(i)), 0o755); err != nil {
			return err
		}
	}
	return settle(in)
}

func unique() string {
	return strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-"
}

func withCopy(name, in string) error {
	stage, home := filepath.Join(in, unique()+"stage"), filepath.Join(in, unique()+"home")
	steps := []func() error{
		func() error { return os.Mkdir(stage, 0o755) },
		func() error { return write(filepath.Join(stage, "copy"), []byte("What a copy holds\n")) },
		func() error { return settle(stage) },
		func() error { return settle(in) },
		func() error { return rewrite(name) },
		func() error { return os.MkdirAll(filepath.Join(home, "copies"), 0o755) },
		func() error { return os.Rename(stage, filepath.Join(home, "copies", "copy")) },
		func() error { return settle(filepath.Join(home, "copies")) },
		func() error { return settle(home) },
		func() error { return settle(in) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func settle(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}
