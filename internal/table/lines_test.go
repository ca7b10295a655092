package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// eachOf opens a file of text and calls EachRows.
func eachOf[T any](ctx context.Context, path string, parse func(r *Rows) T, consume func(T) error) error {
	f, err := Open(path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	return EachRows(ctx, f, parse, consume)
}

func each[T any](path string, parse func(r *Rows) T, consume func(T) error) error {
	return eachOf(context.Background(), path, parse, consume)
}

// numbered collects every line with its number.
func numbered(t *testing.T, path string) (texts []string, err error) {
	t.Helper()
	type line struct {
		number int64
		text   string
	}
	next := int64(1)
	err = each(path, func(r *Rows) (part []line) {
		for {
			text, found := r.Next()
			if !found {
				return part
			}
			part = append(part, line{r.Number - 1, string(text)})
		}
	}, func(part []line) error {
		for _, l := range part {
			if l.number != next {
				return fmt.Errorf("line %d is numbered %d", next, l.number)
			}
			next++
			texts = append(texts, l.text)
		}
		return nil
	})
	return texts, err
}

// Lines come whole, in order and with their numbers, over many blocks, and also if a
// line is longer than a block.
func TestLinesOfManyBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var want []string
	for k := range 60_000 {
		length := random.IntN(150)
		if k == 20_000 {
			length = 5*blockSize/2 + 17
		}
		want = append(want, strings.Repeat(string(rune('a'+k%26)), length))
	}
	text := strings.Join(want, "\n")
	for _, c := range []struct{ name, content string }{{"plain", text}, {"ended", text + "\n"}, {"zipped", string(zipped(t, text))}, {"zstd", string(compressed(t, text))}} {
		path := filepath.Join(t.TempDir(), c.name)
		write(t, path, []byte(c.content))
		got, err := numbered(t, path)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines, want %d", c.name, len(got), len(want))
		}
		for k := range want {
			if got[k] != want[k] {
				t.Fatalf("%s: line %d has %d bytes, want %d", c.name, k+1, len(got[k]), len(want[k]))
			}
		}
	}
}

func TestLineTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	write(t, path, append([]byte("a\nb\n"), bytes.Repeat([]byte{'x'}, longestLine+2*blockSize)...))
	if _, err := numbered(t, path); err == nil || !strings.Contains(err.Error(), "long:3: line of more than") {
		t.Errorf("got %v", err)
	}
}

// The first error of consume stops reading.
func TestLinesStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	write(t, path, bytes.Repeat([]byte("line\n"), 3*blockSize))
	stop := errors.New("stop")
	calls := 0
	err := each(path, func(*Rows) int { return 0 }, func(int) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("consume's error: %v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = eachOf(ctx, path, func(*Rows) int { cancel(); return 0 }, func(int) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzLines compares the parallel reader with splitting the text at once.
func FuzzLines(f *testing.F) {
	f.Add([]byte("1,2\n3,4\r\n\n5,6"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(path, append([]byte("x"), text...), 0o600); err != nil {
			t.Fatal(err)
		}
		var got [][]byte
		err := each(path, func(r *Rows) (part [][]byte) {
			for {
				line, found := r.Next()
				if !found {
					return part
				}
				part = append(part, bytes.Clone(line))
			}
		}, func(part [][]byte) error {
			got = append(got, part...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Split(append([]byte("x"), text...), []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		for k := range want {
			want[k] = bytes.TrimSuffix(want[k], []byte("\r"))
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for k := range want {
			if !bytes.Equal(got[k], want[k]) {
				t.Errorf("line %d is %q, want %q", k+1, got[k], want[k])
			}
		}
	})
}

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
