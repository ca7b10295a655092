package reproduce

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/gcn-layerwise/gcn/datasets"
)

// fiveNames and fourNames are the columns of most tables: the paper has no regressions on
// ogbn-products. Its Reddit is the graph of GraphSAINT, with a tenth of the edges of
// GraphSAGE's, and features standardised over the training nodes.
func fiveNames() []string { return []string{"reddit", "arxiv", "mag", "proteins", "products"} }
func fourNames() []string { return []string{"reddit", "arxiv", "proteins", "mag"} }

// published returns the published figures of one of the paper's data sets.
func published(name string) *datasets.Published {
	p, _ := datasets.FindPublished("synth:" + name)
	return p
}

// paperDataset returns the name of the paper's data set that a SPEC means, or "", and
// whether the SPEC is its generated twin, as synth:arxiv is for ogbn-arxiv. A twin has no key
// but its seed. A file or folder must have the data set's name, and isOriginal checks its
// nodes. Reddit must be GraphSAINT's graph, standardised.
func paperDataset(spec string) (name string, twin bool) {
	where, keys, _ := strings.Cut(strings.ToLower(spec), "?")
	scheme, path, found := strings.Cut(where, ":")
	if !found {
		scheme, path = "", where
	}
	if scheme == "synth" {
		if slices.Contains(fiveNames(), path) && (keys == "" || strings.HasPrefix(keys, "seed=") && !strings.Contains(keys, "&")) {
			return path, true
		}
		return "", false
	}
	base := filepath.Base(path)
	for _, name := range []string{"arxiv", "proteins", "products", "mag"} {
		if strings.HasPrefix(base, "ogbn-"+name) || strings.HasPrefix(base, "ogbn_"+name) || scheme == "ogb" && base == name {
			return name, false
		}
	}
	standardised := !strings.Contains(keys, "normalize=") || strings.Contains(keys, "normalize=standardize")
	if standardised && (strings.HasPrefix(base, "reddit-saint") || scheme == "saint" && base == "reddit") {
		return "reddit", false
	}
	return "", false
}

// dataKey is the paper's name of a data set, or the SPEC of another one.
func dataKey(spec string) string {
	if name, _ := paperDataset(spec); name != "" {
		return name
	}
	return spec
}

// isOriginal returns an error if a SPEC names one of the paper's data sets, and its data have
// another number of nodes: they would be shown beside the paper's numbers.
func isOriginal(spec string, data *datasets.Data) error {
	name, twin := paperDataset(spec)
	if name == "" || twin {
		return nil
	}
	p := published(name)
	if p.Figures["nodes"].Agrees(float64(data.Nodes())) {
		return nil
	}
	return fmt.Errorf("reproduce: %s is named like %s, but has %d nodes, not %.0f; give the file or folder another name", spec, p.Name, data.Nodes(), p.Figures["nodes"].Value)
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
		return published(name).Name + " (twin)"
	}
	return published(name).Name
}

// dataOf returns the SPECs of an experiment's columns.
func (r *runner) dataOf(ctx context.Context, e Experiment) ([]string, error) {
	var specs []string
	for _, spec := range r.Data {
		if name, _ := paperDataset(spec); name == "" || slices.Contains(e.Data, name) {
			specs = append(specs, spec)
		}
	}
	if len(r.Data) > 0 {
		return specs, nil
	}
	for _, name := range e.Data {
		spec, err := r.specOf(ctx, name)
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// specOf returns the SPEC of one of the paper's data sets: the original if it is in
// the cache, else the twin.
func (r *runner) specOf(ctx context.Context, name string) (string, error) {
	if spec, there := r.chosen[name]; there {
		return spec, nil
	}
	spec := published(name).Original
	offline := r.DataOptions
	offline.Offline = true
	data, err := datasets.Open(ctx, spec, offline)
	if err == nil {
		err = data.Close()
	}
	if errors.Is(err, datasets.ErrOffline) {
		spec, err = "synth:"+name, nil
	}
	r.chosen[name] = spec
	return spec, err
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
		"Settings": r.base, "Runs": counted(r.base.Runs, "run"), "Repeats": r.measured(200), "RegressionBatches": regressionBatches,
		"ScalingMethod": scalingMethod, "ScalingWidth": scalingWidth, "ScalingNeighbors": scalingNeighbors, "ScalingDepth": scalingDepth, "ScalingGrowth": scalingNeighbors + 1,
	}
	for group := range names {
		values[group] = strings.Join(names[group], ", ")
	}
	if len(r.Samples) > 0 {
		values["Sizes"] = sizesText(r.regressionSizes()) + " nodes"
	}
	if slices.ContainsFunc(t.keys, func(k key) bool { return k.Kind == training || k.Kind == regressing }) {
		values["Intervals"] = r.intervals(t)
		values["Full"] = slices.ContainsFunc(t.keys, func(k key) bool { return k.Method == fullMethod && !k.Kind.timed() })
	}
	captions, text := template.Must(template.New("").Parse(captionsText)), new(strings.Builder)
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

// datasetsTable is the table of the data sets.
func datasetsTable(name string) Experiment {
	return Experiment{
		Name: name, Title: "The data sets", Data: fiveNames(),
		caption: "datasets",
		fill: []filler{func(r *runner, spec string, report *Report) {
			info := resultOf[datasets.Info](r, key{Kind: describing, Data: spec})
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
		}},
	}
}
