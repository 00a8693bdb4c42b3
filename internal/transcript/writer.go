package transcript

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"leslie/internal/atomicfile"
)

// Options says how a transcript is written.
type Options struct {
	Run string // the id of the run to which the entries belong
	Now func() time.Time
	// MaxBytes is the size from which a file is full; 0: 64 MiB.
	MaxBytes int64
}

const (
	defaultMaxBytes = 64 << 20
	// Text is written when this many bytes of it have come, or after this time, or when
	// something else comes.
	textBytes = 8 << 10
	textDelay = 500 * time.Millisecond
)

// Writer appends to a transcript. It is safe for concurrent use. An entry is in the file,
// and readers see it, when Put returns; it survives a power cut when Flush has returned.
// Failures to write stop nothing: Flush and Close return them, and the numbers of entries
// that are lost are missing.
type Writer struct {
	mu   sync.Mutex
	dir  string
	root *os.Root
	o    Options

	file  file // nil: it has to be opened first
	size  int64
	first int64 // number of the first entry in the file
	limit int64 // size at which it is full
	named bool  // a name in the folder may not be on disk yet
	torn  bool  // a failed write may have left a part of a line
	n     int64
	turn  int
	err   error // the first since the last Flush
	done  bool

	kind    string // of the text that waits
	text    []byte
	since   time.Time
	timer   *time.Timer
	scratch []byte
}

// file is what a Writer needs of an os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// Open opens the transcript in a folder, which it makes if it is missing, and goes on
// with its numbers. What a killed process left of a line is cut off. The caller makes sure
// that nobody else writes it. Close must be called.
func Open(dir string, o Options) (*Writer, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, root: root, o: o, limit: o.MaxBytes}
	if err = w.resume(); err == nil {
		err = w.open()
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	w.timer = time.AfterFunc(textDelay, w.flushLate)
	w.timer.Stop()
	return w, nil
}

