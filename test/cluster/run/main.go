// Command run is "make cluster": three NATS servers on this machine, set up by the file
// for operators, until Ctrl-C. It reads faults to cause from its input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"leslie/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	binary := flags.String("server", "bin/nats-server", "the `program` nats-server")
	dir := flags.String("dir", "", "keep everything in this `folder` (default: one that is removed at the end)")
	line := flags.String("run", "", "run this shell `command` with the servers' URLs and credentials in its environment, and end")
	disks := flags.Bool("disks", false, "give each server a file system of its own, for power (Linux, root)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		made, err := os.MkdirTemp("", "leslie-cluster-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		*dir = made
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := cluster.Start(starting, cluster.Options{Binary: path, Dir: *dir, Disks: *disks})
	if err != nil {
		return err
	}
	defer c.Close()
	if *line != "" {
		return runCommand(ctx, c, *line, out)
	}
	welcome(c, *dir, out)
	return serve(ctx, c, in, out)
}

func runCommand(ctx context.Context, c *cluster.Cluster, line string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Env = append(os.Environ(),
		"LESLIE_TEST_SERVERS="+strings.Join(c.URLs(), ","),
		"LESLIE_TEST_WEBSOCKETS="+strings.Join(c.Websockets(), ","),
		"LESLIE_REMOTE_CREDS="+c.Credentials("admin"),
		"LESLIE_TEST_CREDS_WRITER="+c.Credentials("writer"),
		"LESLIE_TEST_CREDS_READER="+c.Credentials("reader"),
	)
	return cmd.Run()
}

func welcome(c *cluster.Cluster, dir string, out io.Writer) {
	fmt.Fprintf(out, `%d servers are healthy; everything they keep is in %s
  nats       %s
  websocket  %s
To connect:
  export LESLIE_REMOTE_CREDS=%s
  leslie remote init %s
Credentials that may do less: %s, %s
Lines to type, with a server's number: kill 1, quit 1, start 1, pause 1, resume 1, flip 1 STREAM; and
power, all (start all), leader STREAM. Ctrl-C ends everything.
`, c.Size(), dir, strings.Join(c.URLs(), ","), strings.Join(c.Websockets(), ","),
		c.Credentials("admin"), strings.Join(c.URLs(), ","), c.Credentials("writer"), c.Credentials("reader"))
}

// serve carries out lines until the context ends. The end of the input ends nothing.
func serve(ctx context.Context, c *cluster.Cluster, in io.Reader, out io.Writer) error {
	lines := make(chan string)
	go func() {
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			answer, err := fault(ctx, c, strings.Fields(line))
			if err != nil {
				answer = "failed: " + err.Error()
			}
			fmt.Fprintln(out, answer)
		}
	}
}

// fault carries out one line, and returns what it has to say.
func fault(ctx context.Context, c *cluster.Cluster, words []string) (string, error) {
	one := map[string]func(int) error{"kill": c.Kill, "quit": c.Quit, "start": c.Start, "pause": c.Pause, "resume": c.Resume}
	all := map[string]func() error{"power": c.PowerCut, "all": c.StartAll}
	number := func() (int, error) {
		i, err := strconv.Atoi(words[1])
		if err != nil || i < 1 || i > c.Size() {
			return 0, fmt.Errorf("%q is no server: 1 to %d are", words[1], c.Size())
		}
		return i - 1, nil
	}
	switch {
	case len(words) == 1 && all[words[0]] != nil:
		return "done", all[words[0]]()
	case len(words) == 2 && one[words[0]] != nil:
		i, err := number()
		if err != nil {
			return "", err
		}
		return "done", one[words[0]](i)
	case len(words) == 3 && words[0] == "flip":
		i, err := number()
		if err != nil {
			return "", err
		}
		return "done", c.FlipBit(i, words[2])
	case len(words) == 2 && words[0] == "leader":
		i, err := c.Leader(ctx, words[1])
		return strconv.Itoa(i + 1), err
	}
	return "", fmt.Errorf("%q is not understood", strings.Join(words, " "))
}
