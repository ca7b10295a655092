package datasets

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/fetch"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

// Entry is one line of List.
type Entry struct {
	Spec    string `json:"spec"` // "synth:demo", or a pattern such as "npz:FILE"
	Summary string `json:"summary"`
	Keys    string `json:"keys"` // its keys, comma-separated
}

// List returns the SPECs that Open understands: each synthetic data set, each named
// one, then each scheme that reads files.
func List() (entries []Entry) {
	files := schemes()
	for _, m := range synth.Models() {
		entries = append(entries, Entry{"synth:" + m.Name, m.Summary, keyNames(files[0].Keys)})
	}
	for _, set := range fetch.Sets() {
		entries = append(entries, Entry{set.Name, set.Summary, keyNames(namedScheme().Keys)})
	}
	for _, s := range files[1:] { // the first is synth
		entries = append(entries, Entry{s.Name + ":" + s.Path, s.Summary, keyNames(s.Keys)})
	}
	return entries
}

// Info describes a data set. `gcn datasets info` prints it.
type Info struct {
	Name       string      `json:"name"`
	Nodes      int         `json:"nodes"`
	Edges      int64       `json:"edges"` // undirected ones once each
	Weighted   bool        `json:"weighted"`
	Directed   bool        `json:"directed,omitempty"`
	Features   int         `json:"features"`
	Precision  string      `json:"precision"`         // of the features: float32 or float16
	Classes    int         `json:"classes,omitempty"` // 0 for binary tasks
	Tasks      int         `json:"tasks,omitempty"`   // 0 for classes
	ClassNames []string    `json:"class_names,omitempty"`
	Unlabelled int         `json:"unlabelled,omitempty"` // nodes without a label
	NodeNames  bool        `json:"node_names,omitempty"` // the source names the nodes
	Metric     Metric      `json:"metric"`
	Split      SplitSizes  `json:"split"`
	Degree     DegreeStats `json:"degree"`
	Bytes      MemorySize  `json:"bytes"`

	Read          graph.Report `json:"read,omitzero"`           // edges of the source; 0 for synthetic graphs
	Preprocessing []string     `json:"preprocessing,omitempty"` // see Data.Changes
}

// SplitSizes counts the nodes of each part of a split.
type SplitSizes struct {
	Train int `json:"train"`
	Valid int `json:"valid"`
	Test  int `json:"test"`
}

// DegreeStats summarises the numbers of neighbours of the nodes. A node is not its
// own neighbour. Median and P99 are the order statistics of rank ⌈n/2⌉ and ⌈0.99n⌉.
type DegreeStats struct {
	Min    int     `json:"min"`
	Median int     `json:"median"`
	Mean   float64 `json:"mean"`
	P99    int     `json:"p99"`
	Max    int     `json:"max"`
}

// MemorySize counts the bytes of a data set's arrays.
type MemorySize struct {
	Graph    int64 `json:"graph"`
	Features int64 `json:"features"`

	// Propagated is P·X, if a store holds it.
	Propagated int64 `json:"propagated_features,omitempty"`

	Total int64 `json:"total"` // with labels, split and names of nodes
}

// Describe measures a data set. Nil data, and nil parts, count as empty. Cost:
// O(nodes log nodes).
func Describe(d *Data) Info {
	d = cmp.Or(d, &Data{})
	g, x, y := cmp.Or(d.Graph, &graph.CSR{}), cmp.Or(d.Features, &graph.Features{}), cmp.Or(d.Labels, &graph.Labels{})
	info := Info{
		Name: d.Name, Nodes: d.Nodes(), Edges: d.Edges(), Weighted: g.Val != nil,
		Features: x.Cols, Precision: "float32", Classes: y.Classes, Tasks: y.Tasks, Metric: d.Metric,
		Split:         SplitSizes{len(d.Split.Train), len(d.Split.Valid), len(d.Split.Test)},
		Degree:        degreeStats(g),
		Read:          d.Report,
		Preprocessing: d.Changes(),
		Directed:      d.Directed, ClassNames: y.Names, NodeNames: d.NodeNames != nil, Unlabelled: y.Nodes() - len(d.labelledNodes()),
	}
	if x.Half != nil {
		info.Precision = "float16"
	}
	b := &info.Bytes
	b.Graph, b.Features, b.Propagated = g.Bytes(), x.Bytes(), cmp.Or(d.Propagated, &graph.Features{}).Bytes()
	others := len(y.Class) + len(y.Multi) + info.Split.Train + info.Split.Valid + info.Split.Test
	b.Total = b.Graph + b.Features + 4*int64(others) + d.NodeNames.Bytes() + b.Propagated
	return info
}

// labelledNodes returns the nodes that have a class, or at least one known task.
func (d *Data) labelledNodes() (nodes []int32) {
	y := cmp.Or(d.Labels, &graph.Labels{})
	for i := range int32(y.Nodes()) {
		if y.Known(int(i)) {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// Changes says in a sentence each how the source was read, and the changes to it: edges
// dropped, classes, nodes without a label, the size of sparse features, and the notes. Cost: O(nodes).
func (d *Data) Changes() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if r := d.Report; r.Given > 0 {
		add("%d edges read; %d self-loops and %d repeated or reverse edges dropped", r.Given, r.SelfLoops, r.Duplicates)
	}
	y := cmp.Or(d.Labels, &graph.Labels{})
	if y.Names != nil {
		add("%s: %s", countText(y.Classes, y.Tasks), listed("%s", y.Names))
	}
	if n := y.Nodes() - len(d.labelledNodes()); n > 0 {
		add("%d nodes without a label", n)
	}
	if x := d.Features; x != nil && x.Sparse != nil {
		add("features sparse: %d of %d×%d values, %.1f MB; dense they take %.1f MB (sparse=0)",
			x.Len(), x.Rows, x.Cols, 1e-6*float64(x.Bytes()), 4e-6*float64(x.Rows)*float64(x.Cols))
	}
	return append(lines, d.Notes...)
}

func degreeStats(g *graph.CSR) DegreeStats {
	n := g.Rows
	if n == 0 {
		return DegreeStats{}
	}
	degrees := make([]int, n)
	for i := range degrees {
		degrees[i] = g.Degree(i)
	}
	slices.Sort(degrees)
	rank := func(percent int) int { return degrees[max((n*percent+99)/100, 1)-1] }
	return DegreeStats{
		Min: degrees[0], Median: rank(50), P99: rank(99), Max: degrees[n-1],
		Mean: float64(g.NNZ()) / float64(n),
	}
}
