// Demo runs one project on two machines, which are two folders here, and three servers, of
// which one dies. It prints every command with its answer, and fails if one does not end as
// expected.
//
// Usage: go run ./test/cluster/demo -leslie bin/leslie -server bin/nats-server
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"leslie/test/cluster"
)

func main() {
	leslie := flag.String("leslie", "bin/leslie", "the `binary` to run")
	server := flag.String("server", "bin/nats-server", "the `program` nats-server")
	flag.Parse()
	if err := play(*leslie, *server); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// stage is where the demo runs. After the first failure nothing more is done.
type stage struct {
	leslie  string
	dir     string
	cluster *cluster.Cluster
	err     error
}

func play(leslie, server string) error {
	dir, err := os.MkdirTemp("", "leslie-demo-machines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &stage{dir: dir}
	for _, name := range []string{"laptop", "tower", "servers", "home"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if s.leslie, err = filepath.Abs(leslie); err != nil {
		return err
	}
	if server, err = filepath.Abs(server); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if s.cluster, err = cluster.Start(ctx, cluster.Options{Binary: server, Dir: filepath.Join(dir, "servers")}); err != nil {
		return err
	}
	defer func() { _ = s.cluster.Close() }()
	s.connect()
	s.work()
	s.lose(ctx)
	if s.err == nil {
		fmt.Println("\nThe demo is over.")
	}
	return s.err
}

func (s *stage) connect() {
	s.say("A project on one machine gets a log on three servers")
	s.run("laptop", "init", "--no-agents")
	s.run("laptop", "objective", "create", "Ship the parser", "--id", "ship")
	s.run("laptop", "spawn", "--id", "plan", "--intent", "Plan the parser")
	s.write("laptop", "plan", "plan.md", "# Plan\n\n- [ ] lexer\n- [ ] parser\n")
	s.run("laptop", "remote", "init", strings.Join(s.cluster.URLs(), ","))
	s.say("Another machine connects, and has the same threads")
	status := s.run("laptop", "remote", "status")
	_, url, _ := strings.Cut(status, "remote ")
	url, _, _ = strings.Cut(url, "\n")
	s.run("tower", "connect", url)
	s.run("tower", "context", "plan")
}

func (s *stage) work() {
	s.say("Who claims a thread has it, on whichever machine")
	s.run("tower", "spawn", "--id", "lexer", "--parent", "plan", "--intent", "Write the lexer", "--inherit", "full")
	s.run("tower", "claim", "lexer", "--as", "agent", "--actor", "on-tower")
	s.fail("laptop", "claim", "lexer", "--as", "agent", "--actor", "on-laptop")
	s.say("Files go along with what hands work on, and are merged anywhere")
	s.write("tower", "lexer", "plan.md", "# Plan\n\n- [x] lexer\n- [ ] parser\n")
	s.run("tower", "done", "lexer", "--as", "agent", "--actor", "on-tower")
	s.run("laptop", "merge", "lexer", "plan")
	s.run("laptop", "show", "plan:plan.md")
}

func (s *stage) lose(ctx context.Context) {
	s.say("A server dies: work goes on")
	s.do("kill one of the servers, the one that leads", func() error {
		i, err := s.cluster.Leader(ctx, s.stream())
		if err != nil {
			return err
		}
		return s.cluster.Kill(i)
	})
	s.patiently("tower", "spawn", "--id", "parser", "--parent", "plan", "--intent", "Write the parser")
	s.run("laptop", "list")
	s.say("All servers die: each machine reads what it has, and writes nothing")
	s.do("kill the other servers", s.cluster.KillAll)
	s.run("laptop", "list")
	s.fail("laptop", "done", "parser")
	s.do("start them again", func() error {
		if err := s.cluster.StartAll(); err != nil {
			return err
		}
		return s.cluster.Healthy(ctx)
	})
	s.patiently("laptop", "done", "parser")
	s.run("tower", "status", "parser")
	s.run("tower", "remote", "status")
	for _, machine := range []string{"laptop", "tower"} {
		s.run(machine, "doctor")
	}
}

// stream is the name of the project's log.
func (s *stage) stream() string {
	data, err := os.ReadFile(filepath.Join(s.dir, "laptop", ".leslie", "remote.json"))
	s.note(err)
	_, id, _ := strings.Cut(string(data), `"project":"`)
	id, _, _ = strings.Cut(id, `"`)
	return "LESLIE_" + id
}

func (s *stage) say(text string) {
	if s.err == nil {
		fmt.Printf("\n== %s\n", text)
	}
}

func (s *stage) note(err error) {
	if s.err == nil {
		s.err = err
	}
}

// do carries out what is no command of leslie.
func (s *stage) do(what string, how func() error) {
	if s.err == nil {
		fmt.Printf("(%s)\n", what)
		s.note(how())
	}
}

func (s *stage) write(machine, thread, name, text string) {
	if s.err == nil {
		s.note(os.WriteFile(filepath.Join(s.dir, machine, ".leslie", "threads", thread, name), []byte(text), 0o644))
	}
}

// run runs a command on a machine and prints it with its answer.
func (s *stage) run(machine string, argv ...string) string {
	if s.err != nil {
		return ""
	}
	out, err := s.call(machine, argv)
	fmt.Print(out)
	if err != nil {
		s.note(fmt.Errorf("leslie %s: %w", strings.Join(argv, " "), err))
	}
	return out
}

// fail is run for a command that has to fail.
func (s *stage) fail(machine string, argv ...string) {
	if s.err != nil {
		return
	}
	out, err := s.call(machine, argv)
	fmt.Print(out)
	if err == nil {
		s.note(fmt.Errorf("leslie %s did not fail", strings.Join(argv, " ")))
	}
}

// patiently is run for a command that may have to wait until the servers have a leader.
func (s *stage) patiently(machine string, argv ...string) {
	if s.err != nil {
		return
	}
	begin := time.Now()
	for {
		out, err := s.call(machine, append([]string{"--request-id", "demo-" + strings.Join(argv[:1], "")}, argv...))
		fmt.Print(out)
		switch {
		case err == nil:
			fmt.Printf("(%.1f s)\n", time.Since(begin).Seconds())
			return
		case time.Since(begin) > time.Minute:
			s.note(err)
			return
		}
	}
}

func (s *stage) call(machine string, argv []string) (string, error) {
	fmt.Printf("%s$ leslie %s\n", machine, strings.Join(argv, " "))
	cmd := exec.Command(s.leslie, argv...)
	cmd.Dir = filepath.Join(s.dir, machine)
	cmd.Env = []string{
		"HOME=" + filepath.Join(s.dir, "home"), "PATH=" + os.Getenv("PATH"), "LOGNAME=kim", "LESLIE_AS=user",
		"LESLIE_REMOTE_CREDS=" + s.cluster.Credentials("admin"),
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
