package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Build puts a leslie built from the source into a file.
func Build(to string) error {
	build := exec.Command("go", "build", "-o", to, "leslie/cmd/leslie")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the binary cannot be built: %w\n%s", err, out)
	}
	return nil
}

// CopyOrBuild copies the binary, so that somebody who builds meanwhile changes
// nothing here; it builds one where none is named.
func CopyOrBuild(binary, to string) error {
	if binary == "" {
		return Build(to)
	}
	return CopyFile(binary, to)
}

// CopyFile copies a program.
func CopyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
