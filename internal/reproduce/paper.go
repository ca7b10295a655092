package reproduce

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/gcn-layerwise/gcn/run"
)

//go:embed paper.json
var paperText []byte

//go:embed claims.json
var claimsText []byte

// Numbers holds the paper's numbers that the experiments need, and the claims of its text.
// Data sets are named reddit, arxiv, mag, proteins, products.
type Numbers struct {
	Source string `json:"source"`
	Note   string `json:"note"`

	Datasets        []PaperRow            `json:"datasets"`         // counts, and per cent of the nodes
	Accuracy        []PaperRow            `json:"accuracy"`         // per cent
	FastGCNVariants []PaperRow            `json:"fastgcn_variants"` // per cent
	SamplingTime    []PaperRow            `json:"sampling_time"`    // milliseconds a batch, one layer
	TrainingTime    map[string][]PaperRow `json:"training_time"`    // by number of layers; milliseconds a batch
	Regression      []PaperRegression     `json:"regression"`

	claims []claim
}

// PaperRow is one line of a table: a method with its sample sizes, next to the
// output first, and a value for each data set.
type PaperRow struct {
	Label   string                 `json:"label"` // as printed
	Method  string                 `json:"method"`
	Samples []int                  `json:"samples"`
	Values  map[string]*PaperValue `json:"values"`
}

// PaperRegression is one regression of ‖(HW)_[i]‖ on ‖P^[i]‖ or ‖QP^[i]‖.
type PaperRegression struct {
	Label   string      `json:"label"`
	Method  string      `json:"method"`
	On      string      `json:"on"` // "P" or "QP"
	Dataset string      `json:"dataset"`
	Layer   int         `json:"layer"` // from 1
	Beta0   *PaperValue `json:"beta0"`
	Beta1   *PaperValue `json:"beta1"`
	R2      *PaperValue `json:"r2"`
}

// PaperValue is one number as printed.
type PaperValue struct {
	Mean     float64 `json:"mean"`
	PM       float64 `json:"pm,omitempty"`        // after ±; 0 if the paper prints none
	LessThan float64 `json:"less_than,omitempty"` // x if the paper prints "< x" instead of a mean
}

// PaperNumbers reads the paper's numbers and claims.
func PaperNumbers() (*Numbers, error) {
	p := new(Numbers)
	strict := json.RejectUnknownMembers(true)
	if err := cmp.Or(json.Unmarshal(paperText, p, strict), json.Unmarshal(claimsText, &p.claims, strict)); err != nil {
		return nil, fmt.Errorf("reproduce: paper.json or claims.json: %w", err)
	}
	return p, nil
}

// layerWise reports whether the row's method draws a number of nodes a layer.
func (row *PaperRow) layerWise() bool {
	return strings.HasPrefix(row.Method, "ladies") || strings.HasPrefix(row.Method, "fastgcn") || row.Method == "poisson-ladies"
}

// increasing reports whether the row has sample sizes that double.
func (row *PaperRow) increasing() bool { return strings.Contains(row.Label, "(2)") && row.layerWise() }

// value returns the paper's value of a row for a SPEC, or nil.
func (row *PaperRow) value(spec string) *PaperValue {
	name, _ := paperDataset(spec)
	return row.Values[name]
}

// rowsOf returns the rows of a table of the paper that the options select, with the
// sample sizes of the options, for models of some layers. With sizes of the options, a
// layer-wise method has one row, without the paper's values, which are for other sizes.
func (r *runner) rowsOf(table []PaperRow, layers int) []PaperRow {
	for _, name := range r.Methods { // methods that the table lacks
		m, err := run.ParseMethod(name)
		if err != nil || slices.ContainsFunc(table, func(row PaperRow) bool { return row.Method == name }) {
			continue
		}
		row := PaperRow{Label: name, Method: name}
		switch {
		case strings.Contains(m.Sizes, "layer"):
			row.Samples = slices.Repeat([]int{512}, layers)
		case m.Sizes != "": // a node
			row.Samples = slices.Repeat([]int{2}, layers)
		}
		table = append(slices.Clip(table), row)
	}
	var chosen []PaperRow
	sized := map[string]bool{}
	for _, row := range table {
		resized := len(r.Samples) > 0 && row.layerWise()
		if len(r.Methods) > 0 && !slices.Contains(r.Methods, row.Method) || resized && sized[row.Method] {
			continue
		}
		row.Samples = atLayers(row.Samples, layers)
		if resized {
			sized[row.Method] = true
			row.Samples, row.Values = atLayers(r.Samples, layers), nil
			if before, rest, found := strings.Cut(row.Label, " ("); found {
				_, after, _ := strings.Cut(rest, ")")
				row.Label = before + after // "LADIES (2) w/ flat" is now "LADIES w/ flat"
			}
		}
		chosen = append(chosen, row)
	}
	return chosen
}

// atLayers returns one size for each of n layers. It cuts sizes short, or extends
// them by the factor between the last two. Methods without sizes keep none, and
// tables of one layer keep their one size.
func atLayers(sizes []int, n int) []int {
	if len(sizes) < 2 {
		return sizes
	}
	fitted := slices.Clone(sizes[:min(n, len(sizes))])
	for len(fitted) < n {
		last := len(fitted) - 1
		fitted = append(fitted, fitted[last]*sizes[1]/sizes[0])
	}
	return fitted
}
