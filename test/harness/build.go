package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
)

// Tags are the build tags that the Makefile builds leslie with.
const Tags = "urfave_cli_no_docs,urfave_cli_no_suggest"

// Build builds leslie as the Makefile does; it shares compiled packages with "go test". The
// process must run in leslie's module.
func Build(path string) error {
	build := exec.Command("go", "build", "-tags", Tags, "-o", path, "leslie/cmd/leslie")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the binary cannot be built: %w\n%s", err, out)
	}
	return nil
}

// CopyOrBuild copies the binary, so that a later build does not change it, or builds one
// if binary is "".
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

// Commands returns the commands that the help of a binary lists.
func Commands(leslie string) ([]string, error) {
	out, err := exec.Command(leslie, "help", "commands", "--format", "text").Output()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*(?: [a-z]+)?)  +\S`).FindAllStringSubmatch(string(out), -1) {
		names = append(names, row[1])
	}
	return names, nil
}
