package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// job is what is made, and from what.
type job struct {
	leslie  string // a binary that runs here
	version string
	at      time.Time // the time of all files, and the date of the manual
	tags    string    // of the build
	out     string
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("needs man or archives")
	}
	var j job
	var seconds int64
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&j.leslie, "leslie", "bin/leslie", "a `binary` that runs here")
	flags.StringVar(&j.version, "version", "dev", "the version")
	flags.Int64Var(&seconds, "time", 0, "the time of all files, in `seconds` since 1970")
	flags.StringVar(&j.tags, "tags", "", "the `tags` of the build")
	flags.StringVar(&j.out, "out", "", "the `folder` to write to")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if j.out == "" || flags.NArg() > 0 {
		return errors.New("needs -out and no operand")
	}
	j.at = time.Unix(seconds, 0).UTC()
	switch args[0] {
	case "man":
		pages, err := j.pages()
		if err != nil {
			return err
		}
		return writeFiles(j.out, pages)
	case "archives":
		return j.archives()
	}
	return fmt.Errorf("%s is neither man nor archives", args[0])
}

// file is a file to be installed.
type file struct {
	name       string // with "/"
	data       []byte
	executable bool
}

// writeFiles writes files to a folder in place of all that it had.
func writeFiles(dir string, files []file) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, os.FileMode(f.mode())); err != nil {
			return err
		}
	}
	return nil
}
