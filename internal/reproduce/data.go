package reproduce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gcn-layerwise/gcn/datasets"
)

// fiveNames and fourNames are the columns of most tables: the paper has no regressions on
// ogbn-products. Its Reddit is the graph of GraphSAINT, with a tenth of the edges of
// GraphSAGE's, and features standardised over the training nodes.
func fiveNames() []string { return []string{"reddit", "arxiv", "mag", "proteins", "products"} }
func fourNames() []string { return []string{"reddit", "arxiv", "proteins", "mag"} }

// published returns the published figures of one of the paper's data sets, or nil.
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

// isOriginal returns an error if a SPEC names one of the paper's data sets, and its data have
// another number of nodes: they would be shown beside the paper's numbers.
func isOriginal(spec string, data *datasets.Data) error {
	name, twin := paperDataset(spec)
	if name == "" || twin {
		return nil
	}
	p := published(name)
	if p.Nodes.Agrees(float64(data.Nodes())) {
		return nil
	}
	return fmt.Errorf("reproduce: %s is named like %s, but has %d nodes, not %.0f; give the file or folder another name", spec, p.Name, data.Nodes(), p.Nodes.Value)
}

// columnName heads the column of a SPEC: the data set as the paper names it, with a
// mark for a twin, or the SPEC.
func columnName(spec string) string {
	name, twin := paperDataset(spec)
	switch {
	case name == "":
		return lastName(spec)
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
		spec := "synth:" + name
		if !e.twins {
			var err error
			if spec, err = r.specOf(ctx, name); err != nil {
				return nil, err
			}
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

// lastName returns a SPEC without the folders of its path, as the heading of a
// panel.
func lastName(spec string) string {
	location, keys, found := strings.Cut(spec, "?")
	location = location[strings.LastIndexByte(location, '/')+1:]
	if found {
		location += "?" + keys
	}
	return location
}

// slug turns a SPEC into a file name.
func slug(spec string) string {
	words := strings.FieldsFunc(spec, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.ToLower(strings.Join(words, "-"))
}

// caption names the data sets and settings of a table or figure.
func (r *runner) caption(t task) string {
	var originals, twins, others []string
	runs, every := map[int][]string{}, map[int][]string{}
	has := func(kinds ...kind) bool {
		return slices.ContainsFunc(t.keys, func(k key) bool { return slices.Contains(kinds, k.Kind) })
	}
	trains := training
	if has(regressing) {
		trains = regressing
	}
	for _, spec := range t.data {
		switch name, twin := paperDataset(spec); {
		case twin:
			twins = append(twins, spec)
		case name != "":
			originals = append(originals, spec)
		default:
			others = append(others, spec)
		}
		n, stride := r.Runs.of(spec), r.evalEvery(trains, spec)
		runs[n], every[stride] = append(runs[n], columnName(spec)), append(every[stride], columnName(spec))
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
		sentences = append(sentences, grouped(runs, func(n int) string { return counted(n, "run") }, r.Runs.Each)+
			"; a validation score every "+grouped(every, func(n int) string { return fmt.Sprintf("%d mini-batches", n) }, r.EvalEvery.Each)+
			fmt.Sprintf("; at most %d mini-batches of %d; a run stops after %d without a better score.", r.MaxBatches, r.Batch, r.Patience))
		if slices.ContainsFunc(t.keys, func(k key) bool { return k.Method == fullMethod && !k.Kind.timed() }) {
			sentences = append(sentences, "The runs of full batch read P·X, computed once before training. The model and the distribution of its dropout are the same.")
		}
	}
	if t.caption != nil {
		sentences = append(sentences, t.caption(r))
	}
	return strings.Join(sentences, " ")
}

// grouped writes numbers with their data sets; usual, which needs no data sets if it
// is the only one, comes first.
func grouped(of map[int][]string, text func(n int) string, usual int) string {
	numbers := slices.Sorted(maps.Keys(of))
	if at := slices.Index(numbers, usual); at > 0 {
		numbers = slices.Insert(slices.Delete(numbers, at, at+1), 0, usual)
	}
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
