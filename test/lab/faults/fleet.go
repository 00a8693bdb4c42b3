//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"leslie/test/cluster"
	"leslie/test/harness"
	"leslie/test/lab"
)

// This file makes servers and copies, and runs leslie in them.

// callTimeout is the longest a call may take: one that has no answer to its operation
// waits 20 s, after up to 30 s of others' coming first.
const callTimeout = 120 * time.Second

// fleet is a project on several machines.
type fleet struct {
	dir, leslie, home string
	scratch           string
	servers           *cluster.Cluster
	url, project      string
	stream            string // that has the log
	copies            []string
	certificate       string // of the servers
}

// newFleet starts servers and connects copies with a new project. After an error the
// fleet, if there is one, must be closed.
func newFleet(ctx context.Context, s setup, servers int) (*fleet, error) {
	dir, err := os.MkdirTemp("", "leslie-faults-")
	if err != nil {
		return nil, err
	}
	f := &fleet{dir: dir, leslie: filepath.Join(dir, "leslie"), home: filepath.Join(dir, "home"), scratch: filepath.Join(dir, "scratch")}
	for i := range s.copies {
		f.copies = append(f.copies, filepath.Join(dir, fmt.Sprintf("m%d", i+1)))
	}
	kept := filepath.Join(dir, "servers")
	for _, d := range append([]string{f.home, f.scratch, kept}, f.copies...) {
		if err := os.Mkdir(d, 0o755); err != nil {
			return f, err
		}
	}
	if err := harness.CopyOrBuild(s.leslie, f.leslie); err != nil {
		return f, err
	}
	program, err := filepath.Abs(s.server)
	if err != nil {
		return f, err
	}
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	options := cluster.Options{Binary: program, Dir: kept, Size: servers, Disks: s.disks && servers > 1}
	options.Change = func(config string) string {
		if servers == 1 {
			config = clusterBlock().ReplaceAllString(config, "")
		}
		if s.tls {
			config = cluster.WithTLS(config, f.certificate, filepath.Join(kept, "key")) + "\nallow_non_tls: true\n"
		}
		return config
	}
	f.certificate = filepath.Join(kept, "certificate")
	if err := cluster.MakeCertificate(f.certificate, filepath.Join(kept, "key")); err != nil {
		return f, err
	}
	if f.servers, err = cluster.Start(starting, options); err != nil {
		return f, err
	}
	return f, f.connect()
}

// clusterBlock finds what a server that is alone has not.
func clusterBlock() *regexp.Regexp { return regexp.MustCompile(`(?ms)^cluster \{.*?^\}\n`) }

// connect makes the project in the first copy, and connects the others.
func (f *fleet) connect() error {
	if err := f.machine("writer", 0).All("init --here", "objective create Goal --id goal"); err != nil {
		return err
	}
	o := f.machine("admin", 0).Call("remote", "init", strings.Join(f.servers.URLs(), ","))
	if !o.OK() {
		return fmt.Errorf("leslie remote init: %s", o.Text())
	}
	var made struct{ URL, Project string }
	o.Into(&made)
	f.url, f.project, f.stream = made.URL, made.Project, "LESLIE_"+made.Project
	for i := range f.copies[1:] {
		if err := f.machine("writer", i+1).All("connect " + f.url); err != nil {
			return err
		}
	}
	return nil
}

// close ends the servers, and removes everything or says where it is.
func (f *fleet) close(remove bool, out io.Writer) {
	if f.servers != nil {
		if err := f.servers.Close(); err != nil {
			fmt.Fprintln(out, "the servers:", err)
		}
	}
	if remove {
		_ = os.RemoveAll(f.dir)
	} else {
		fmt.Fprintln(out, "everything is in", f.dir)
	}
}

// call runs leslie in a copy.
func (f *fleet) call(at int, argv ...string) lab.Outcome {
	return f.machine("writer", at).Call(argv...)
}

// machine is a copy, with the credentials of a role.
func (f *fleet) machine(role string, at int) *lab.Project {
	return &lab.Project{
		Leslie: f.leslie, Dir: f.copies[at], Home: f.home, Temp: f.scratch, Limit: callTimeout, Attr: lab.Apart(),
		Env: []string{"LESLIE_REMOTE_CREDS=" + f.servers.Credentials(role), "SSL_CERT_FILE=" + f.certificate},
	}
}

// path returns the path of a file of the store in a copy.
func (f *fleet) path(at int, name string) string { return f.machine("", at).Path(name) }

// folder returns the folder of a thread in a copy.
func (f *fleet) folder(at int, thread string) string {
	return f.path(at, "threads/"+thread)
}

// contents is what a copy has.
type contents struct {
	records    map[string]json.RawMessage
	operations []lab.Operation
}

// same compares two histories.
func (c contents) same(other contents) bool {
	return slices.EqualFunc(c.operations, other.operations, func(a, b lab.Operation) bool {
		return a.Seq == b.Seq && a.ID == b.ID && a.RequestID == b.RequestID && a.Command == b.Command && a.Time.Equal(b.Time)
	})
}

// texts returns the records as text.
func (c contents) texts() map[string]string {
	out := map[string]string{}
	for name, raw := range c.records {
		out[name] = string(raw)
	}
	return out
}

// read reads a copy: its records and its history, as leslie export writes them.
func (f *fleet) read(at int) (c contents, err error) {
	o := f.call(at, "export", "--offline")
	if o.Status != 0 {
		return c, fmt.Errorf("leslie export in %s: %d %s", filepath.Base(f.copies[at]), o.Status, o.Stderr)
	}
	c.records = map[string]json.RawMessage{}
	for raw := range strings.Lines(string(o.Stdout)) {
		var line struct {
			Record    string
			Value     json.RawMessage
			Operation *lab.Operation
		}
		if err := json.Unmarshal([]byte(raw), &line); err != nil {
			return c, fmt.Errorf("leslie export wrote %.200q", raw)
		}
		switch {
		case line.Operation != nil:
			c.operations = append(c.operations, *line.Operation)
		case line.Record != "":
			c.records[line.Record] = line.Value
		}
	}
	return c, nil
}
