//go:build unix

// Floor does to a store's bytes the least that a reader and a durable writer
// must do, and knows nothing of what they mean.
//
//	floor read FILE    opens the file and reads it
//	floor write FILE   takes FILE.floor-lock, reads the file, writes the same
//	                   bytes under another name, fsyncs them, renames that over
//	                   the file, fsyncs the folder
//	floor folders FILE FOLDER
//	                   does the same, makes a thousand folders in FOLDER, which
//	                   stay, and fsyncs that
//
// The second is what replacing a file durably costs on this machine. It keeps no
// backup and no journal.
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
	default:
		fail("usage: floor read FILE | write FILE | folders FILE FOLDER")
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
	unique := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-"
	for i := range 1_000 {
		if err := os.Mkdir(filepath.Join(in, unique+strconv.Itoa(i)), 0o755); err != nil {
			return err
		}
	}
	return settle(in)
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
