package importing

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// Lines reads lines of at most a limit. Each calls fn with the number of the line, from
// 1, and its bytes without the newline, which are valid until fn returns. Empty lines are
// skipped. Errors: fn's, T508 for a longer line, and what r returns.
func Lines(r io.Reader, from string, limit int, fn func(number int, line []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for number := 1; ; {
		part, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(long)+len(part) > limit {
			return tooLong("Line "+strconv.Itoa(number)+" of "+from, strconv.Itoa(limit>>20)+" MiB")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		line := part
		if len(long) > 0 {
			line = append(long, part...)
		}
		if number == 1 {
			line = withoutMark(line)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := fn(number, line); err != nil {
				return err
			}
		}
		long = long[:0]
		number++
		if err != nil {
			return nil
		}
	}
}
