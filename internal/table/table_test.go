package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// rowsOf reads a table: its first line, then the rows after it.
func rowsOf(path, prefer, comments string) (rows []string, err error) {
	f, err := Open(path, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Scan(prefer, comments); err != nil {
		return nil, err
	} else if f.First == nil {
		return nil, errors.New("it holds no data")
	}
	rows = append(rows, text(f.First))
	err = EachRows(context.Background(), f, func(r *Rows) (part []string) {
		for r.NextRow() {
			part = append(part, text(r.Cells))
		}
		return part
	}, func(part []string) error {
		rows = append(rows, part...)
		return nil
	})
	return rows, err
}

func text(cells [][]byte) string { return string(bytes.Join(cells, []byte{'|'})) }

// TestRows reads tables of all separators, with quotes, comments, line ends and byte-order marks.
func TestRows(t *testing.T) {
	for name, c := range map[string]struct {
		content, prefer, comments string
		want                      []string
	}{
		"comma":              {"a,b\nc,d\n", "", "", []string{"a|b", "c|d"}},
		"tab, blanks":        {" a\t b c \nd\t\n", "", "", []string{"a|b c", "d|"}},
		"semicolon, decimal": {"a;1,5\nb;2,5\n", "", "", []string{"a|1,5", "b|2,5"}},
		"space":              {"a  b\nc d \n", "", "", []string{"a|b", "c|d"}},
		"one column":         {"a b\nc\nd e f\n", "", "", []string{"a b", "c", "d e f"}},
		"prefer":             {"a b,c\nd e,f\n", "space", "", []string{"a|b,c", "d|e,f"}},
		"CRLF, mark":         {"\ufeffa,b\r\nc,d\r\n", "", "", []string{"a|b", "c|d"}},
		"quotes":             {"\"a,b\",\"c \"\"d\"\"\"\n\"e\", \"f\"\ng\"h,i\n", "", "", []string{`a,b|c "d"`, "e|f", `g"h|i`}},
		"networkx":           {"a b {}\nb c {'weight': 2, 'x': 'y, z'}\n", "", "", []string{"a|b|{}", "b|c|{'weight': 2, 'x': 'y, z'}"}},
		"empty lines":        {"\n\na,b\n\nc,d\n\n", "", "", []string{"a|b", "c|d"}},
		"comments":           {"# x\n#\n% 3 3 3\n#a b c\na\tb\nc\td\n", "", "", []string{"a|b", "c|d"}},
		"comments=1":         {"#x,y\na,b\n# so\n#c,d\ne,f\n", "", "1", []string{"a|b", "e|f"}},
		"comments=0":         {"#x,y\na,b\n# so,d\n", "", "0", []string{"#x|y", "a|b", "# so|d"}},
		"names with a sign":  {"a,#b\n#b,c\n%d,a\n", "", "", []string{"a|#b", "#b|c", "%d|a"}},
	} {
		path := filepath.Join(t.TempDir(), "t")
		for _, packed := range [][]byte{[]byte(c.content), zipped(t, c.content), compressed(t, c.content)} {
			write(t, path, packed)
			rows, err := rowsOf(path, c.prefer, c.comments)
			if err != nil || !cmp.Equal(rows, c.want) {
				t.Errorf("%s: %q, %v, want %q", name, rows, err, c.want)
			}
		}
	}
}

// TestFaults checks that one error names up to five lines, and asks what is a comment.
func TestFaults(t *testing.T) {
	bad := "a,b\n"
	for k := range 7 {
		bad += fmt.Sprintf("c,d\nx%d\n", k)
	}
	for content, want := range map[string]string{
		bad:                        `t:3: "x0" has 1 fields, and the first line of data has 2; line 5: "x1" has 1 fields, and the first line of data has 2; line 7: "x2" has 1 fields, and the first line of data has 2; line 9: "x3" has 1 fields, and the first line of data has 2; line 11: "x4" has 1 fields, and the first line of data has 2; and more`,
		"a,b\nc\n":                 `t:2: "c" has 1 fields, and the first line of data has 2`,
		"a,b\n\"c\n":               "line breaks within quotes are not read",
		"0 1 2\n1 2\n":             "nx.read_adjlist(",
		"#a,b\nc,d\n":              `t:1: "#a,b" is a comment, or data: say comments=1 or comments=0`,
		"a,b\n# c,d\n%\te,f\n":     `t:2: "# c,d" is a comment, or data: say comments=1 or comments=0; line 3: `,
		"":                         "it holds no data",
		"# a\n\n":                  "it holds no data",
		"a":                        "",
		"\xff\xfea\x00":            "UTF-16",
		strings.Repeat("# x\n", 9): "no data",
	} {
		path := filepath.Join(t.TempDir(), "t")
		write(t, path, []byte(content))
		_, err := rowsOf(path, "", "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%.40q: error %v, want %q", content, err, want)
		}
	}
}

