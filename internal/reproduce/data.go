package reproduce

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
)

// fiveNames and fourNames are the columns of most tables: the paper has no regressions on
// ogbn-products. Its Reddit is the graph of GraphSAINT, with a tenth of the edges of
// GraphSAGE's, and features standardised over the training nodes.
func fiveNames() []string { return []string{"reddit", "arxiv", "mag", "proteins", "products"} }
func fourNames() []string { return []string{"reddit", "arxiv", "proteins", "mag"} }

// title returns the paper's name of one of its data sets.
func title(name string) string {
	return strings.Replace("ogbn-"+name, "ogbn-reddit", "Reddit", 1)
}

// paperDataset returns the name of the paper's data set that a SPEC means, or "", and
// whether the SPEC is its generated twin, as synth:arxiv is for ogbn-arxiv. A twin has no key
// but its seed, and an original has none: another split or scaling is other data. The paper's
// Reddit is GraphSAINT's graph.
func paperDataset(spec string) (name string, twin bool) {
	if spec == "reddit-saint" {
		return "reddit", false
	}
	path, keys, _ := strings.Cut(spec, "?")
	name, twin = strings.CutPrefix(path, "synth:")
	if !twin {
		name = strings.TrimPrefix(path, "ogbn-")
	}
	own := keys == "" && name != spec || twin && strings.HasPrefix(keys, "seed=") && !strings.Contains(keys, "&")
	if !own || !slices.Contains(fiveNames(), name) {
		return "", false
	}
	return name, twin
}

// dataKey is the paper's name of a data set, or the SPEC of another one.
func dataKey(spec string) string {
	if name, _ := paperDataset(spec); name != "" {
		return name
	}
	return spec
}

// columnName heads the column of a SPEC: the data set as the paper names it, with a
// mark for a twin, or the SPEC without the folders of its path.
func columnName(spec string) string {
	name, twin := paperDataset(spec)
	switch {
	case name == "":
		location, keys, found := strings.Cut(strings.TrimPrefix(spec, "store:"), "?")
		location = location[strings.LastIndexByte(location, '/')+1:]
		if found {
			location += "?" + keys
		}
		return location
	case twin:
		return title(name) + " (twin)"
	}
	return title(name)
}

// paperData returns the SPECs of the paper's data sets that some experiments have: the original if
// it is in the cache, else the twin.
func paperData(ctx context.Context, experiments []Experiment, o datasets.Options) ([]string, error) {
	o.Offline = true
	var specs []string
	for _, name := range fiveNames() {
		if !slices.ContainsFunc(experiments, func(e Experiment) bool { return slices.Contains(e.Data, name) }) {
			continue
		}
		spec := strings.Replace(title(name), "Reddit", "reddit-saint", 1)
		data, err := datasets.Open(ctx, spec, o)
		if err == nil {
			err = data.Close()
		}
		if errors.Is(err, datasets.ErrOffline) {
			spec, err = "synth:"+name, nil
		}
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// dataOf returns the SPECs of an experiment's columns. The paper's data sets are in its order, and
// those that it leaves out are left out.
func (r *runner) dataOf(e Experiment) []string {
	specs := slices.DeleteFunc(slices.Clone(r.Data), func(spec string) bool {
		name, _ := paperDataset(spec)
		return name != "" && !slices.Contains(e.Data, name)
	})
	if r.paperData {
		slices.SortFunc(specs, func(a, b string) int { return slices.Index(e.Data, dataKey(a)) - slices.Index(e.Data, dataKey(b)) })
	}
	return specs
}

// captionsText has the templates of captions.
//
//go:embed captions.tmpl
var captionsText string

// caption names the data sets and settings of a table or figure.
func (r *runner) caption(t task) string {
	names := map[string][]string{}
	for _, spec := range t.data {
		group := "Original"
		switch name, twin := paperDataset(spec); {
		case name == "":
			group = "Others"
		case twin:
			group = "Twins"
		}
		names[group] = append(names[group], columnName(spec))
	}
	values := map[string]any{
		"Names":    names,
		"Settings": r.base,
		"Runs":     counted(r.base.Runs, "run"),
		"Repeats":  r.measured(200),
		"Samples":  run.Sizes(atLayers(r.Samples, 3)), // of the regressions

		"RegressionBatches": regressionBatches,

		"ScalingMethod":    scalingMethod,
		"ScalingWidth":     scalingWidth,
		"ScalingNeighbors": scalingNeighbors,
		"ScalingDepth":     scalingDepth,
		"ScalingGrowth":    scalingNeighbors + 1,
	}
	if slices.ContainsFunc(t.keys, func(k key) bool { return k.Kind == trainCell || k.Kind == regressionCell }) {
		values["Intervals"] = r.intervals(t)
		values["Full"] = slices.ContainsFunc(t.keys, func(k key) bool { return k.Method == fullMethod && !k.Kind.timed() })
	}
	captions, text := template.Must(template.New("").Funcs(template.FuncMap{"join": strings.Join}).Parse(captionsText)), new(strings.Builder)
	for _, name := range []string{"data", t.caption} {
		if err := captions.ExecuteTemplate(text, name, values); err != nil {
			return err.Error() // the templates are the program's own
		}
	}
	return strings.TrimSpace(text.String())
}

// intervals says after how many mini-batches the runs of a task have validation scores.
func (r *runner) intervals(t task) string {
	var words []string
	for _, k := range t.keys {
		one := r.settled[k.id()]
		if one == nil || one.failed != nil || one.Key.EvalEvery == 0 {
			continue
		}
		if word := fmt.Sprintf("%d on %s", one.Key.EvalEvery, columnName(k.Data)); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return "mini-batches between two validation scores: " + strings.Join(words, ", ")
}

// describe counts the open data.
func (r *runner) describe(context.Context, key) (any, error) {
	return new(datasets.Describe(r.data)), nil
}

// addDataset adds the counts of one data set, and per cent of its nodes.
func (r *runner) addDataset(spec string, report *Report) {
	info := resultOf[datasets.Info](r, key{Kind: dataCell, Data: spec})
	if info == nil {
		return
	}
	nodes := float64(info.Nodes)
	share := func(n int) float64 { return 100 * float64(n) / nodes }
	values := map[string]float64{
		"Nodes": nodes, "Edges": float64(info.Edges), "Degree": info.Degree.Mean, "Features": float64(info.Features),
		"Classes": float64(info.Classes), "Tasks": float64(max(info.Tasks, 1)),
		"Training nodes, %": share(info.Split.Train), "Validation nodes, %": share(info.Split.Valid), "Test nodes, %": share(info.Split.Test),
	}
	for _, paper := range r.paper.Datasets {
		if paper.Label == "Classes" && info.Classes == 0 {
			continue
		}
		row := Row{Dataset: spec, Label: paper.Label, Quantity: string(aCount), is: is{Of: aCount}, N: 1, Mean: values[paper.Label], Paper: paper.value(spec)}
		if p := row.Paper; p != nil && p.Mean == math.Trunc(p.Mean) { // equal to the last digit printed
			row.compare(0.5)
		} else if p != nil {
			row.compare(0.05)
		}
		report.Rows = append(report.Rows, row)
	}
}
