package harness

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// Tags are the build tags that the Makefile builds leslie with.
const Tags = "urfave_cli_no_docs,urfave_cli_no_suggest"

// Build builds leslie as the Makefile does, in the module that the process runs in.
func Build(path string) error {
	build := exec.Command("go", "build", "-trimpath", "-tags", Tags, "-o", path, "leslie/cmd/leslie")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the binary cannot be built: %w\n%s", err, out)
	}
	return nil
}

// Commands are the commands that the help of a binary lists.
func Commands(leslie string) ([]string, error) {
	out, err := exec.Command(leslie, "help", "--format", "text").Output()
	if err != nil {
		return nil, err
	}
	_, text, ok := strings.Cut(string(out), "\nCommands:\n")
	if !ok {
		return nil, fmt.Errorf("help lists no commands:\n%s", out)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^  ([a-z-]+(?: [a-z]+)?)  +\S`).FindAllStringSubmatch(text, -1) {
		names = append(names, row[1])
	}
	return names, nil
}