// TestForeign checks that files of other formats are named, with the lines that convert them.
func TestForeign(t *testing.T) {
	for name, c := range map[string][2]string{
		"GraphML":        {`<?xml version="1.0"?>` + "\n<graphml xmlns=\"x\">\n", "nx.read_graphml("},
		"GEXF":           {"<?xml version='1.0'?>\n<gexf version='1.2'>\n", "nx.read_gexf("},
		"GML":            {"graph [\n  node [\n", "nx.read_gml("},
		"GML, Creator":   {"Creator \"igraph\"\nVersion 1\ngraph\n[\n", "nx.read_gml("},
		"node-link JSON": {`{"directed": false, "nodes": [{"id": 0}], "links": []}`, "nx.node_link_graph("},
		"adjacency JSON": {`{"directed": false, "nodes": [{"id": 0}], "adjacency": []}`, "nx.adjacency_graph("},
		"JSON":           {` [{"source": 1}]`, "json.load("},
		"HDF5":           {"\x89HDF\r\n\x1a\n", "pd.read_hdf("},
		"zip":            {"PK\x03\x04aaaa", "zipfile"},
		"NumPy archive":  {"PK\x03\x04aaaaindptr.npy", "sp.load_npz("},
		"NumPy array":    {"\x93NUMPY\x01\x00", "array.npy"},
		"MatrixMarket":   {"%%MatrixMarket matrix coordinate\n3 3 3\n", "mmread("},
		"xz":             {"\xfd7zXZ\x00", "lzma"},
	} {
		path := filepath.Join(t.TempDir(), "t")
		write(t, path, []byte(c[0]))
		if _, err := rowsOf(path, "", ""); err == nil || !strings.Contains(err.Error(), "not read here") || !strings.Contains(err.Error(), c[1]) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "t")
	for content, place := range map[string]string{"a,caf\xe9\nb,c\n": ":1: ", "a,b\nb,c\nros\xe9,\xff\n": ":3: "} {
		write(t, path, []byte(content))
		if _, err := rowsOf(path, "", ""); err == nil || !strings.Contains(err.Error(), path+place) || !strings.Contains(err.Error(), `encoding="latin-1"`) {
			t.Errorf("%q: %v", content, err)
		}
	}
	write(t, path, []byte("# caf\xe9\na,b\n"))
	if rows, err := rowsOf(path, "", ""); err != nil || len(rows) != 1 {
		t.Errorf("a comment that is not UTF-8: %q, %v", rows, err)
	}
	write(t, path, []byte("PAR1"))
	if err := each(path, func(*Rows) int { return 0 }, func(int) error { return nil }); err == nil || !strings.Contains(err.Error(), "pd.read_parquet(") {
		t.Errorf("Parquet where lines are read: %v", err)
	}
	write(t, path, []byte("[x],{y}\n{y},z\n"))
	if rows, err := rowsOf(path, "", ""); err != nil || len(rows) != 2 {
		t.Errorf("names in brackets: %q, %v", rows, err)
	}
}

