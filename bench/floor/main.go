//go:build unix

// Floor does to a store's bytes the least that a reader and a durable writer
// must do, and knows nothing of what they mean.
//
//	floor read FILE    opens the file and reads it
//	floor write FILE   takes FILE.floor-lock, reads the file, writes the same
//	                   bytes under another name, fsyncs them, renames that over
//	                   the file, fsyncs the folder
//
// The second is what replacing a file durably costs on this machine. It keeps no
// backup and no journal and makes no folder.
package main

import (
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: floor read|write FILE")
	}
	var err error
	switch os.Args[1] {
	case "read":
		_, err = os.ReadFile(os.Args[2])
	case "write":
		err = rewrite(os.Args[2])
	default:
		fail("usage: floor read|write FILE")
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
