package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Block is a block of whole lines.
type Block struct {
	Path   string
	Number int64 // of the next line, from 1
	Data   []byte
}

// Next cuts off and returns the first line, without its end. The line's number is
// b.Number−1 afterwards.
func (b *Block) Next() (line []byte, found bool) {
	if len(b.Data) == 0 {
		return nil, false
	}
	end := bytes.IndexByte(b.Data, '\n')
	if end < 0 {
		line, b.Data = b.Data, nil
	} else {
		line, b.Data = b.Data[:end], b.Data[end+1:]
	}
	b.Number++
	return bytes.TrimSuffix(line, []byte{'\r'}), true
}

// MostFaults is the number of faults of a file that one error reports.
const MostFaults = 5

// Faults is an error that reports the first faults of a file, with their lines.
type Faults struct {
	Path string
	list []fault
}

type fault struct {
	line int64
	text string
}

// Add adds a fault. more says whether the error takes more of them.
func (f *Faults) Add(line int64, format string, args ...any) (more bool) {
	if len(f.list) <= MostFaults {
		f.list = append(f.list, fault{line, fmt.Sprintf(format, args...)})
	}
	return len(f.list) <= MostFaults
}

// Err returns f, or nil if there are no faults.
func (f *Faults) Err() error {
	if len(f.list) == 0 {
		return nil
	}
	return f
}

func (f *Faults) Error() string {
	var text strings.Builder
	for k, fault := range f.list {
		switch {
		case k == 0:
			fmt.Fprintf(&text, "datasets: %s:%d: ", f.Path, fault.line)
		case k < MostFaults:
			fmt.Fprintf(&text, "; line %d: ", fault.line)
		default:
			return text.String() + "; and more"
		}
		text.WriteString(fault.text)
	}
	return text.String()
}

// Quote quotes a part of a file for a one-line error.
func Quote[T ~[]byte | ~string](cell T) string {
	const most = 40
	if len(cell) > most {
		return strconv.Quote(string(cell[:most])) + "…"
	}
	return strconv.Quote(string(cell))
}

// Lines calls parse on all blocks of the file, concurrently, and consume on the results, in
// order and one at a time; consume may be nil. It stops at the first error in the order of
// the file. An error of type *Faults stops it when there are more than MostFaults. parse may
// keep its block.
//
//	file ─▶ unpack, cut ─▶ parse ┬▶ consume, in order
//	                    ─▶ parse ┘
//
// A large packed file takes as long as one goroutine needs to unpack it.
func Lines[T any](ctx context.Context, f *File, parse func(b Block) (T, error), consume func(T) error) error {
	type result struct {
		value T
		err   error
	}
	group, ctx := errgroup.WithContext(ctx)
	order := make(chan chan result, runtime.GOMAXPROCS(0)) // bounds the number of blocks in memory
	group.Go(func() error {
		defer close(order)
		for {
			block, err := f.next()
			if err == io.EOF {
				return nil
			}
			next := make(chan result, 1)
			select {
			case order <- next:
			case <-ctx.Done():
				return ctx.Err()
			}
			if err != nil { // an error in a line before comes first
				next <- result{err: err}
				return nil
			}
			group.Go(func() error {
				value, err := parse(block)
				next <- result{value, err}
				return nil
			})
		}
	})
	faults := &Faults{Path: f.Path}
	group.Go(func() error {
		for next := range order {
			select {
			case r := <-next:
				found := new(Faults)
				switch {
				case errors.As(r.err, &found):
					for _, x := range found.list {
						if !faults.Add(x.line, "%s", x.text) {
							return faults
						}
					}
				case r.err != nil && faults.Err() == nil:
					return r.err
				case faults.Err() != nil || consume == nil:
				default:
					if err := consume(r.value); err != nil {
						return err
					}
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return faults.Err()
	})
	return group.Wait()
}