// record is a row of the Parquet files of the tests.
type record struct {
	Name   string   `parquet:"name"`
	Team   *string  `parquet:"team,optional"`
	Age    *int32   `parquet:"age,optional,dict"`
	Size   float64  `parquet:"size"`
	Small  float32  `parquet:"small"`
	Member bool     `parquet:"member"`
	Key    uint64   `parquet:"key"`
	Tags   []string `parquet:"tags,list"`
}

func records(n int) []record {
	all := make([]record, n)
	for k := range all {
		team, age := "team "+string(rune('a'+k%3)), int32(k-1)
		all[k] = record{Name: fmt.Sprintf("n,%d\n", k), Size: float64(k) / 3, Small: 0.1, Member: k%2 == 0, Key: math.MaxUint64 - uint64(k), Tags: []string{"x", "y"}}
		if k%4 != 0 {
			all[k].Team, all[k].Age = &team, &age
		}
	}
	all[0].Size = math.NaN()
	return all
}

func writeParquet(t testing.TB, path string, rows []record, options ...parquet.WriterOption) {
	t.Helper()
	if err := parquet.WriteFile(path, rows, options...); err != nil {
		t.Fatal(err)
	}
}

// TestParquet reads values of all kinds, several groups of rows, and null.
func TestParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	rows := records(20_000)
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Gzip)} {
		writeParquet(t, path, rows, codec, parquet.MaxRowsPerRowGroup(7000))
		got, err := rowsOf(path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(rows)+1 || got[0] != "name|team|age|size|small|member|key" {
			t.Fatalf("%d rows, the first is %q", len(got), got[0])
		}
		for k, want := range map[int]string{0: "n,0 |||NaN|0.1|True|18446744073709551615", 1: "n,1 |team b|0|0.3333333333333333|0.1|False|18446744073709551614", 15_002: "n,15002 |team c|15001|5000.666666666667|0.1|True|18446744073709536613"} {
			if got[k+1] != want {
				t.Errorf("row %d is %q, want %q", k, got[k+1], want)
			}
		}
	}
}

// FuzzParquet damages a Parquet file. An error is wanted, or rows, and no panic.
func FuzzParquet(f *testing.F) {
	path := filepath.Join(f.TempDir(), "t.parquet")
	for _, n := range []int{1, 9} {
		writeParquet(f, path, records(n), parquet.Compression(&parquet.Snappy))
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, uint16(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, content []byte, at uint16, flip byte) {
		if len(content) > 0 {
			content = bytes.Clone(content)
			content[int(at)%len(content)] ^= flip
		}
		path := filepath.Join(t.TempDir(), "t.parquet")
		write(t, path, content)
		if _, err := rowsOf(path, "", ""); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
	})
}

// FuzzRows reads any text as a table: each row has as many cells as the first line.
func FuzzRows(f *testing.F) {
	for _, text := range []string{"a,b\nc,d\n", "\"a\"\"b\";c\n", "# x\n#y z\na\tb\n", "a b {'w': 1}\n", "PAR1", "{\"nodes\": 1}", "\x28\xb5\x2f\xfd", "\x1f\x8b"} {
		f.Add([]byte(text), "", "")
	}
	f.Fuzz(func(t *testing.T, content []byte, prefer, comments string) {
		path := filepath.Join(t.TempDir(), "t")
		write(t, path, content)
		file, err := Open(path, true)
		if err != nil {
			return
		}
		defer file.Close()
		if file.Parquet || file.Scan(prefer, comments) != nil {
			return
		}
		err = EachRows(context.Background(), file, func(r *Rows) int {
			for r.NextRow() {
				if len(r.Cells) != len(file.First) || r.Line <= file.Line {
					t.Errorf("line %d: %q", r.Line, r.Cells)
				}
			}
			return 0
		}, func(int) error { return nil })
		if faults := new(Faults); err != nil && errors.As(err, &faults) && strings.Count(err.Error(), "; line ") >= MostFaults {
			t.Errorf("error %q", err)
		}
	})
}
