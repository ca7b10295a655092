package table

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
)

// Block is a block of whole lines.
type Block struct {
	Number int64 // of the next line, from 1
	Data   []byte
}

// Next cuts off and returns the first line, without its end. The line's number is
// b.Number−1 afterwards.
func (b *Block) Next() (line []byte, found bool) {
	if len(b.Data) == 0 {
		return nil, false
	}
	line, b.Data, _ = bytes.Cut(b.Data, []byte{'\n'})
	b.Number++
	return bytes.TrimSuffix(line, []byte{'\r'}), true
}

// MostFaults is the number of faults of a file that one error reports.
const MostFaults = 5

// Faults is an error that reports the first faults of a file, with their lines.
type Faults struct {
	Path  string
	Hint  string // what to do, said once at the end
	texts []string
}

// Add adds a fault.
func (f *Faults) Add(line int64, format string, args ...any) {
	if len(f.texts) <= MostFaults {
		f.texts = append(f.texts, fmt.Sprintf("%d: ", line)+fmt.Sprintf(format, args...))
	}
}

// Err returns f, or nil if there are no faults.
func (f *Faults) Err() error {
	if len(f.texts) == 0 {
		return nil
	}
	return f
}

func (f *Faults) Error() string {
	shown := f.texts[:min(len(f.texts), MostFaults)]
	text := "datasets: " + f.Path + ":" + strings.Join(shown, "; line ")
	if len(f.texts) > MostFaults {
		text += "; and more"
	}
	return text + f.Hint
}

// EachRows calls parse on all blocks of rows of the file, concurrently, and consume on the
// results, in order, on the goroutine of the caller. It stops at the first error in the order of the file; the
// faults of rows stop it when there are more than MostFaults. parse may keep its block.
//
//	file ─▶ unpack, cut ─▶ parse ┬▶ consume, in order
//	                    ─▶ parse ┘
//
// A large packed file takes as long as one goroutine needs to unpack it.
func EachRows[T any](ctx context.Context, f *File, parse func(r *Rows) T, consume func(T) error) error {
	type result struct {
		value T
		rows  *Rows
		err   error
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	order := make(chan chan result, runtime.GOMAXPROCS(0)) // bounds the number of blocks in memory
	running.Go(func() {
		defer close(order)
		for {
			block, err := f.head, error(nil)
			if f.head = (Block{}); len(block.Data) == 0 {
				block, err = f.source()
			}
			if err == io.EOF {
				return
			}
			next := make(chan result, 1)
			select {
			case order <- next:
			case <-ctx.Done():
				return
			}
			if err != nil { // an error in a line before comes first
				next <- result{err: err}
				return
			}
			running.Go(func() {
				rows := f.Rows(block)
				next <- result{value: parse(rows), rows: rows}
			})
		}
	})
	faults := &Faults{Path: f.Path}
	for next := range order {
		r := <-next
		if err := cmp.Or(ctx.Err(), r.err); err != nil {
			return cmp.Or(faults.Err(), err)
		}
		f.Skipped += r.rows.skipped
		faults.Hint = cmp.Or(faults.Hint, r.rows.Faults.Hint)
		if faults.texts = append(faults.texts, r.rows.Faults.texts...); len(faults.texts) > MostFaults {
			return faults
		}
		if len(faults.texts) == 0 {
			if err := consume(r.value); err != nil {
				return err
			}
		}
	}
	return cmp.Or(faults.Err(), ctx.Err())
}
