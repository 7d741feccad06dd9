package export_tidegate_plugin_tools

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"
)

// The longest file that is read, in bytes.
const maxFileBytes = 4 << 20

// The longest line, unfolded, in bytes.
const maxLineBytes = 65536

// The most occurrences that are looked at, in all events.
const maxOccurrences = 100_000

// How much is read between two reports, in bytes.
const reportBytes = 65536

// readCalendar adds what is busy in the file to `busy`, one event after the other: no more than one
// is held. The report is called now and then, and its error ends the reading.
func readCalendar(path string, zone *time.Location, busy *spans, report func(done, total int64) error) error {
	file, size, err := openFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := &lineReader{from: bufio.NewReaderSize(file, reportBytes), size: size, report: report}
	reader := &eventReader{zone: zone, busy: busy}
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return reader.end()
		}
		if err == nil {
			err = reader.take(line)
		}
		if err != nil {
			return err
		}
	}
}

// lineReader gives the lines of an iCalendar file, unfolded (RFC 5545 3.1).
type lineReader struct {
	from     *bufio.Reader
	size     int64
	done     int64
	reported int64
	report   func(done, total int64) error
	ahead    string
	hasAhead bool
	isAtEnd  bool
}

// next gives the next line, and io.EOF behind the last.
func (l *lineReader) next() (string, error) {
	line, err := l.physical()
	if err != nil {
		return "", err
	}
	var whole strings.Builder
	whole.WriteString(line)
	for {
		more, err := l.physical()
		if errors.Is(err, io.EOF) {
			return whole.String(), nil
		}
		if err != nil {
			return "", err
		}
		if !strings.HasPrefix(more, " ") && !strings.HasPrefix(more, "\t") {
			l.ahead, l.hasAhead = more, true
			return whole.String(), nil
		}
		if whole.Len()+len(more) > maxLineBytes {
			return "", longLine
		}
		whole.WriteString(more[1:])
	}
}

// physical gives the next line as it stands in the file, without its end.
func (l *lineReader) physical() (string, error) {
	if l.hasAhead {
		l.hasAhead = false
		return l.ahead, nil
	}
	if l.isAtEnd {
		return "", io.EOF
	}
	line, err := l.from.ReadSlice('\n')
	l.done += int64(len(line))
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", longLine
	case errors.Is(err, io.EOF):
		l.isAtEnd = true
		if len(line) == 0 {
			return "", io.EOF
		}
	case err != nil:
		return "", readFailed
	}
	if l.done > maxFileBytes {
		return "", tooLarge
	}
	if l.done-l.reported >= reportBytes || l.reported == 0 {
		l.reported = l.done
		if err := l.report(l.done, l.size); err != nil {
			return "", err
		}
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
