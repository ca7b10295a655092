package datasets

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gcn-layerwise/gcn/graph"
)

// petFiles are a table of nodes with the given columns, and one of edges, which are a ring.
func petFiles(columns []string, rows [][]string) map[string]string {
	var edges, nodes strings.Builder
	edges.WriteString("source,target\n")
	nodes.WriteString(strings.Join(columns, ",") + "\n")
	for k, row := range rows {
		fmt.Fprintf(&edges, "%s,%s\n", row[0], rows[(k+1)%len(rows)][0])
		nodes.WriteString(strings.Join(row, ",") + "\n")
	}
	return map[string]string{"edges.csv": edges.String(), "nodes.csv": nodes.String()}
}

const petKeys = "?labels=%[1]s/nodes.csv&labels-columns=id,kind&features=%[1]s/nodes.csv"

var (
	petColumns = []string{"id", "colour", "grams", "legs", "kind"}
	petRows    = [][]string{
		{"a", "red", "10", "4", "cat"}, {"b", "green", "30", "2", "bird"}, {"c", "red", "", "4", "cat"},
		{"d", "blue", "50", "2", "bird"}, {"e", "green", "20", "4", "cat"}, {"f", "red", "40", "2", "bird"},
	}
)

// petSpec writes tables and returns their SPEC.
func petSpec(t *testing.T, columns []string, rows [][]string, keys string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range petFiles(columns, rows) {
		if err := writeErr(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	return "edges:" + dir + "/edges.csv" + fmt.Sprintf(keys, dir)
}

// permuted returns the rows with the columns in another order.
func permuted(rows [][]string, order ...int) [][]string {
	var all [][]string
	for _, row := range rows {
		var other []string
		for _, k := range order {
			other = append(other, row[k])
		}
		all = append(all, other)
	}
	return all
}

// fitted opens data by a schema, which went through JSON.
func fitted(t *testing.T, spec string, s *Schema) (*Data, error) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	read := new(Schema)
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return Open(context.Background(), spec, Options{Schema: read, Unlabelled: true})
}

// mustFit is fitted without an error.
func mustFit(t *testing.T, spec string, s *Schema) *Data {
	t.Helper()
	d, err := fitted(t, spec, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// sameNodes compares each node of other with the node of d that has its name: features and class.
func sameNodes(t *testing.T, d, other *Data) {
	t.Helper()
	for i := range other.Nodes() {
		v, err := d.Node(other.NodeNames.At(i))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := other.Features.Row(i), d.Features.Row(int(v)); !slices.Equal(got, want) {
			t.Errorf("node %s: features %v, want %v", other.NodeNames.At(i), got, want)
		}
		if got, want := other.Labels.Class[i], d.Labels.Class[v]; got >= 0 && got != want {
			t.Errorf("node %s: class %d, want %d", other.NodeNames.At(i), got, want)
		}
	}
}

// Tables in another order of rows, columns and classes, a part of them, and tables without the
// label have the features and classes of the model's data.
func TestSchemaMapsTables(t *testing.T) {
	spec := petSpec(t, petColumns, petRows, petKeys+"&split=4/1/1")
	d := open(t, spec)
	s := d.Schema()
	if again := mustFit(t, spec, s); !cmp.Equal(again.Features, d.Features) || !cmp.Equal(again.Labels, d.Labels) || !cmp.Equal(again.Split, d.Split) {
		t.Error("the model's own data are others by their schema")
	}
	reversed := slices.Clone(petRows)
	slices.Reverse(reversed)
	sameNodes(t, d, mustFit(t, petSpec(t, []string{"id", "legs", "kind", "grams", "colour"}, permuted(reversed, 0, 3, 4, 2, 1), petKeys+"&split=1/1/1"), s))

	part := mustFit(t, petSpec(t, petColumns, petRows[1:4], petKeys+"&split=1/1/1"), s) // no green
	sameNodes(t, d, part)

	without := mustFit(t, petSpec(t, []string{"id", "grams", "colour", "legs", "age"}, permuted(petRows, 0, 2, 1, 3, 3), "?features=%[1]s/nodes.csv"), s)
	if !without.unlabelled || without.Labels.Classes != 2 || !slices.Equal(without.Labels.Names, d.Labels.Names) || without.Labels.Class[0] != -1 {
		t.Errorf("without labels: %+v", without.Labels)
	}
	sameNodes(t, d, without)

	store := filepath.Join(t.TempDir(), "pets.safetensors")
	if err := WriteStore(context.Background(), store, d); err != nil {
		t.Fatal(err)
	}
	if stored := mustFit(t, "store:"+store, s); !cmp.Equal(stored.Schema(), s) {
		t.Errorf("a store has the schema %+v, want %+v", stored.Schema(), s)
	}

	odd := slices.Clone(petRows)
	odd[0], odd[1] = []string{"a", "pink", "10", "4", "cat"}, []string{"b", "green", "30", "2", "fish"}
	other := mustFit(t, petSpec(t, petColumns, odd, petKeys+"&split=1/1/1"), s)
	notes := strings.Join(other.Notes, "\n")
	if !strings.Contains(notes, "1 rows with another") || !strings.Contains(notes, "1 nodes of class fish are not scored") || other.Labels.Class[1] != -1 {
		t.Errorf("a new value and a new class: %v, %v", other.Labels.Class, notes)
	}
	for _, nodes := range other.Split.parts() {
		if slices.Contains(*nodes, 1) {
			t.Error("a node of an unknown class is in the split")
		}
	}
}

// What does not fit is an error that names it.
func TestSchemaRefuses(t *testing.T) {
	d := open(t, petSpec(t, petColumns, petRows, petKeys+"&split=4/1/1"))
	array, folder := made(t, 20, 3), t.TempDir()
	writeFiles(t, folder, npyFiles(t, array))
	scaled := open(t, "npy:"+folder+"?normalize=standardize")
	tables := d.Schema()
	refused := func(spec string, s *Schema, want string) {
		t.Helper()
		_, err := fitted(t, spec, s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", spec, err, want)
		}
	}
	refused(petSpec(t, []string{"id", "colour", "weight", "legs", "kind"}, petRows, petKeys), tables, `missing here: "grams"`)
	text := slices.Clone(petRows)
	text[3] = []string{"d", "blue", "heavy", "2", "bird"}
	refused(petSpec(t, petColumns, text, petKeys), tables, `nodes.csv:5: column 3 (grams), node "d": "heavy" is not a finite number`)
	refused(petSpec(t, petColumns, petRows, "?labels=%[1]s/nodes.csv&labels-columns=id,legs&features=%[1]s/nodes.csv&split=1/1/1"), tables, `column "legs" is a feature of the run, and the label here`)
	renamed := permuted(petRows, 0, 1, 2, 3, 3)
	refused(petSpec(t, petColumns, renamed, petKeys+"&split=1/1/1"), tables, `lack the model's "bird", "cat"`)
	refused("npy:"+folder, tables, "the features are without names")
	refused(petSpec(t, petColumns, petRows, petKeys+"&normalize=none"), tables, "normalize=none, and the model's data had normalize=standardize")
	refused(petSpec(t, petColumns, petRows, petKeys), array.Schema(), "the model's are without names")

	narrow := made(t, 21, 3)
	narrow.Features = &graph.Features{Rows: 21, Cols: 3, Data: narrow.Features.Data[:63]}
	other := t.TempDir()
	writeFiles(t, other, npyFiles(t, narrow))
	refused("npy:"+other, array.Schema(), fmt.Sprintf("%d features, and the model's data have %d", narrow.Features.Cols, array.Features.Cols))

	if again := mustFit(t, "npy:"+folder, scaled.Schema()); !cmp.Equal(again.Features, scaled.Features) {
		t.Error("an array is not scaled as the model's")
	}
	store := filepath.Join(t.TempDir(), "part.safetensors")
	if err := WriteStore(context.Background(), store, open(t, petSpec(t, petColumns, petRows[1:], petKeys+"&split=3/1/1"))); err != nil {
		t.Fatal(err)
	}
	refused("store:"+store, tables, `column "`)
}

// ReadFeatures scales the values of a table's row or an array's row as Open did.
func TestReadFeaturesEncodes(t *testing.T) {
	d := open(t, petSpec(t, petColumns, petRows, petKeys+"&split=4/1/1"))
	for i, row := range petRows {
		grams := row[2]
		if grams == "" {
			grams = "null"
		}
		text := fmt.Sprintf(`{"legs": %s, "colour": %q, "grams": %s}`, row[3], row[1], grams)
		x, err := d.ReadFeatures([]byte(text))
		if err != nil || !slices.Equal(x, d.Features.Row(i)) {
			t.Errorf("%s: %v, %v; want %v", text, x, err, d.Features.Row(i))
		}
	}
	folder := t.TempDir()
	array := made(t, 20, 3)
	writeFiles(t, folder, npyFiles(t, array))
	for _, how := range []string{"none", "row", "standardize"} {
		scaled := open(t, "npy:"+folder+"?normalize="+how)
		text, err := json.Marshal(array.Features.Row(7))
		if err != nil {
			t.Fatal(err)
		}
		if x, err := scaled.ReadFeatures(text); err != nil || !slices.Equal(x, scaled.Features.Row(7)) {
			t.Errorf("normalize=%s: %v, %v; want %v", how, x, err, scaled.Features.Row(7))
		}
	}
	for text, want := range map[string]string{
		`[1, 2, 3]`:           `by their names: "colour", "grams", "legs"`,
		`{"tail": 1}`:         `no feature "tail"`,
		`{"grams": "heavy"}`:  `feature "grams": "heavy" is no number`,
		`{"colour": ["red"]}`: `feature "colour": want a text`,
		`{"grams": 1e99}`:     "beyond float32",
	} {
		if _, err := d.ReadFeatures([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Tasks are found by their names: in another order, with another one beside them, or not at all.
func TestSchemaMapsTasks(t *testing.T) {
	columns := []string{"id", "grams", "sweet", "green", "old"}
	rows := [][]string{{"a", "1", "1", "0", "1"}, {"b", "2", "0", "0", "1"}, {"c", "3", "1", "1", "0"}, {"d", "4", "1", "0", "1"}, {"e", "5", "0", "1", "0"}, {"f", "6", "1", "1", "0"}}
	keys := "?labels=%[1]s/nodes.csv&features=%[1]s/nodes.csv&features-columns=id,grams&split=4/1/1&labels-columns=id,"
	d := open(t, petSpec(t, columns, rows, keys+"sweet,green"))
	if d.Labels.Tasks != 2 {
		t.Fatalf("%d tasks", d.Labels.Tasks)
	}
	for _, order := range []string{"sweet,green", "green,sweet", "old,green,sweet"} {
		other := mustFit(t, petSpec(t, columns, rows, keys+order), d.Schema())
		if !cmp.Equal(other.Labels, d.Labels) {
			t.Errorf("%s: %+v, want %+v", order, other.Labels, d.Labels)
		}
	}
	for _, order := range []string{"green,old", "old"} {
		if _, err := fitted(t, petSpec(t, columns, rows, keys+order), d.Schema()); err == nil || !strings.Contains(err.Error(), `"sweet"`) {
			t.Errorf("%s: %v", order, err)
		}
	}
}
