package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/longtest"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/npy/npytest"
)

// shop describes files of 60 people: how they differ from the people of the zero value.
type shop struct {
	seed      uint64            // order of the people; 0: as they are
	columns   []string          // of features; nil: town, age, spent
	tasks     []string          // labels in columns of 0 and 1; nil: the column buys
	rename    map[string]string // texts in other words
	classes   []string          // of an array in another order; nil: sorted
	numbers   bool              // ids are numbers
	bare      bool              // without the labels
	older     bool              // half the people are 20 years older
	wide      bool              // the array has a further feature
	normalize string            // a key
}

// person returns the cells of a person by their columns.
func (s shop) person(i int) map[string]string {
	rng := rand.New(rand.NewPCG(5, uint64(i)))
	k := i % 3
	age, spent := 20+15*k+rng.IntN(12), fmt.Sprintf("%.2f", 100*rng.Float64()+1000*float64(k))
	p := map[string]string{
		"name": fmt.Sprintf("p%02d", i), "town": []string{"Bonn", "Aachen", "Köln", "Trier"}[(k+rng.IntN(2))%4], "age": strconv.Itoa(age), "spent": spent,
		"shoe": strconv.Itoa(36 + rng.IntN(9)), "buys": []string{"fruit", "greens", "meat"}[k], "fruit": "0", "greens": "0", "meat": "0", "sweets": strconv.Itoa(rng.IntN(2)),
	}
	p[p["buys"]], p[[]string{"fruit", "greens", "meat"}[rng.IntN(3)]] = "1", "1"
	if s.older && i >= 30 {
		p["age"] = strconv.Itoa(age + 20)
	}
	if s.numbers {
		p["name"] = strconv.Itoa(7 + 3*i)
	}
	for key, text := range p {
		if other, is := s.rename[text]; is {
			p[key] = other
		}
	}
	return p
}

func (s shop) neighbours(i int) []int {
	return []int{(i + 57) % 60, (i + 54) % 60, (i + 3) % 60, (i + 6) % 60}
}

