package datasets

import (
	_ "embed"
	"encoding/json"
	"math"
	"strings"
)

// Published holds the published figures of one of the paper's data sets. A figure
// that nobody published is the zero Figure.
type Published struct {
	Name     string // as the paper prints it
	Original string // the name that Fetch downloads
	Twin     string // the SPEC of the generated data of the same size
	Metric   Metric

	// Figures of the graph, by the names that Compare prints, and its clustering and homophily.
	// The edges are as the source counts them: all that it lists, or each undirected edge once.
	Figures map[string]Figure
}

// Figure is one published number.
type Figure struct {
	Value  float64 `json:"value"`
	Within float64 `json:"within"` // the largest difference that means the same number
	Source string  `json:"source"`
}

// Known tells whether the number is published.
func (f Figure) Known() bool { return f.Source != "" }

// Agrees tells whether v can be the published number. Every v agrees with a figure
// that is not published.
func (f Figure) Agrees(v float64) bool {
	const slack = 1e-9 // a value in the middle of two decimals agrees with both
	return !f.Known() || math.Abs(v-f.Value) <= f.Within+slack
}

// published.json has an entry for each of the paper's five data sets, in the order of its
// tables, then for Reddit with all edges and for ogbn-papers100M. The paper's Reddit is
// GraphSAINT's, which has a fifth of the edges of DGL's. The paper prints 160,343 nodes for
// ogbn-arxiv; OGB's files hold 169,343. A rounded number may differ by half of its last digit.
// Sources differ by some edges in 10,000, repeated ones and self-loops, and so do the largest
// degrees. OGB's clustering coefficient of ogbn-mag, 0.098, is left out: it is of the whole
// graph, with authors, institutions and fields.
//
//go:embed published.json
var publishedFigures []byte

// published returns all published figures.
func published() (all []Published) {
	if err := json.Unmarshal(publishedFigures, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
}

// FindPublished returns the published figures of the data set that a SPEC means, or nil
// if there are none: of an original by its name, or of the original of a generated twin of
// full size.
func FindPublished(spec string) (p *Published, twin bool) {
	name, keys, _ := strings.Cut(spec, "?")
	for _, p := range published() {
		twin := name == p.Twin && !strings.Contains(strings.TrimPrefix(keys, "seed="), "=") // else of another size or law
		if twin || name == p.Original {
			return &p, twin
		}
	}
	return nil, false
}

// Comparison is one figure of a data set beside the published one.
type Comparison struct {
	Name      string  `json:"name"`
	Published float64 `json:"published"`
	Found     float64 `json:"found"`
	Agrees    bool    `json:"agrees"`
	Source    string  `json:"source"` // of the published figure
}

// Compare compares the counts and degrees of a data set with the published figures. Edges
// agree if the published number counts all edges in the source, or the undirected edges that are
// left. Clustering and homophily are not compared. Cost: O(nodes log nodes).
func (p *Published) Compare(d *Data) (all []Comparison) {
	info := Describe(d)
	edges := info.Edges
	if p.Figures["edges"].Agrees(float64(info.Read.Given)) {
		edges = info.Read.Given
	}
	for _, c := range []Comparison{
		{Name: "nodes", Found: float64(info.Nodes)},
		{Name: "edges", Found: float64(edges)},
		{Name: "features", Found: float64(info.Features)},
		{Name: "classes", Found: float64(info.Classes)},
		{Name: "binary tasks", Found: float64(info.Tasks)},
		{Name: "training nodes", Found: float64(info.Split.Train)},
		{Name: "validation nodes", Found: float64(info.Split.Valid)},
		{Name: "test nodes", Found: float64(info.Split.Test)},
		{Name: "mean degree", Found: info.Degree.Mean},
		{Name: "largest degree", Found: float64(info.Degree.Max)},
	} {
		if f := p.Figures[c.Name]; f.Known() {
			c.Published, c.Agrees, c.Source = f.Value, f.Agrees(c.Found), f.Source
			all = append(all, c)
		}
	}
	return all
}
