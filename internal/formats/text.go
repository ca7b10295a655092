package formats

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// One goroutine reads a text file, plain or gzipped, and cuts it into blocks of whole
// lines. Several goroutines parse the blocks. One takes the results in the order of
// the file:
//
//	file ─▶ gunzip, cut ─▶ parse ┬▶ consume, in order
//	                     ─▶ parse ┘
//
// A large file takes as long as gunzip does.

const (
	textBlock   = 1 << 20 // bytes parsed at a time
	longestLine = 1 << 24 // bytes in a line
)

// lines is a block of whole lines.
type lines struct {
	path   string
	number int64 // of the first line, from 1
	data   []byte

	picked func(line []byte) []byte // the columns of a line of data to read; nil: all
}

// next cuts off and returns the first line, without its end. The line's number is
// b.number−1 afterwards.
func (b *lines) next() (line []byte, found bool) {
	if len(b.data) == 0 {
		return nil, false
	}
	end := bytes.IndexByte(b.data, '\n')
	if end < 0 {
		line, b.data = b.data, nil
	} else {
		line, b.data = b.data[:end], b.data[end+1:]
	}
	b.number++
	return bytes.TrimSuffix(line, []byte{'\r'}), true
}

// nextData is next for files with comments, lines that start with #. It skips them.
func (b *lines) nextData() (line []byte, found bool) {
	for {
		line, found = b.next()
		if found && len(line) > 0 && line[0] == '#' {
			continue
		}
		if found && len(line) > 0 && b.picked != nil {
			line = b.picked(line)
		}
		return line, found
	}
}

// fail returns an error at the last line that next returned.
func (b *lines) fail(format string, args ...any) error {
	return fmt.Errorf("datasets: %s:%d: %w", b.path, b.number-1, fmt.Errorf(format, args...))
}

// quoteField quotes a part of a file for a one-line error.
func quoteField(field []byte) string {
	const most = 40
	if len(field) > most {
		return strconv.Quote(string(field[:most])) + "…"
	}
	return strconv.Quote(string(field))
}

