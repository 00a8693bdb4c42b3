package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// This file reads the main state file, and remembers what it read last: a command
// that looks before it leaps reads the store twice, and nearly always the same
// state.
//
// What is remembered is given out again if the file is found to be whole, by its
// checksum, and to be that state, by its length, revision and checksum. So the
// file is read every time; but it passes through a small buffer, and is neither
// kept nor taken apart again. An image is never changed, so it can be given out
// twice.

// lastRead is the state that was read last.
type lastRead struct {
	last  atomic.Pointer[found]
	ahead atomic.Pointer[[]byte] // memory for the first read, see prepareRoom
	// loaded is what that led to, which is another state where the file was
	// damaged or old.
	loaded atomic.Pointer[lately]
}

// someMore is how much a state may grow while its next reader waits for the lock.
const someMore = 64 << 10

// prepareRoom takes the memory for the state before the lock is held: to have it
// put into place takes as long as to read into it.
func (s *Store) prepareRoom() {
	if s.seen.last.Load() != nil {
		return // it will pass through a small buffer
	}
	if info, err := os.Lstat(s.Path(StateFile)); err == nil && info.Mode().IsRegular() && info.Size() <= maxWhole {
		data := room(info.Size() + someMore)
		s.seen.ahead.Store(&data)
	}
}

// stateRoom is memory for a state of so many bytes.
func (s *Store) stateRoom(size int64) []byte {
	if ahead := s.seen.ahead.Swap(nil); ahead != nil && int64(len(*ahead)) >= size {
		return (*ahead)[:size:size]
	}
	return room(size)
}

// readMain reads the main state file. A missing one is damage.
func (s *Store) readMain() found {
	if f, known := s.recallState(); known {
		return f
	}
	data, info, err := readRegularInto(s.Path(StateFile), maxWhole, s.stateRoom)
	if errors.Is(err, fs.ErrNotExist) {
		return found{err: damage("it is missing")}
	}
	if err != nil {
		return found{err: err}
	}
	m, err := decodeState(data)
	f := found{image: m, info: info, data: data, err: err}
	if err == nil {
		s.seen.last.Store(&f)
	}
	return f
}

// recallState gives back what was read last if that is what stands there.
func (s *Store) recallState() (found, bool) {
	last := s.seen.last.Load()
	if last == nil {
		return found{}, false
	}
	file, info, err := openRegular(s.Path(StateFile))
	if err != nil {
		return found{}, false
	}
	defer file.Close()
	if info.Size() != int64(len(last.data)) || !last.sameAs(file) {
		return found{}, false
	}
	f := *last
	f.info = info
	return f, true
}

// sameAs reports whether a file of the same length is whole and is this state.
func (f found) sameAs(file *os.File) bool {
	_, at, ok := readHead(f.data)
	head := make([]byte, at+8)
	if _, err := file.ReadAt(head, 0); !ok || err != nil || string(head) != string(f.data[:at+8]) {
		return false
	}
	return wholeFile(file, int64(len(f.data)))
}

// wholeFile is whole for a file of this size, which passes through a small buffer.
func wholeFile(file *os.File, size int64) bool {
	buffer := room(min(256<<10, size))
	n, err := io.ReadFull(file, buffer)
	if err != nil {
		return false
	}
	_, at, ok := readHead(buffer[:n])
	if !ok {
		return false
	}
	digits := string(buffer[at : at+8])
	sum := crc32.Update(crc32.Update(0, castagnoli(), buffer[:at]), castagnoli(), buffer[at+8:n])
	for left := size - int64(n); left > 0; left -= int64(n) {
		if n, err = io.ReadFull(file, buffer[:min(int64(len(buffer)), left)]); err != nil {
			return false
		}
		sum = crc32.Update(sum, castagnoli(), buffer[:n])
	}
	return fmt.Sprintf("%08x", sum) == digits
}
