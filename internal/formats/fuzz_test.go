package formats

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzPickle wants an error, or an object, and no panic. Its corpus holds the files
// of a small Planetoid data set.
func FuzzPickle(f *testing.F) {
	f.Add([]byte("}(]q\x00h\x00a]u."))
	f.Add([]byte("}(K\x01u."))
	f.Add([]byte("\x80\x02L" + strings.Repeat("9", 200) + "L\n."))
	f.Add([]byte("(lp0\nI1\na(dp1\nS'a'\nI2\ns."))
	f.Fuzz(func(t *testing.T, content []byte) {
		if _, err := unpickle(context.Background(), content); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
	})
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
		err := readLines(context.Background(), path, func(b lines) ([][]byte, error) {
			var part [][]byte
			for {
				line, found := b.next()
				if !found {
					return part, nil
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
