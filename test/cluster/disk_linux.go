package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// diskBytes is the size of a server's disk.
const diskBytes = 512 << 20

// ext4's request to end at once, and its way without writing anything more.
const (
	shutdownRequest = 0x8004587d
	withoutFlush    = 2
)

func image(dir string) string { return dir + ".img" }

// makeDisk makes a file system in a file and mounts it at a folder.
func makeDisk(dir string) error {
	f, err := os.Create(image(dir))
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(diskBytes), f.Close()); err != nil {
		return err
	}
	if err := command("mkfs.ext4", "-q", image(dir)); err != nil {
		return err
	}
	return mountDisk(dir)
}

func mountDisk(dir string) error {
	return command("mount", "-o", "loop", image(dir), dir)
}

// cutDisk makes a file system forget what was not flushed, and unmounts it when its users
// have ended: until then it refuses everything.
func cutDisk(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = unix.IoctlSetPointerInt(int(f.Fd()), shutdownRequest, withoutFlush)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return command("umount", "--lazy", dir)
}

func removeDisk(dir string) error {
	return errors.Join(command("umount", "--lazy", dir), os.Remove(image(dir)))
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
