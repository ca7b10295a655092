package formats

import (
	"bytes"
	"context"
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
	"github.com/gcn-layerwise/gcn/internal/table"
)

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
			line := rapid.SampledFrom([]string{from + "," + to, from + "," + to, from + "," + to, "", from + ",", from + "," + to + ","}).Draw(t, "line")
			text.WriteString(line)
			if rapid.Bool().Draw(t, "carriage return") {
				text.WriteString("\r")
			}
			if k < number-1 || rapid.Bool().Draw(t, "last line ended") {
				text.WriteString("\n")
			}
			if line == "" || bad {
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
		f := &table.File{Path: "f", Sep: ',', Width: 2}
		rows := f.Rows(table.Block{Number: 1, Data: []byte(text.String())})
		got := arcLines(rows, n)
		err := rows.Faults.Err()
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
		_, err := readSet(context.Background(), "", Options{}, func(r *reader) {
			try(table.EachRows(r.ctx, r.plain(path), func(t *table.Rows) []graph.Edge { return arcLines(t, 2_449_029) }, func([]graph.Edge) error { return nil }))
		})
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

// BenchmarkEdgeList reads edge lists of 400,000 nodes, whose ids are numbers or texts.
func BenchmarkEdgeList(b *testing.B) {
	for _, format := range []string{"%d,%d\n", "user%d,user%d\n"} {
		random := rand.New(rand.NewPCG(1, 1))
		var text strings.Builder
		const edges, nodes = 2_000_000, 400_000
		for k := range edges {
			fmt.Fprintf(&text, format, k%nodes, random.IntN(nodes))
		}
		path := filepath.Join(b.TempDir(), "edges.csv")
		write(b, path, []byte(text.String()))
		b.Run(format[:4], func(b *testing.B) {
			for b.Loop() {
				if _, err := EdgeList(context.Background(), path, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(edges)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Medges/s")
		})
	}
}
