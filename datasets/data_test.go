package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gcn-layerwise/gcn/graph"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]*Spec{
		"cora":                      {Path: "cora"},
		"synth:demo":                {Scheme: "synth", Path: "demo"},
		"npz:/a/b c.npz?split=3":    {Scheme: "npz", Path: "/a/b c.npz", Values: map[string]string{"split": "3"}},
		"edges:x?sep=%26&labels=l=": {Scheme: "edges", Path: "x", Values: map[string]string{"sep": "&", "labels": "l="}},
		"npy:C:\\data?split=1/2/3":  {Scheme: "npy", Path: "C:\\data", Values: map[string]string{"split": "1/2/3"}},
	} {
		got, err := parseSpec(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got.String() != text {
			t.Errorf("%q prints as %q", text, got)
		}
		want.text = text
		if !cmp.Equal(got, want, cmp.AllowUnexported(Spec{})) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestBadSpec(t *testing.T) {
	for spec, want := range map[string]string{
		"":                             "no path or name",
		"npy:":                         "no path or name",
		":demo":                        "no scheme before the colon",
		"npy:x?split":                  `"split" is not key=value`,
		"npy:x?=3":                     `"=3" is not key=value`,
		"npy:x?":                       `"" is not key=value`,
		"npy:x?seed=1&seed=2":          `key "seed" is given twice`,
		"npy:x?split=%zz":              "invalid URL escape",
		"ogb2:x":                       `"ogb2:x": unknown scheme or data set; want one of synth:NAME, npy:DIR`,
		"wikipedia":                    `"wikipedia": unknown scheme or data set; want one of synth:NAME`,
		"planetoid:ogbn/xy":            "want planetoid:DIR/NAME",
		"npy:~/graph":                  "write $HOME/graph",
		"npy:x?sed=1":                  `unknown key "sed"; npy takes lists, split, seed`,
		"cora?sed=1":                   `unknown key "sed"; cora takes split, seed`,
		"synth:arxiv?split=1/1/1":      `unknown key "split"; synth takes nodes, edges`,
		"synth:demi":                   `unknown synthetic data set "demi"; want one of demo, arxiv`,
		"synth:demo?nodes=0":           "nodes=0: want an integer in [1, 2147483647]",
		"synth:demo?nodes=x":           "nodes=x: want an integer",
		"synth:demo?nodes=10&edges=46": "edges=46: want an integer in [0, 45]",
		"synth:demo?seed=-1":           "seed=-1: want an integer in [0, 18446744073709551615]",
		"synth:demo?noise=1.5":         "noise=1.5: want a number in [0, 1]",
		"synth:demo?homophily=NaN":     "homophily=NaN: want a number",
	} {
		expectError(t, spec, want)
	}
}

// A program's own scheme comes before the built-in ones, and its data are validated.
func TestOwnScheme(t *testing.T) {
	own := Scheme{Name: "own", Path: "N", Keys: []string{"bad"}, Open: func(_ context.Context, s *Spec, _ Options) (*Data, error) {
		d := made(t, 30, 1)
		d.Name = ""
		if s.Values["bad"] != "" {
			d.Split.Train = nil
		}
		return d, nil
	}}
	d, err := Open(context.Background(), "own:3", Options{Schemes: []Scheme{own}})
	if err != nil || d.Name != "own:3" {
		t.Errorf("got %+v, %v", d, err)
	}
	if err := new(Data).Validate(); err == nil || !strings.HasPrefix(err.Error(), "datasets: data without a name: ") {
		t.Errorf("no data: error %v", err)
	}
	if _, err := Open(context.Background(), "own:3?bad=1", Options{Schemes: []Scheme{own}}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("invalid data: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(d *Data)
		want  string
	}{
		"no graph":         {func(d *Data) { d.Graph = nil }, "missing"},
		"asymmetric":       {func(d *Data) { d.Graph.Idx = append([]int32{}, d.Graph.Idx...); d.Graph.Idx[0] ^= 1 }, "adjacency"},
		"features short":   {func(d *Data) { d.Features.Data = d.Features.Data[1:] }, "features 30×4 hold 119 values"},
		"features NaN":     {func(d *Data) { d.Features.Data[5] = float32(math.NaN()) }, "feature 1 of node 1 is NaN"},
		"labels short":     {func(d *Data) { d.Labels.Class = d.Labels.Class[1:] }, "labels of 29"},
		"label range":      {func(d *Data) { d.Labels.Class[3] = 3 }, "label of node 3 is 3"},
		"metric unknown":   {func(d *Data) { d.Metric = "f2" }, `metric "f2"`},
		"metric misfit":    {func(d *Data) { d.Metric = ROCAUC }, `metric "rocauc" does not fit`},
		"empty train":      {func(d *Data) { d.Split.Train = nil }, "the training set is empty"},
		"split range":      {func(d *Data) { d.Split.Test[0] = 30 }, "test node 0 is 30, outside [0, 30)"},
		"split repeats":    {func(d *Data) { d.Split.Train[1] = d.Split.Train[0] }, "is in the train set already"},
		"splits overlap":   {func(d *Data) { d.Split.Valid[0] = d.Split.Train[0] }, "is in the train set already"},
		"split unlabelled": {func(d *Data) { d.Labels.Class[d.Split.Valid[0]] = -1 }, "valid node 0"},
		"unlabelled in use": {func(d *Data) {
			d.Labels = oneTask(append([]int32{-1}, make([]int32, 29)...))
			d.Metric = ROCAUC
			d.Split.Train, d.Split.Valid, d.Split.Test = []int32{0}, nil, nil
		}, "has no label"},
	} {
		t.Run(name, func(t *testing.T) {
			d := made(t, 30, 1)
			c.spoil(d)
			if err := d.Validate(); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want … %s …", err, c.want)
			}
		})
	}
	if err := made(t, 30, 1).Validate(); err != nil {
		t.Error(err)
	}
}

func TestLaplacianIsShared(t *testing.T) {
	d := made(t, 30, 1)
	if p := d.Laplacian(); p != d.Laplacian() || p.Adjacency != d.Graph || p.Validate() != nil {
		t.Error("Laplacian is not made once from the graph")
	}
}

func TestDescribe(t *testing.T) {
	b, err := graph.NewBuilder(5)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]int32{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {2, 1}, {3, 3}} {
		if err := b.Add(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	d := &Data{Name: "five", Features: &graph.Features{Rows: 5, Cols: 2, Data: make([]float32, 10)}, Labels: oneTask([]int32{0, 1, 0, 1, -1}),
		Split: Split{Train: []int32{0, 1}, Valid: []int32{2}, Test: []int32{3}}, Metric: ROCAUC}
	d.Graph, d.Report = b.Build()
	d.Notes = append(d.Notes, "graph symmetrised, repeated edges and self-loops dropped")
	info := Describe(d)
	text, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"five","nodes":5,"edges":4,"weighted":false,"features":2,"precision":"float32","tasks":1,"unlabelled":1,"metric":"rocauc",` +
		`"split":{"train":2,"valid":1,"test":1},"degree":{"min":0,"median":2,"mean":1.6,"p99":3,"max":3},` +
		`"bytes":{"graph":80,"features":40,"total":156},` +
		`"read":{"given":6,"self_loops":1,"duplicates":1,"edges":4},"preprocessing":["6 edges read; 1 self-loops and 1 repeated or reverse edges dropped","1 nodes without a label","graph symmetrised, repeated edges and self-loops dropped"]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestList(t *testing.T) {
	var specs []string
	for _, e := range List() {
		specs = append(specs, e.Spec)
		if e.Summary == "" {
			t.Errorf("%s has no summary", e.Spec)
		}
	}
	all := strings.Join(specs, " ")
	for _, want := range []string{"synth:demo", "synth:arxiv", "synth:products", "npy:DIR", "npz:FILE", "planetoid:DIR/NAME", "ogb:DIR"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not listed: %s", want, all)
		}
	}
}
