package formats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
)

// numbered collects every line with its number.
func numbered(t *testing.T, path string) (texts []string, err error) {
	t.Helper()
	type line struct {
		number int64
		text   string
	}
	next := int64(1)
	err = readLines(context.Background(), path, func(b lines) ([]line, error) {
		var part []line
		for {
			text, found := b.next()
			if !found {
				return part, nil
			}
			part = append(part, line{b.number - 1, string(text)})
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
			length = 5*textBlock/2 + 17
		}
		want = append(want, strings.Repeat(string(rune('a'+k%26)), length))
	}
	text := strings.Join(want, "\n")
	for _, c := range []struct{ name, content string }{{"plain", text}, {"ended", text + "\n"}, {"zipped", string(zipped(t, text))}} {
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
	write(t, path, append([]byte("a\nb\n"), bytes.Repeat([]byte{'x'}, longestLine+2*textBlock)...))
	if _, err := numbered(t, path); err == nil || !strings.Contains(err.Error(), "long:3: line of more than") {
		t.Errorf("got %v", err)
	}
}

// The first error of parse or consume stops reading.
func TestLinesStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	write(t, path, bytes.Repeat([]byte("line\n"), 3*textBlock))
	stop := errors.New("stop")
	if err := readLines(context.Background(), path, func(lines) (int, error) { return 0, stop }, nil); !errors.Is(err, stop) {
		t.Errorf("parse's error: %v", err)
	}
	calls := 0
	err := readLines(context.Background(), path, func(lines) (int, error) { return 0, nil }, func(int) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("consume's error: %v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = readLines(ctx, path, func(lines) (int, error) { cancel(); return 0, nil }, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestParseID(t *testing.T) {
	for text, want := range map[string]int32{"0": 0, "7": 7, "0012": 12, "2147483646": 1<<31 - 2} {
		if got, ok := parseID([]byte(text)); !ok || got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.0", " 1", "1 ", "2147483647", "99999999999", "x"} {
		if got, ok := parseID([]byte(text)); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

// TestParseArcs compares with splitting each line by itself.
func TestParseArcs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 1_000_000_000
		var text strings.Builder
		var want []graph.Edge
		bad := false
		ids := rapid.SampledFrom([]string{"0", "7", "00012", "999999999", "0000000003", "999999998", "1000000000", "2147483646", "2147483647", "99999999999", "", "-1", "x", "1.", " 1"})
		number := rapid.IntRange(0, 12).Draw(t, "lines")
		for k := range number {
			from, to := ids.Draw(t, "from"), ids.Draw(t, "to")
			if rapid.Bool().Draw(t, "usual") {
				from, to = "12345", "987654"
			}
			line := rapid.SampledFrom([]string{from + "," + to, from + "," + to, from + "," + to, "", "# " + from, from + ",", from + "," + to + ","}).Draw(t, "line")
			text.WriteString(line)
			if rapid.Bool().Draw(t, "carriage return") {
				text.WriteString("\r")
			}
			if k < number-1 || rapid.Bool().Draw(t, "last line ended") {
				text.WriteString("\n")
			}
			if line == "" || line[0] == '#' || bad {
				continue
			}
			fields := strings.Split(line, ",")
			if len(fields) != 2 {
				bad = true
				continue
			}
			u, ok1 := parseID([]byte(strings.TrimSpace(fields[0])))
			v, ok2 := parseID([]byte(strings.TrimSpace(fields[1])))
			if bad = !ok1 || !ok2 || u >= n || v >= n; !bad {
				want = append(want, graph.Edge{U: u, V: v})
			}
		}
		got, err := parseArcs(lines{path: "f", number: 1, data: []byte(text.String())}, ',', n)
		if (err != nil) != bad {
			t.Fatalf("%q: error %v, want one: %v", text.String(), err, bad)
		}
		if err == nil && !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", text.String(), got, want)
		}
	})
}

func BenchmarkEdgeLines(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	const edges = 1_000_000
	for range edges {
		fmt.Fprintf(&text, "%d,%d\n", random.IntN(2_449_029), random.IntN(2_449_029))
	}
	path := filepath.Join(b.TempDir(), "edge.csv.gz")
	write(b, path, zipped(b, text.String()))
	b.ResetTimer()
	for b.Loop() {
		err := readLines(context.Background(), path, func(block lines) ([]graph.Edge, error) { return parseArcs(block, ',', 2_449_029) }, nil)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(edges)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Medges/s")
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