// files writes the people as tables, as arrays, and as a store of each, and returns the SPECs.
func (s shop) files(t *testing.T, folder string) map[string]string {
	t.Helper()
	order := make([]int, 60)
	for i := range order {
		order[i] = i
	}
	if s.seed != 0 {
		rand.New(rand.NewPCG(s.seed, 1)).Shuffle(60, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	features, labels := s.columns, s.tasks
	if features == nil {
		features = []string{"town", "age", "spent"}
	}
	if labels == nil {
		labels = []string{"buys"}
	}
	columns := append([]string{"name"}, features...)
	if !s.bare {
		columns = append(columns, labels...)
	}
	if err := os.MkdirAll(folder+"/arrays", 0o777); err != nil {
		t.Fatal(err)
	}
	classes := s.classes
	if classes == nil {
		classes = []string{"fruit", "greens", "meat"}
		for k, name := range classes {
			if other, is := s.rename[name]; is {
				classes[k] = other
			}
		}
		slices.Sort(classes)
	}
	var edges, people bytes.Buffer
	edges.WriteString("from,to\n")
	rows := csv.NewWriter(&people)
	_ = rows.Write(columns)
	place := make([]int64, 60)
	for at, i := range order {
		place[i] = int64(at)
	}
	ptr, idx := []int64{0}, []int64{}
	var x, multi []float32
	var y []int64
	var names []string
	for _, i := range order {
		p := s.person(i)
		var row []string
		for _, column := range columns {
			row = append(row, p[column])
		}
		_ = rows.Write(row)
		for _, j := range s.neighbours(i) {
			fmt.Fprintf(&edges, "%s,%s\n", p["name"], s.person(j)["name"])
			idx = append(idx, place[j])
		}
		ptr, names = append(ptr, int64(len(idx))), append(names, p["name"])
		cells := []string{p["age"], p["spent"]}
		if s.wide {
			cells = append(cells, p["shoe"])
		}
		for _, cell := range cells {
			v, _ := strconv.ParseFloat(cell, 32)
			x = append(x, float32(v))
		}
		y = append(y, int64(slices.Index(classes, p["buys"])))
		for _, task := range s.tasks {
			multi = append(multi, float32(p[task][0]-'0'))
		}
	}
	rows.Flush()
	writeFile(t, folder+"/people.csv", people.Bytes())
	writeFile(t, folder+"/edges.csv", edges.Bytes())
	array := func(name string, write func(b *bytes.Buffer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		writeFile(t, folder+"/arrays/"+name, b.Bytes())
	}
	texts := func(name string, all []string) {
		writeFile(t, folder+"/arrays/"+name, npytest.Texts(all...))
	}
	array("indptr.npy", func(b *bytes.Buffer) error { return npy.Write(b, ptr, len(ptr)) })
	array("indices.npy", func(b *bytes.Buffer) error { return npy.Write(b, idx, len(idx)) })
	array("feat.npy", func(b *bytes.Buffer) error { return npy.Write(b, x, 60, len(x)/60) })
	texts("names.npy", names)
	label := "&labels=" + folder + "/people.csv&labels-columns=" + strings.Join(append([]string{"name"}, labels...), ",")
	parts := []string{"train", "valid", "train", "test"}
	for k, part := range parts {
		var nodes []string
		for _, i := range order {
			if parts[i%4] == part {
				nodes = append(nodes, s.person(i)["name"])
			}
		}
		if s.bare || k == 0 {
			continue
		}
		texts(part+".npy", nodes)
		label += "&" + part + "=" + folder + "/arrays/" + part + ".npy"
	}
	switch {
	case s.bare:
		label = ""
	case s.tasks != nil:
		array("labels.npy", func(b *bytes.Buffer) error { return npy.Write(b, multi, 60, len(s.tasks)) })
		texts("classes.npy", s.tasks)
	default:
		array("labels.npy", func(b *bytes.Buffer) error { return npy.Write(b, y, 60) })
		texts("classes.npy", classes)
	}
	normalize, standardize := "", "&normalize=standardize"
	if s.normalize != "" {
		normalize, standardize = "&normalize="+s.normalize, ""
	}
	specs := map[string]string{
		"text":  "edges:" + folder + "/edges.csv?features=" + folder + "/people.csv&features-columns=" + strings.Join(append([]string{"name"}, features...), ",") + label + normalize,
		"array": "npy:" + folder + "/arrays?sparse=0" + normalize + standardize,
	}
	if s.bare {
		return specs // a store has labels
	}
	for _, form := range []string{"text", "array"} {
		store := folder + "/" + form + ".safetensors"
		succeed(t, "datasets", "convert", specs[form], store)
		specs[form+" store"] = "store:" + store
	}
	return specs
}

// byName reads the predictions of a .csv file: the row of each node under the names of the header.
func byName(t *testing.T, path string) map[string]map[string]string {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(readFile(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]map[string]string)
	for _, row := range all[1:] {
		cells := map[string]string{}
		for k, cell := range row[1:] {
			cells[all[0][k+1]] = cell
		}
		rows[row[0]] = cells
	}
	return rows
}

// A run remembers its data. The table asks it about the same people in other files: of another
// order, with other columns, classes, tasks, ids and scaling. Each person has the run's prediction
// by the names, or the error names the difference. Text, arrays and stores are asked in all pairs.
func TestRunRemembersItsData(t *testing.T) {
	t.Chdir(t.TempDir())
	const bits, named = "equal to the bit", "equal by name"
	every := func(want string) map[string]string {
		return map[string]string{"text": want, "text store": want, "array": want, "array store": want}
	}
	tasks := shop{tasks: []string{"fruit", "greens", "meat"}}
	runs := map[string]map[string]string{} // folders by the data and their form
	scores := map[string]any{}             // by the folder
	for name, c := range map[string]struct {
		run, asked shop
		want       map[string]string // by the form asked: bits, named, or a part of the error
		people     []int             // nil: all
	}{
		"the run's own data": {want: every(bits)},
		"order of people":    {asked: shop{seed: 1}, want: every(named)},

		"order of columns":    {asked: shop{columns: []string{"spent", "town", "age"}}, want: map[string]string{"text": named, "text store": `the features are the columns "spent", "town", "age" of tables, and the model's are the columns "town", "age", "spent" of tables`}},
		"a column is missing": {asked: shop{columns: []string{"town", "age"}}, want: map[string]string{"text": `missing here: "spent"`, "text store": `the features are the columns "town", "age" of tables, and the model's`}},
		"one more column": {asked: shop{columns: []string{"town", "age", "shoe", "spent"}, wide: true}, want: map[string]string{"text": named, "text store": `columns "town", "age", "shoe", "spent" of tables, and the model's`,
			"array": "3 features, and the model's data have 2", "array store": "3 features, and the model's data have 2"}},

		"another scaling":  {asked: shop{normalize: "none"}, want: map[string]string{"text": "normalize=none, and the model's data had normalize=standardize", "text store": "normalize=none, and the model's", "array": "normalize=none, and the model's", "array store": named}},
		"without scaling":  {run: shop{normalize: "none"}, asked: shop{normalize: "none", seed: 1}, want: every(named)},
		"scaled, not raw":  {run: shop{normalize: "none"}, want: map[string]string{"text": bits, "text store": "normalize=standardize, and the model's normalize=none", "array": bits, "array store": "normalize=standardize, and the model's normalize=none"}},
		"rows scaled":      {run: shop{normalize: "row"}, asked: shop{normalize: "row", seed: 1}, want: every(named)},
		"other means":      {asked: shop{older: true}, people: []int{12, 13, 14, 15, 16, 17}, want: map[string]string{"text": named, "text store": `column "age" became {"name":"age","mean":`, "array": named, "array store": `column "0" became {"mean":`}},
		"ids are numbers":  {asked: shop{numbers: true}, want: every(named)},
		"ids were numbers": {run: shop{numbers: true}, asked: shop{seed: 2}, want: every(named)},

		"without labels":      {asked: shop{bare: true, seed: 1}, want: map[string]string{"text": named, "array": named}},
		"order of classes":    {asked: shop{classes: []string{"meat", "fruit", "greens"}}, want: every(named)},
		"a new class":         {asked: shop{rename: map[string]string{"fruit": "salt"}}, want: every(named)},
		"a class less":        {asked: shop{rename: map[string]string{"fruit": "meat"}, classes: []string{"meat", "greens"}}, want: every(named)},
		"no class in common":  {asked: shop{rename: map[string]string{"fruit": "a", "greens": "b", "meat": "c"}}, want: every(`lack the model's "fruit", "greens", "meat"`)},
		"tasks":               {run: tasks, asked: tasks, want: every(bits)},
		"order of tasks":      {run: tasks, asked: shop{tasks: []string{"meat", "fruit", "greens"}}, want: every(named)},
		"one more task":       {run: tasks, asked: shop{tasks: []string{"meat", "sweets", "fruit", "greens"}}, want: every(named)},
		"a task is missing":   {run: tasks, asked: shop{tasks: []string{"meat", "fruit"}}, want: every(`lack the model's "greens"`)},
		"classes, not tasks":  {run: tasks, want: every("the labels are 3 classes")},
		"tasks, not classes":  {asked: tasks, want: every("the labels are 3 binary tasks")},
		"tasks of the labels": {run: tasks, asked: shop{bare: true, seed: 1}, want: map[string]string{"text": named, "array": named}},
	} {
		t.Run(name, func(t *testing.T) {
			trained := runs[fmt.Sprint(c.run)]
			if trained == nil {
				folder := fmt.Sprint("shop", len(runs))
				trained = c.run.files(t, folder)
				runs[fmt.Sprint(c.run)] = trained
				for form, spec := range trained {
					if strings.HasSuffix(form, "store") && !longtest.Wanted() {
						delete(trained, form) // a run of a store has the names of its source
						continue
					}
					run := folder + "/run of " + form
					out := object(t, succeed(t, "train", "--data", spec, "--out", run, "-q", "--json", "--max-batches", "20", "--hidden", "16", "--seed", "3"))
					if scores[run] = object(t, succeed(t, "eval", "--run", run, "--json"))["score"]; scores[run] != out["test"] {
						t.Errorf("%s: eval gives the score %v, the run %v", run, scores[run], out["test"])
					}
					succeed(t, "predict", "--run", run, "--out", run+"/own.csv", "--logits")
					trained[form] = run
				}
			}
			asked := c.asked.files(t, "asked "+name)
			for form, run := range trained {
				own := byName(t, run+"/own.csv")
				for other, spec := range asked {
					spec = strings.Replace(spec, "&normalize=standardize", "", 1) // the run's
					want := c.want[other]
					if strings.HasPrefix(form, "text") != strings.HasPrefix(other, "text") {
						want = map[bool]string{true: "the features are without names", false: "the model's are without names"}[strings.HasPrefix(form, "text")]
						if c.asked.normalize != "" && c.asked.normalize != c.run.normalize && !strings.HasSuffix(other, "store") {
							want = "normalize="
						}
					}
					if want == "" {
						continue
					}
					place := fmt.Sprintf("trained on %s, asked about %s", form, other)
					args := []string{"predict", "--run", run, "--out", "again.csv", "--logits", "--data", spec}
					if want != bits && want != named {
						fail(t, exitFailed, []string{want}, args...)
						continue
					}
					if out := gcn(t, args...); out.code != exitDone {
						t.Errorf("%s: %s", place, out.stderr)
						continue
					}
					if c.people == nil && c.asked.rename == nil && !c.asked.bare {
						if score := object(t, succeed(t, "eval", "--run", run, "--data", spec, "--json"))["score"]; score != scores[run] {
							t.Errorf("%s: the score is %v, want %v", place, score, scores[run])
						}
					}
					again := byName(t, "again.csv")
					for i := range 60 {
						if c.people != nil && !slices.Contains(c.people, i) {
							continue
						}
						a, b := own[c.run.person(i)["name"]], again[c.asked.person(i)["name"]]
						for key, cell := range a {
							x, err := strconv.ParseFloat(cell, 64)
							y, _ := strconv.ParseFloat(b[key], 64)
							if cell != b[key] && (want == bits || err != nil || math.Abs(x-y) > 1e-5*(1+math.Abs(x))) || len(a) != len(b) {
								t.Fatalf("%s: person %d has %v, want %v", place, i, b, a)
							}
						}
					}
				}
			}
		})
	}
	// eval prints the values that the run does not know.
	run := runs[fmt.Sprint(shop{})]["text"]
	spec := shop{rename: map[string]string{"fruit": "bread", "Trier": "Mainz"}}.files(t, "words")["text"]
	notes := succeed(t, "eval", "--run", run, "--data", spec).stderr
	for _, want := range []string{"20 nodes of class bread are not scored", "town one of the run's 4 values", "rows with another"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	fail(t, exitFailed, []string{"made of the graph (features=degree)"}, "eval", "--run", run, "--data", "edges:words/edges.csv?labels=words/people.csv&labels-columns=name,buys&features=degree")
}