// resume repairs the end of the file, and finds the numbers of its first entry and of
// the last one.
func (w *Writer) resume() error {
	firsts, err := fullFiles(w.root)
	if err != nil {
		return err
	}
	names := []string{Name}
	if i := len(firsts) - 1; i >= 0 {
		names, w.n = append(names, full(firsts[i])), firsts[i]
	}
	for _, name := range names {
		f, err := open(w.root, name, os.O_RDWR|os.O_APPEND)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if name == Name {
			err = w.repair(f)
		}
		last := int64(0)
		if err == nil {
			last, err = lastNumber(f)
		}
		w.n = max(w.n, last)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	if w.first == 0 {
		w.first = w.n + 1
	}
	return nil
}

// repair ends the last line of the file, or cuts off what is left of it.
func (w *Writer) repair(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	torn, err := backward(f, info.Size(), func([]byte) bool { return false })
	if err != nil {
		return err
	}
	if w.size = info.Size() - torn; torn > 0 {
		rest := make([]byte, min(torn, mostLine))
		if _, err := f.ReadAt(rest, w.size); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, ok := parse(rest); !ok {
			err = f.Truncate(w.size)
		} else {
			_, err = f.Write([]byte("\n"))
			w.size += torn + 1
		}
		if err != nil {
			return err
		}
	}
	w.first, err = firstNumber(f)
	return err
}

// firstNumber returns the number of the first entry of a file, 0 if it has none.
func firstNumber(f *os.File) (n int64, err error) {
	errFound := errors.New("found")
	_, err = forward(f, new(int64), func(line []byte) error {
		e, ok := parse(line)
		if !ok {
			return nil
		}
		n = e.N
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return n, err
}

// lastNumber returns the number of the last entry of a file, 0 if it has none.
func lastNumber(f *os.File) (n int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	_, err = backward(f, info.Size(), func(line []byte) bool {
		e, ok := parse(line)
		n = e.N
		return !ok
	})
	return n, err
}

// open opens the file for writing.
func (w *Writer) open() error {
	f, err := open(w.root, Name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	w.file, w.named = f, true
	return nil
}

// Turn sets the turn to which the next entries belong.
func (w *Writer) Turn(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	w.turn = n
}

// Text adds a piece of a text. Pieces of one kind that follow each other become entries
// of up to 8 KB.
func (w *Writer) Text(kind, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind != kind {
		w.flush()
	}
	for text != "" && !w.done {
		if len(w.text) == 0 {
			w.kind, w.since = kind, w.o.Now()
			w.timer.Reset(textDelay)
		}
		n := beginning(text, textBytes-len(w.text))
		w.text, text = append(w.text, text[:n]...), text[n:]
		if text != "" || len(w.text) == textBytes {
			w.flush()
		}
	}
}

// beginning returns the length of the longest beginning of a text that has at most n
// bytes and ends with a whole character.
func beginning(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for i := n; i > max(n-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n // it is no UTF-8, or has no room for a character
}

// Put adds an entry: the fields of a struct or a map, such as Words, or an update as a
// json.RawMessage. Of an update over 1 MB only the kind, the size and what identifies it
// are kept.
func (w *Writer) Put(kind string, what any) {
	fields := fieldsOf(what)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	w.write(kind, w.o.Now(), fields)
}

func (w *Writer) flushLate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
}

// flush writes the text that waits.
func (w *Writer) flush() {
	if len(w.text) == 0 {
		return
	}
	w.timer.Stop()
	fields := fieldsOf(Words{string(w.text)})
	w.text = w.text[:0]
	w.write(w.kind, w.since, fields)
}

// timeForm is RFC 3339 with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// write writes an entry.
func (w *Writer) write(kind string, at time.Time, fields []byte) {
	if w.done {
		return
	}
	w.n++
	b := w.scratch[:0]
	if w.torn {
		b = append(b, '\n') // the next line is a whole one all the same
	}
	b = strconv.AppendInt(append(b, `{"n":`...), w.n, 10)
	b = at.UTC().AppendFormat(append(b, `,"at":"`...), timeForm)
	b = appendString(append(b, `","run":`...), w.o.Run)
	b = strconv.AppendInt(append(b, `,"turn":`...), int64(w.turn), 10)
	b = appendString(append(b, `,"kind":`...), kind)
	b = append(append(b, fields...), "}\n"...)
	if w.scratch = b; cap(b) > 2*chunk {
		w.scratch = nil
	}
	if w.size > 0 && w.size+int64(len(b)) > w.limit {
		w.keep(w.rotate())
	}
	if w.file == nil {
		if err := w.open(); err != nil {
			w.keep(err)
			return
		}
	}
	n, err := w.file.Write(b)
	w.size += int64(n)
	w.torn = err != nil && (n > 0 || w.torn)
	w.keep(err)
}

// rotate gives a full file its name. If that fails, it is written to further.
func (w *Writer) rotate() error {
	if w.file != nil {
		err := errors.Join(w.file.Sync(), w.file.Close())
		w.file = nil
		w.keep(err)
	}
	for {
		_, err := w.root.Lstat(full(w.first))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		w.first++ // of a damaged transcript: nothing is replaced
	}
	if err := w.root.Rename(Name, full(w.first)); err != nil {
		w.limit = w.size + w.o.MaxBytes
		return err
	}
	w.first, w.size, w.limit, w.torn = w.n, 0, w.o.MaxBytes, false
	return nil
}

func (w *Writer) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Flush has all entries on disk, as at the end of a turn, and returns the first failure
// since the last Flush. After one a caller may go on: only entries are lost.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	w.flush()
	return w.sync()
}

func (w *Writer) sync() error {
	if w.file != nil {
		w.keep(w.file.Sync())
	}
	if w.named {
		err := atomicfile.SyncFolder(w.dir)
		w.named = err != nil
		w.keep(err)
	}
	err := w.err
	w.err = nil
	return err
}

// Close is Flush, and closes the file. What is written afterwards is passed over.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	w.flush()
	err := w.sync()
	w.done = true
	w.timer.Stop()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	return errors.Join(err, w.root.Close())
}
