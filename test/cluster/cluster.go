// Package cluster runs NATS servers on this machine, set up as operators set them up, and
// does to them what happens to servers: for "make cluster" and for tests.
//
// What belongs here: processes of nats-server, their folders and faults. What leslie does
// with them, tests look at.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"leslie/internal/ledger/jetstream"
	"leslie/test/harness"
)

// Options say which servers to run.
type Options struct {
	Binary string // the program nats-server
	Dir    string // an existing folder, for everything that the servers keep
	// Change, if not nil, changes the configuration.
	Change func(config string) string
	// Disks gives each server a file system of its own, so that PowerCut can drop what
	// was not flushed: Linux, root, ext4.
	Disks bool
	Size  int // how many servers; 0: three
}

// Cluster is a running group of servers. Its methods may be called by one goroutine at a
// time.
type Cluster struct {
	options Options
	nodes   []*node
}

// node is one server.
type node struct {
	name                             string
	client, websocket, peer, monitor int // ports
	dir                              string
	process                          *exec.Cmd
	ended                            chan struct{}
}

// Start starts the servers and waits until they are healthy.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{options: o}
	if o.Size == 0 {
		o.Size = 3
	}
	for i := range o.Size {
		n := &node{name: "n" + strconv.Itoa(i+1)}
		n.dir = filepath.Join(o.Dir, n.name)
		c.nodes = append(c.nodes, n)
	}
	c.ports()
	if err := c.files(); err != nil {
		return nil, err
	}
	for i := range c.nodes {
		if err := c.Start(i); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if err := c.Healthy(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ports chooses ports that nobody uses.
func (c *Cluster) ports() {
	for _, n := range c.nodes {
		n.client, n.websocket, n.peer, n.monitor = harness.FreePort(), harness.FreePort(), harness.FreePort(), harness.FreePort()
	}
}

// files writes the configuration and the credentials of each role, and makes the folders.
func (c *Cluster) files() error {
	config := jetstream.ServerConfig
	if c.options.Change != nil {
		config = c.options.Change(config)
	}
	if err := os.WriteFile(c.configPath(), []byte(config), 0o600); err != nil {
		return err
	}
	for _, role := range []string{"reader", "writer", "admin"} {
		if err := os.WriteFile(c.Credentials(role), []byte(role+":"+password(role)+"\n"), 0o600); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := os.MkdirAll(n.dir, 0o700); err != nil {
			return err
		}
		if c.options.Disks {
			if err := makeDisk(n.dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cluster) configPath() string { return filepath.Join(c.options.Dir, "leslie.conf") }

// password is no secret: the servers listen on the loopback device only.
func password(role string) string { return role + "-on-loopback" }

// Credentials returns the file of a role: reader, writer or admin.
func (c *Cluster) Credentials(role string) string {
	return filepath.Join(c.options.Dir, role+".creds")
}

// Size returns how many servers there are.
func (c *Cluster) Size() int { return len(c.nodes) }

// URLs returns where clients connect.
func (c *Cluster) URLs() []string {
	var out []string
	for _, n := range c.nodes {
		out = append(out, fmt.Sprintf("nats://127.0.0.1:%d", n.client))
	}
	return out
}

// Websockets returns where clients connect by websocket.
func (c *Cluster) Websockets() []string {
	var out []string
	for _, n := range c.nodes {
		out = append(out, fmt.Sprintf("ws://127.0.0.1:%d", n.websocket))
	}
	return out
}

// Start starts a server that does not run. It does not wait for it.
func (c *Cluster) Start(i int) error {
	n := c.nodes[i]
	log, err := os.OpenFile(filepath.Join(c.options.Dir, n.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	n.process = exec.Command(c.options.Binary, "-c", c.configPath(), "-m", strconv.Itoa(n.monitor))
	n.process.Stdout, n.process.Stderr = log, log
	n.process.Env = append(os.Environ(), c.environment(n)...)
	if err := n.process.Start(); err != nil {
		return err
	}
	n.ended = make(chan struct{})
	go func(process *exec.Cmd, ended chan struct{}) {
		_ = process.Wait()
		close(ended)
	}(n.process, n.ended)
	return nil
}

// environment is what differs between the servers.
func (c *Cluster) environment(n *node) []string {
	out := []string{
		"NATS_NAME=" + n.name,
		fmt.Sprintf("NATS_LISTEN=127.0.0.1:%d", n.client),
		fmt.Sprintf("NATS_WEBSOCKET=127.0.0.1:%d", n.websocket),
		fmt.Sprintf("NATS_CLUSTER=127.0.0.1:%d", n.peer),
		"NATS_STORE=" + strconv.Quote(filepath.ToSlash(n.dir)),
	}
	for i := range 3 {
		out = append(out, fmt.Sprintf("NATS_ROUTE_%d=nats://127.0.0.1:%d", i+1, c.nodes[i%len(c.nodes)].peer))
	}
	for name, role := range map[string]string{"READER": "reader", "WRITER": "writer", "ADMIN": "admin"} {
		out = append(out, name+"_PASSWORD="+strconv.Quote(password(role)))
	}
	return out
}

// running reports whether a server's process is there, also if it is paused.
func (n *node) running() bool {
	if n.ended == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// Kill ends a server at once.
func (c *Cluster) Kill(i int) error {
	n := c.nodes[i]
	if !n.running() {
		return nil
	}
	err := n.process.Process.Kill()
	<-n.ended
	return err
}

// KillAll ends all servers at once.
func (c *Cluster) KillAll() error {
	var all sync.WaitGroup
	errs := make([]error, len(c.nodes))
	for i := range c.nodes {
		all.Go(func() { errs[i] = c.Kill(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// StartAll starts the servers that do not run.
func (c *Cluster) StartAll() error {
	for i, n := range c.nodes {
		if !n.running() {
			if err := c.Start(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close ends the servers.
func (c *Cluster) Close() error {
	err := c.KillAll()
	if c.options.Disks {
		for _, n := range c.nodes {
			err = errors.Join(err, removeDisk(n.dir))
		}
	}
	return err
}

// PowerCut ends all servers, and what they had not flushed is lost. StartAll starts them
// again.
func (c *Cluster) PowerCut() error {
	if !c.options.Disks {
		return errors.New("the servers have no disks of their own")
	}
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, cutDisk(n.dir))
	}
	errs = append(errs, c.KillAll())
	for _, n := range c.nodes {
		errs = append(errs, mountDisk(n.dir))
	}
	return errors.Join(errs...)
}

// Healthy waits until every server that runs says that it and all its streams are well.
func (c *Cluster) Healthy(ctx context.Context) error {
	for _, n := range c.nodes {
		for n.running() {
			if _, err := n.ask(ctx, "/healthz", nil); err == nil {
				break
			}
			if err := moment(ctx); err != nil {
				return fmt.Errorf("server %s did not become healthy: %w", n.name, err)
			}
		}
	}
	return nil
}

func moment(ctx context.Context) error {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask asks a server's monitoring; answer may be nil.
func (n *node) ask(ctx context.Context, path string, answer any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", n.monitor, path), nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, data)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(data, answer)
	}
	return response.StatusCode, err
}

// Leader waits until a stream has a leader that runs, and returns it.
func (c *Cluster) Leader(ctx context.Context, stream string) (int, error) {
	for {
		for i, n := range c.nodes {
			if n.leads(ctx, stream) {
				return i, nil
			}
		}
		if err := moment(ctx); err != nil {
			return 0, fmt.Errorf("%s has no leader: %w", stream, err)
		}
	}
}

// leads reports whether a server says that it leads a stream.
func (n *node) leads(ctx context.Context, stream string) bool {
	var answer struct {
		Accounts []struct {
			Streams []struct {
				Name    string `json:"name"`
				Cluster struct {
					Leader string `json:"leader"`
				} `json:"cluster"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if !n.running() {
		return false
	}
	if _, err := n.ask(ctx, "/jsz?acc=LESLIE&streams=true", &answer); err != nil {
		return false
	}
	for _, a := range answer.Accounts {
		for _, s := range a.Streams {
			if s.Name == stream && s.Cluster.Leader == n.name {
				return true
			}
		}
	}
	return false
}

// Stored reports whether a server has something of a stream on its disk.
func (c *Cluster) Stored(i int, stream string) bool { return len(c.blocks(i, stream)) > 0 }

// blocks returns the files in which a server has a stream's messages.
func (c *Cluster) blocks(i int, stream string) []string {
	found, _ := filepath.Glob(filepath.Join(c.nodes[i].dir, "jetstream", "LESLIE", "streams", stream, "msgs", "*.blk"))
	return found
}

// FlipBit changes one bit in the middle of what a server that does not run has stored of a
// stream.
func (c *Cluster) FlipBit(i int, stream string) error {
	blocks := c.blocks(i, stream)
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no blocks of %s", c.nodes[i].name, stream)
	}
	data, err := os.ReadFile(blocks[0])
	if err != nil || len(data) == 0 {
		return fmt.Errorf("block %s is empty", blocks[0])
	}
	data[len(data)/2] ^= 1
	return os.WriteFile(blocks[0], data, 0o600)
}
