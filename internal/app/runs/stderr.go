package runs

import (
	"io/fs"
	"os"
	"unicode/utf8"

	"leslie/internal/fact"
)

// This file keeps what an agent prints to its error output: it is often the only place where
// an agent says why it does not work.

// ErrorsFile is the file in a run's folder with the error output of the thread's agents.
const ErrorsFile = "stderr.log"

// maxErrors is how large the file gets, in bytes. An agent that starts when it is at least
// half as large begins it anew.
const maxErrors = 1 << 20

// errorLog is the file. What cannot be written is left out: no run fails because of it.
type errorLog struct {
	file *os.File
	left int
	rest []byte // of a character that has come in part
}

// openErrorLog opens the file in a run's folder; nothing if it cannot be opened.
func openErrorLog(folder string) *errorLog {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return &errorLog{}
	}
	defer func() { _ = root.Close() }()
	how := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	info, err := root.Lstat(ErrorsFile)
	switch {
	case err == nil && info.Mode()&fs.ModeType != 0: // a link or a pipe, which leads elsewhere
		return &errorLog{}
	case err == nil && info.Size() >= maxErrors/2:
		how |= os.O_TRUNC
	}
	file, err := root.OpenFile(ErrorsFile, how, 0o600)
	if err != nil {
		return &errorLog{}
	}
	if info, err = file.Stat(); err != nil {
		_ = file.Close()
		return &errorLog{}
	}
	return &errorLog{file: file, left: maxErrors - int(info.Size())}
}

// Write adds text with what controls a terminal as escapes. It always takes all of it.
func (l *errorLog) Write(p []byte) (int, error) {
	if l.file == nil || l.left <= 0 {
		return len(p), nil
	}
	var out []byte
	in := append(l.rest, p...)
	for len(in) > 0 && utf8.FullRune(in) {
		r, n := utf8.DecodeRune(in)
		if r != '\t' && fact.Unseen(r) || r == utf8.RuneError && n == 1 {
			for _, b := range in[:n] {
				out = append(out, '\\', 'x', "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
			}
		} else {
			out = append(out, in[:n]...)
		}
		in = in[n:]
	}
	l.rest = append([]byte{}, in...)
	if len(out) > l.left {
		out = append(out[:l.left:l.left], "\n(cut)\n"...)
		l.left = 0
	}
	n, _ := l.file.Write(out)
	l.left -= n
	return len(p), nil
}

// Close closes the file, if it is open.
func (l *errorLog) Close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
