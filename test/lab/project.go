//go:build unix

package lab

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"leslie/test/harness"
)

// StoreDir is the folder of a project's store, and StateFile the file with its records.
const (
	StoreDir  = ".leslie"
	StateFile = "thread_relations.json"
)

// Outcome is how a process of leslie ended, and what it answered.
type Outcome = harness.Outcome

// Project is a folder to call leslie in.
type Project struct {
	Leslie string // the binary
	Dir    string
	Home   string   // an empty home folder
	Temp   string   // for temporary files
	Env    []string // more of the environment
	// Limit is the longest a call may take.
	Limit time.Duration
	// Attr is how processes are started.
	Attr *syscall.SysProcAttr
}

// Apart puts a process into its own process group, so Ctrl-C reaches only its parent.
func Apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Path returns the path of a file in the store's folder.
func (p *Project) Path(name string) string {
	return filepath.Join(p.Dir, StoreDir, filepath.FromSlash(name))
}

// Environ is the environment of a call.
func (p *Project) Environ() []string { return append(harness.Environment(p.Home, p.Temp), p.Env...) }

// Command returns a process of leslie that is not started yet.
func (p *Project) Command(argv ...string) *exec.Cmd {
	cmd := exec.Command(p.Leslie, argv...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.Dir, p.Environ(), p.Attr
	return cmd
}

// Call runs leslie.
func (p *Project) Call(argv ...string) Outcome { return p.Run(p.Leslie, argv, "", Interruption{}) }

// All runs lines of leslie, which must all succeed.
func (p *Project) All(lines ...string) error {
	for _, text := range lines {
		if o := p.Call(strings.Fields(text)...); !o.OK() {
			return failed(text, o)
		}
	}
	return nil
}

// Run runs a program in the project, and sends it the signal of kill.
func (p *Project) Run(program string, argv []string, stdin string, kill Interruption) Outcome {
	c := harness.Call{Program: program, Argv: argv, Dir: p.Dir, Env: p.Environ(), Stdin: stdin, Attr: p.Attr, Limit: p.Limit}
	if kill.After > 0 {
		c.Started = kill.send
	}
	return c.Run()
}
