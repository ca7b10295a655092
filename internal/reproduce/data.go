package reproduce

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
)

// dataset is one of the paper's data sets.
type dataset struct {
	name     string // here and in paper.json
	printed  string // in the paper
	original string // SPEC of the graph that the paper used
}

// paperData returns the paper's data sets in the order of its tables. Its Reddit is
// the graph of GraphSAINT, with a tenth of the edges of GraphSAGE's, and features
// standardised over the training nodes.
func paperData() []dataset {
	return []dataset{
		{"reddit", "Reddit", "reddit-saint"},
		{"arxiv", "ogbn-arxiv", "ogbn-arxiv"},
		{"mag", "ogbn-mag", "ogbn-mag"},
		{"proteins", "ogbn-proteins", "ogbn-proteins"},
		{"products", "ogbn-products", "ogbn-products"},
	}
}

// fiveNames and fourNames are the columns of most tables: the paper has no
// regressions on ogbn-products.
func fiveNames() []string { return []string{"reddit", "arxiv", "mag", "proteins", "products"} }
func fourNames() []string { return []string{"reddit", "arxiv", "proteins", "mag"} }

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

// isOriginal returns an error if a SPEC names one of the paper's data sets, and its data have
// another number of nodes: they would be shown beside the paper's numbers.
func isOriginal(spec string, data *datasets.Data) error {
	name, twin := paperDataset(spec)
	if name == "" || twin {
		return nil
	}
	published, _ := datasets.FindPublished("synth:" + name)
	if published == nil || published.Nodes.Agrees(float64(data.Nodes())) {
		return nil
	}
	return fmt.Errorf("reproduce: %s is named like %s, but has %d nodes, not %.0f; give the file or folder another name", spec, published.Name, data.Nodes(), published.Nodes.Value)
}

// columnName heads the column of a SPEC: the data set as the paper names it, with a
// mark for a twin, or the SPEC.
func columnName(spec string) string {
	name, twin := paperDataset(spec)
	for _, d := range paperData() {
		if d.name == name {
			if twin {
				return d.printed + " (twin)"
			}
			return d.printed
		}
	}
	return lastName(spec)
}

// dataOf returns the SPECs of an experiment's columns.
func (r *runner) dataOf(ctx context.Context, e Experiment) ([]string, error) {
	var specs []string
	if len(r.Data) == 0 {
		for _, name := range e.Data {
			if e.twins {
				specs = append(specs, "synth:"+name)
				continue
			}
			spec, err := r.specOf(ctx, name)
			if err != nil {
				return nil, err
			}
			specs = append(specs, spec)
		}
		return specs, nil
	}
	for _, spec := range r.Data {
		if name, _ := paperDataset(spec); name == "" || slices.Contains(e.Data, name) {
			specs = append(specs, spec)
		}
	}
	return specs, nil
}

// specOf returns the SPEC of one of the paper's data sets: the original if it is in
// the cache, else the twin.
func (r *runner) specOf(ctx context.Context, name string) (string, error) {
	if spec, there := r.chosen[name]; there {
		return spec, nil
	}
	for _, d := range paperData() {
		if d.name != name {
			continue
		}
		offline := r.DataOptions
		offline.Offline = true
		data, err := datasets.Open(ctx, d.original, offline)
		switch {
		case errors.Is(err, datasets.ErrOffline):
			r.chosen[name] = "synth:" + name
		case err != nil:
			return "", err
		default:
			if err := data.Close(); err != nil {
				return "", err
			}
			r.chosen[name] = d.original
		}
		return r.chosen[name], nil
	}
	return "", fmt.Errorf("reproduce: the paper has no data set %q", name)
}

// caption names the data sets and settings of a table or figure.
func (r *runner) caption(c task) string {
	var originals, twins, others []string
	runs, every := map[int][]string{}, map[int][]string{}
	has := func(kinds ...kind) bool {
		return slices.ContainsFunc(c.jobs, func(j job) bool { return slices.Contains(kinds, j.kind) })
	}
	trains := training
	if has(regressing) {
		trains = regressing
	}
	for _, spec := range c.data {
		switch name, twin := paperDataset(spec); {
		case twin:
			twins = append(twins, spec)
		case name != "":
			originals = append(originals, spec)
		default:
			others = append(others, spec)
		}
		runs[r.Runs.of(spec)] = append(runs[r.Runs.of(spec)], columnName(spec))
		stride := r.evalEvery(job{kind: trains, spec: spec})
		every[stride] = append(every[stride], columnName(spec))
	}
	var sentences []string
	for _, s := range []struct {
		words string
		specs []string
	}{{"Original data: ", originals}, {"Generated twins, not the original data: ", twins}, {"Data that are not in the paper: ", others}} {
		if len(s.specs) > 0 {
			sentences = append(sentences, s.words+strings.Join(s.specs, ", ")+".")
		}
	}
	if has(training, regressing) && !has(erring) { // the errors need one run only
		sentences = append(sentences, grouped(runs, runsText, r.Runs.Each)+"; a validation score every "+grouped(every, func(n int) string { return fmt.Sprintf("%d mini-batches", n) }, r.EvalEvery.Each)+
			fmt.Sprintf("; at most %d mini-batches of %d; a run stops after %d without a better score.", r.MaxBatches, r.Batch, r.Patience))
		full := slices.ContainsFunc(c.jobs, func(j job) bool { return j.method == fullMethod && !j.kind.timed() })
		if full {
			sentences = append(sentences, "The runs of full batch read P·X, computed once before training. The model and the distribution of its dropout are the same.")
		}
	}
	if c.Caption != nil {
		sentences = append(sentences, c.Caption(r))
	}
	return strings.Join(sentences, " ")
}

// grouped writes numbers with their data sets; usual, which needs no data sets if it
// is the only one, comes first.
func grouped(of map[int][]string, text func(n int) string, usual int) string {
	var numbers []int
	for n := range of {
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, func(a, b int) int {
		if (a == usual) != (b == usual) {
			return map[bool]int{true: -1, false: 1}[a == usual]
		}
		return a - b
	})
	var words []string
	for _, n := range numbers {
		word := text(n)
		if len(numbers) > 1 {
			word += " on " + strings.Join(of[n], ", ")
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// runsText is a number of runs in words.
func runsText(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
