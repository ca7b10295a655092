package reproduce

import (
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/samplers"
)

// rowsOf returns the rows of a table of the paper that the options select, with the
// sample sizes of the options, for models of some layers.
func (r *runner) rowsOf(table []PaperRow, layers int) []PaperRow {
	var chosen []PaperRow
	for _, row := range table {
		increasing := strings.Contains(row.Label, "(2)") && row.layerWise()
		switch {
		case len(r.Methods) > 0 && !slices.Contains(r.Methods, row.Method):
			continue
		case row.layerWise() && r.Setting == "fixed" && increasing:
			continue
		case row.layerWise() && r.Setting == "increasing" && !increasing:
			continue
		}
		row.Samples = atLayers(row.Samples, layers)
		chosen = append(chosen, row)
	}
	for _, name := range r.Methods { // methods that the table lacks
		inTable := slices.ContainsFunc(table, func(row PaperRow) bool { return row.Method == name })
		known := slices.ContainsFunc(samplers.Methods(), func(m samplers.Method) bool { return m.Name == name })
		if !inTable && known {
			chosen = append(chosen, PaperRow{Label: name, Method: name, Samples: ownSizes(name, layers)})
		}
	}
	if len(r.Samples) > 0 {
		chosen = r.resize(chosen, layers)
	}
	return chosen
}

// ownSizes returns the sample sizes of a method that the paper lacks.
func ownSizes(method string, layers int) []int {
	sizes := []int{} // not nil, as in paper.json: cells tell them apart
	for _, m := range samplers.Methods() {
		switch {
		case m.Name != method || m.Sizes == "":
		case strings.Contains(m.Sizes, "layer"):
			sizes = append(sizes, 512)
		default: // a node
			sizes = append(sizes, 2)
		}
	}
	for len(sizes) > 0 && len(sizes) < layers {
		sizes = append(sizes, sizes[0])
	}
	return sizes
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

// layerWise reports whether the row's method draws a number of nodes a layer.
func (row *PaperRow) layerWise() bool {
	return strings.HasPrefix(row.Method, "ladies") || strings.HasPrefix(row.Method, "fastgcn") || row.Method == "poisson-ladies"
}

// resize gives layer-wise rows the sizes of the options, one row for each method.
// It removes the paper's values, which are for other sizes.
func (r *runner) resize(rows []PaperRow, layers int) []PaperRow {
	var resized []PaperRow
	seen := map[string]bool{}
	for _, row := range rows {
		if row.layerWise() {
			if seen[row.Method] {
				continue
			}
			seen[row.Method] = true
			if before, rest, found := strings.Cut(row.Label, " ("); found {
				_, after, _ := strings.Cut(rest, ")")
				row.Label = before + after // "LADIES (2) w/ flat" is now "LADIES w/ flat"
			}
			row.Samples, row.Values = atLayers(r.Samples, layers), nil
		}
		resized = append(resized, row)
	}
	return resized
}

// value returns the paper's value of a row for a SPEC, or nil.
func (row *PaperRow) value(spec string) *PaperValue {
	name, _ := paperDataset(spec)
	if v, there := row.Values[name]; there {
		return &v
	}
	return nil
}