// readLines calls parse on all blocks of the file, concurrently, and consume on the
// results, in order and one at a time; consume may be nil. It stops at the first error
// in the order of the file. parse must not keep its block.
func readLines[T any](ctx context.Context, path string, parse func(b lines) (T, error), consume func(T) error) error {
	text, err := openText(path)
	if err != nil {
		return err
	}
	defer text.Close()

	type result struct {
		value T
		err   error
	}
	type job struct {
		block  lines
		result chan result // takes one
	}
	workers := runtime.GOMAXPROCS(0)
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job, workers)
	order := make(chan chan result, 2*workers) // bounds the number of blocks in memory
	group.Go(func() error {
		defer close(jobs)
		defer close(order)
		enqueue := func(j job) error {
			select {
			case order <- j.result:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := cutLines(text.Reader, path, func(b lines) error {
			j := job{b, make(chan result, 1)}
			if err := enqueue(j); err != nil {
				return err
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
		// An error in a line before comes first.
		last := job{result: make(chan result, 1)}
		last.result <- result{err: err}
		return enqueue(last)
	})
	for range workers {
		group.Go(func() error {
			for j := range jobs {
				value, err := parse(j.block)
				j.result <- result{value, err}
			}
			return nil
		})
	}
	group.Go(func() error {
		for next := range order {
			select {
			case r := <-next:
				if r.err != nil {
					return r.err
				}
				if consume == nil {
					continue
				}
				if err := consume(r.value); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// cutLines cuts a text into blocks that end with a line.
func cutLines(r io.Reader, path string, emit func(lines) error) error {
	number := int64(1)
	var rest []byte // the beginning of a line whose end has not been read
	for {
		block := make([]byte, len(rest)+textBlock)
		n := copy(block, rest)
		m, err := io.ReadFull(r, block[n:])
		block = block[:n+m]
		ended := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !ended {
			return fmt.Errorf("datasets: %s: after line %d: %w", path, number+int64(bytes.Count(block, []byte{'\n'}))-1, err)
		}
		whole := len(block)
		if !ended {
			whole = bytes.LastIndexByte(block, '\n') + 1
		}
		if rest = block[whole:]; len(rest) > longestLine {
			return fmt.Errorf("datasets: %s:%d: line of more than %d bytes", path, number, longestLine)
		}
		if block = block[:whole]; len(block) > 0 {
			b := lines{path: path, number: number, data: block}
			number += int64(bytes.Count(block, []byte{'\n'}))
			if err := emit(b); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

// textFile is an open text file. It is gunzipped if it starts like gzip, and lacks the
// byte-order mark that some programs write before UTF-8.
type textFile struct {
	io.Reader
	file *os.File
}

func (t *textFile) Close() error { return t.file.Close() }

func openText(path string) (*textFile, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	buffered := bufio.NewReaderSize(f, 1<<18)
	start, err := buffered.Peek(2)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	if bytes.Equal(start, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("datasets: %s: %w", path, noEOF(err))
		}
		buffered = bufio.NewReaderSize(gunzipped{z}, 1<<18)
	}
	if err := skipByteOrderMark(buffered); err != nil {
		f.Close()
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return &textFile{buffered, f}, nil
}

// skipByteOrderMark skips UTF-8's byte-order mark, and reports the marks of other
// encodings. An error of reading comes again with the next read.
func skipByteOrderMark(r *bufio.Reader) error {
	start, _ := r.Peek(4)
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		r.Discard(3) // they are in the buffer
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return errors.New("text in UTF-16, which is not read: save it as UTF-8")
	case bytes.Equal(start, []byte("\x00\x00\xfe\xff")):
		return errors.New("text in UTF-32, which is not read: save it as UTF-8")
	}
	return nil
}

// gunzipped reports a file that is cut short.
type gunzipped struct{ z *gzip.Reader }

func (g gunzipped) Read(b []byte) (int, error) {
	n, err := g.z.Read(b)
	if err != nil && err != io.EOF {
		err = noEOF(err)
	}
	return n, err
}

func noEOF(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("gzip data cut short")
	}
	return err
}

// unquoted returns a field of CSV without the quotes around it. It leaves a field with
// quotes within it as it is.
func unquoted(field []byte) []byte {
	last := len(field) - 1
	if last > 0 && field[0] == '"' && field[last] == '"' && bytes.IndexByte(field[1:last], '"') < 0 {
		return field[1:last]
	}
	return field
}

// parseID reads a node id, a decimal number below 2³¹−1.
func parseID(field []byte) (int32, bool) {
	if len(field) == 0 || len(field) > 10 {
		return 0, false
	}
	var id int64
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		id = 10*id + int64(c-'0')
	}
	return int32(id), id < 1<<31-1
}

// readIDLines reads one node id a line, below n.
func readIDLines(ctx context.Context, path string, n int) (ids []int32, err error) {
	tally := newTally(path)
	err = readLines(ctx, path, func(b lines) ([]int32, error) {
		var part []int32
		for {
			line, found := b.next()
			if !found {
				return part, nil
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			id, ok := parseID(line)
			if !ok || int(id) >= n {
				return nil, b.fail("%s is not a node in [0, %d)", quoteField(line), n)
			}
			part = append(part, id)
		}
	}, func(part []int32) error {
		if err := tally.Add(appendGrowth * int64(4*len(part))); err != nil {
			return err
		}
		ids = append(ids, part...)
		return nil
	})
	return ids, err
}

// newTally returns a tally of the memory for reading a file. The file's size does not
// bound it: gzip shrinks a text by up to a thousand.
func newTally(path string) memory.Tally {
	return memory.Tally{What: "datasets: " + path + ": reading it"}
}

// appendGrowth bounds the memory of append, in sizes of the slice: it copies into a
// larger array.
const appendGrowth = 3

// parseArcs reads lines of two node ids below n with sep between them. Lines that
// start with # are comments.
func parseArcs(b lines, sep byte, n int) ([]graph.Edge, error) {
	arcs := make([]graph.Edge, 0, len(b.data)/8)
	for {
		if a, size := plainArc(b.data, sep); size > 0 && int(a.U) < n && int(a.V) < n {
			b.data = b.data[size:]
			b.number++
			arcs = append(arcs, a)
			continue
		}
		line, found := b.nextData()
		if !found {
			return arcs, nil
		}
		if len(line) == 0 {
			continue
		}
		cut := bytes.IndexByte(line, sep)
		if cut < 0 {
			return nil, b.fail("%s is not two node ids, whole numbers from 0", quoteField(line))
		}
		from, ok1 := parseID(unquoted(bytes.TrimSpace(line[:cut])))
		to, ok2 := parseID(unquoted(bytes.TrimSpace(line[cut+1:])))
		if !ok1 || !ok2 {
			return nil, b.fail("%s is not two node ids, whole numbers from 0", quoteField(line))
		}
		if int(from) >= n || int(to) >= n {
			return nil, b.fail("edge (%d, %d) outside [0, %d)", from, to, n)
		}
		arcs = append(arcs, graph.Edge{U: from, V: to})
	}
}

// plainArc reads, in one pass, a line of just two ids of up to nine digits. size is
// the length of the line with its end, or 0 for any other line.
func plainArc(text []byte, sep byte) (edge graph.Edge, size int) {
	from, k := leadingDigits(text)
	if k == 0 || k >= len(text) || text[k] != sep {
		return graph.Edge{}, 0
	}
	to, m := leadingDigits(text[k+1:])
	end := k + 1 + m
	if m == 0 || end >= len(text) || text[end] != '\n' {
		return graph.Edge{}, 0
	}
	return graph.Edge{U: from, V: to}, end + 1
}

// leadingDigits reads up to nine digits.
func leadingDigits(text []byte) (id int32, digits int) {
	for digits < len(text) && digits < 9 {
		c := text[digits] - '0'
		if c > 9 {
			break
		}
		id = 10*id + int32(c)
		digits++
	}
	return id, digits
}

// numbers says how the numbers of a line are written.
type numbers struct {
	sep     byte
	column  int  // of the first number, from 1
	missing bool // a field may be NaN, or empty, which stands for NaN
}

// parseFloats reads a line of finite numbers and returns how many there are. It stores
// the first len(row) of them in row.
func parseFloats(b *lines, line []byte, n numbers, row []float32) (int, error) {
	count := 0
	for {
		cut := bytes.IndexByte(line, n.sep)
		field := line
		if cut >= 0 {
			field = line[:cut]
		}
		text := unquoted(bytes.TrimSpace(field))
		// The compiler allocates no string here.
		v, err := strconv.ParseFloat(string(text), 32)
		if n.missing && len(text) == 0 {
			v, err = math.NaN(), nil
		}
		if err != nil || v-v != 0 && !n.missing { // NaN or infinite
			return 0, b.fail("column %d, %s, is not a finite number", n.column+count, quoteField(field))
		}
		if count < len(row) {
			row[count] = float32(v)
		}
		count++
		if cut < 0 {
			return count, nil
		}
		line = line[cut+1:]
	}
}

// maxInflate is the greatest ratio of text to gzip.
const maxInflate = 1032

// plausible reports a number of values that a file cannot hold: each takes a digit and
// a separator. So a damaged size cannot claim all memory.
func plausible(path string, values float64) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	if 2*values > maxInflate*float64(info.Size())+1024 {
		return fmt.Errorf("datasets: %s: %d bytes cannot hold the %.0f values expected", path, info.Size(), values)
	}
	return nil
}

// countFields counts the fields of the first line, which separates them by commas.
func countFields(path string) (int, error) {
	text, err := openText(path)
	if err != nil {
		return 0, err
	}
	defer text.Close()
	var first []byte
	err = cutLines(text, path, func(b lines) error {
		first, _ = b.next()
		return errEnoughRead
	})
	if err != nil && err != errEnoughRead {
		return 0, err
	}
	if len(first) == 0 {
		return 0, fmt.Errorf("datasets: %s: %w", path, errNoData)
	}
	return 1 + bytes.Count(first, []byte{','}), nil
}
