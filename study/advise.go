package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Advise recommends a layer-wise method and its sample sizes for a graph. It
// measures the errors of all methods there on a few mini-batches.
//
// It chooses the sizes first. The size of a layer is the smallest at which the
// best method's error over the signal,
//
//	‖QPHW − QPSHW‖_F / ‖QPHW − 1⊗x̄‖_F,  x̄ the mean row of QPHW,
//
// is at most Target. The mean row is no signal, as all rows share it. The method
// is the method with the least error at those sizes. Among methods that the
// measurement cannot tell apart, Advise prefers an unbiased one, whose errors
// average out from batch to batch. If almost all candidates would be drawn,
// drawing saves nothing, and the advice is the method full.
type Advise struct {
	Laplacian *graph.Laplacian  // required
	Products  []*graph.Features // HW of each layer, next to the output first; or one product for all layers; required
	Nodes     []int32           // training nodes; required

	Methods []string // to choose from; nil means LADIES and its variants, and the best of FastGCN's
	Layers  int      // 0 means 2
	Batch   int      // 0 means 512
	Target  float64  // relative error aimed at; 0 means 1
	Most    int      // largest sample size to consider; 0 means 8192
	Repeats int      // mini-batches; 0 means 4 to 16, by the work of one
	Seed    uint64

	places []int32 // of ApproxError
}

// LayerAdvice is the advice for one layer.
type LayerAdvice struct {
	Rows       int     `json:"rows"`       // output nodes of the layer
	Candidates float64 `json:"candidates"` // mean number
	Samples    int     `json:"samples"`    // recommended
	Relative   float64 `json:"relative"`   // error of the recommended method there, over the signal
	Met        bool    `json:"met"`        // Relative is at most 1.1 times the target

	Errors *ErrorTable `json:"errors"` // all measurements
}

// Advice is the outcome of an Advise.
type Advice struct {
	Method  string        `json:"method"`
	Samples []int         `json:"samples"` // next to the output first; empty for the method full
	Layers  []LayerAdvice `json:"layers"`
	Target  float64       `json:"target"`
	Moment  float64       `json:"moment_ratio"` // of Norms: below 1 speaks for flat
	C1      float64       `json:"c1"`           // of Norms
	Reasons []string      `json:"reasons"`      // sentences
	Seed    uint64        `json:"seed"`

	ExactInput bool    `json:"exact_input"` // set by Take
	Trials     []Trial `json:"trials,omitempty"`

	// Alone is the score of FeaturesAlone after the mini-batches of the trials, with as many
	// hops as the model has convolutions; nil if the caller did not measure it.
	Alone *FeaturesMean `json:"features_alone,omitempty"`
}

// NeedsNoGCN reports whether Alone is at least as good as all trials.
func (a *Advice) NeedsNoGCN() bool {
	return a.Alone != nil && len(a.Trials) > 0 && !slices.ContainsFunc(a.Trials, func(t Trial) bool { return !(t.Score <= a.Alone.Valid) })
}

// Take makes the recommended trial the advice. Layers and Reasons stay as the measured errors
// gave them. If no trial is recommended, the advice does not change.
func (a *Advice) Take(trials []Trial) {
	a.Trials = trials
	if k := Recommended(trials, 0); k >= 0 {
		a.Method, a.Samples, a.ExactInput = trials[k].Method, trials[k].Samples, trials[k].ExactInput
	}
}

// fullShare is the share of the candidates above which drawing saves nothing.
const fullShare = 0.8

// Run measures and recommends.
func (a Advise) Run(ctx context.Context) (*Advice, error) {
	if err := a.setDefaults(); err != nil {
		return nil, err
	}
	if err := a.check(ctx); err != nil {
		return nil, err
	}
	advice := &Advice{Target: a.Target, Seed: a.Seed}
	var above []samplers.Sampler
	for l := range a.Layers {
		table, rows, err := a.measure(ctx, l, above, nil)
		if err != nil {
			return nil, err
		}
		layer := LayerAdvice{Rows: rows, Candidates: table.Candidates, Samples: a.size(table), Errors: table}
		advice.Layers = append(advice.Layers, layer)
		next, err := a.sampler(best(layer.Errors, layer.Samples), layer.Samples)
		if err != nil {
			return nil, err
		}
		above = append(above, next)
	}
	advice.Method = a.method(advice.Layers)
	for l := range advice.Layers {
		layer := &advice.Layers[l]
		if advice.Method == "full" { // exact
			layer.Met = true
			continue
		}
		layer.Relative = interpolate(layer.Errors, advice.Method, float64(layer.Samples))
		layer.Met = layer.Relative <= 1.1*a.Target
		advice.Samples = append(advice.Samples, layer.Samples)
	}
	norms, err := Norms{ // the verdict on flat probabilities in the first layer
		Laplacian: a.Laplacian, Nodes: a.Nodes, Batches: 8, Batch: a.Batch, Seed: a.Seed,
		Layers: []LayerNorms{{Name: "next to the output", Norms: RowNorms(a.Products[0])}},
	}.Run(ctx)
	if err != nil {
		return nil, err
	}
	advice.Moment, advice.C1 = norms.Rows[0].MomentRatio, norms.Rows[0].C1
	a.explain(advice)
	return advice, nil
}

// Errors measures, for one method with the given sample sizes, the error of each layer
// over its signal. Sizes, layers and results begin next to the output. product returns HW of
// a layer at the given nodes, one row a node: the measurement reads the neighbours of a few
// mini-batches, and no other rows. Products is not used. Repeats of 0 means 4.
func (a Advise) Errors(ctx context.Context, method string, samples []int, product func(layer int, nodes []int32) (*graph.Features, error)) ([]float64, error) {
	a.Methods, a.Layers, a.Products = []string{method}, len(samples), make([]*graph.Features, len(samples))
	a.Repeats = cmp.Or(a.Repeats, 4)
	if err := a.setDefaults(); err != nil {
		return nil, err
	}
	if err := checkGraph(ctx, a.Laplacian, a.Nodes); err != nil {
		return nil, err
	}
	var relative []float64
	var above []samplers.Sampler
	for l, size := range samples {
		nodes, err := a.read(ctx, above)
		if err != nil {
			return nil, err
		}
		hw, err := product(l, nodes)
		if err != nil {
			return nil, err
		}
		if err := checkProduct(hw, len(nodes)); err != nil {
			return nil, err
		}
		if !kernel.Finite(hw.Data) {
			return nil, fmt.Errorf("study: errors need products HW of finite numbers; the product of layer %d has other values", l+1)
		}
		a.Products[l], a.places = hw, make([]int32, a.Laplacian.Nodes())
		for k, v := range nodes {
			a.places[v] = int32(k)
		}
		table, _, err := a.measure(ctx, l, above, []int{size})
		if err != nil {
			return nil, err
		}
		relative = append(relative, table.overSignal(table.Rows[0].Mean))
		next, err := a.sampler(method, size)
		if err != nil {
			return nil, err
		}
		above = append(above, next)
	}
	return relative, nil
}

// read returns the nodes whose rows of HW the measurement of a layer reads, below the given
// samplers.
func (a *Advise) read(ctx context.Context, above []samplers.Sampler) ([]int32, error) {
	w := newErrorWorker(&ApproxError{Laplacian: a.Laplacian, Nodes: a.Nodes, Below: above, Batch: a.Batch, Seed: a.Seed})
	is := make([]bool, a.Laplacian.Nodes())
	for r := range a.Repeats {
		if _, err := w.begin(ctx, r); err != nil {
			return nil, err
		}
		for _, v := range w.exact.Blocks[0].Src {
			is[v] = true
		}
	}
	var nodes []int32
	for v, read := range is {
		if read {
			nodes = append(nodes, int32(v))
		}
	}
	return nodes, nil
}

func (a *Advise) setDefaults() error {
	if a.Methods == nil {
		a.Methods = []string{"ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased", "fastgcn-flat-debiased"}
	}
	a.Layers = cmp.Or(a.Layers, 2)
	a.Batch = cmp.Or(a.Batch, 512)
	a.Most = cmp.Or(a.Most, 8192)
	a.Target = cmp.Or(a.Target, 1)
	switch {
	case a.Laplacian == nil || len(a.Nodes) == 0:
		return errors.New("study: advice needs a Laplacian and training nodes")
	case len(a.Products) != 1 && len(a.Products) != a.Layers:
		return fmt.Errorf("study: %d products HW for %d layers, want one a layer or one for all", len(a.Products), a.Layers)
	case a.Layers < 1 || a.Batch < 1 || a.Most < 1 || !(a.Target > 0):
		return fmt.Errorf("study: advice for %d layers, batches of %d, samples up to %d and an error of %v: want positive numbers", a.Layers, a.Batch, a.Most, a.Target)
	}
	return nil
}

// check reports the first argument that is missing or does not fit the graph.
func (a *Advise) check(ctx context.Context) error {
	if err := checkGraph(ctx, a.Laplacian, a.Nodes); err != nil {
		return err
	}
	for l, hw := range a.Products {
		if err := checkProduct(hw, a.Laplacian.Nodes()); err != nil {
			return fmt.Errorf("%w (product %d)", err, l)
		}
		if !kernel.Finite(hw.Data) {
			return fmt.Errorf("study: advice needs products HW of finite numbers; product %d has other values", l)
		}
	}
	return nil
}

// sampler returns the sampler of one layer.
func (a *Advise) sampler(method string, size int) (samplers.Sampler, error) {
	c, err := ContenderByName(method, a.Laplacian, a.Nodes)
	if err != nil {
		return nil, err
	}
	return c.New(size)
}

// measure measures the errors of all methods in layer l from the output, whose rows the
// samplers above draw, at the given sizes; nil means sizes up to the number of candidates.
func (a *Advise) measure(ctx context.Context, l int, above []samplers.Sampler, sizes []int) (table *ErrorTable, rows int, err error) {
	w := newErrorWorker(&ApproxError{Laplacian: a.Laplacian, Nodes: a.Nodes, Below: above, Batch: a.Batch, Seed: a.Seed})
	seeds, err := w.begin(ctx, 0) // one mini-batch, for its size
	if err != nil {
		return nil, 0, err
	}
	block := w.exact.Blocks[0]
	if sizes == nil {
		sizes = sizesUpTo(min(a.Most, len(block.Src)))
	}
	e := ApproxError{
		Laplacian: a.Laplacian, Product: a.Products[min(l, len(a.Products)-1)], Nodes: a.Nodes, Below: above,
		Sizes: sizes, Batch: a.Batch, Repeats: a.Repeats, Seed: a.Seed, places: a.places,
	}
	for _, name := range a.Methods {
		c, err := ContenderByName(name, a.Laplacian, a.Nodes)
		if err != nil {
			return nil, 0, err
		}
		e.Methods = append(e.Methods, c)
	}
	if e.Repeats == 0 { // a layer takes seconds
		const budget = 2e11
		work := float64(block.Matrix.NNZ()) * float64(e.Product.Cols) * float64(len(e.Methods)*len(e.Sizes)) // of one mini-batch, in multiplications
		e.Repeats = int(min(max(budget/(2*work), 4), 16))
	}
	table, err = e.Run(ctx)
	return table, len(seeds), err
}

// size returns the smallest size at which some method reaches the target, or the
// largest measured size if none does. It considers the sizes of nextSize.
func (a *Advise) size(t *ErrorTable) int {
	sizes := t.sizes()
	most := sizes[len(sizes)-1]
	for s := 32; s < most; s = nextSize(s) {
		for _, method := range a.Methods {
			if interpolate(t, method, float64(s)) <= a.Target {
				return s
			}
		}
	}
	return most
}

// best returns the method of least error at a size, the first of equal ones.
func best(t *ErrorTable, size int) string {
	method, least := "", math.Inf(1)
	for _, r := range t.Rows {
		if r.Samples != t.Rows[0].Samples {
			continue // one row a method
		}
		if e := interpolate(t, r.Method, float64(size)); e < least || method == "" {
			method, least = r.Method, e
		}
	}
	return method
}

// method chooses one method for all layers, with the least product of the
// layers' errors. Among methods that the measurement cannot tell apart, it takes
// the preferred one.
func (a *Advise) method(layers []LayerAdvice) string {
	drawn := false
	for _, l := range layers {
		drawn = drawn || float64(l.Samples) < fullShare*l.Candidates
	}
	if !drawn {
		return "full"
	}
	score := func(method string) (log, noise float64) {
		for _, l := range layers {
			log += math.Log(max(interpolate(l.Errors, method, float64(l.Samples)), 1e-9)) / float64(len(layers))
			noise += relativeNoise(l.Errors, method, l.Samples) / float64(len(layers))
		}
		return log, noise
	}
	least, leastNoise := math.Inf(1), 0.0
	for _, m := range a.Methods {
		if log, noise := score(m); log < least {
			least, leastNoise = log, noise
		}
	}
	chosen := ""
	for _, m := range a.Methods {
		log, noise := score(m)
		if log <= least+max(0.01, noise+leastNoise) && preference(m) > preference(chosen) {
			chosen = m
		}
	}
	return chosen
}

// relativeNoise returns the standard error of a method's error divided by the
// error, at the smallest measured size that is not below size.
func relativeNoise(t *ErrorTable, method string, size int) float64 {
	for _, r := range t.Rows {
		if r.Method == method && r.Samples >= size {
			return r.SEM / max(r.Mean, 1e-30)
		}
	}
	return 0
}

// preference ranks methods whose errors do not differ: unbiased ones first, then
// flat ones, whose probabilities are more even.
func preference(method string) int {
	if method == "" {
		return 0
	}
	rank := 1
	if strings.Contains(method, "debiased") {
		rank += 2
	}
	if strings.Contains(method, "flat") {
		rank++
	}
	return rank
}

// explain writes the reasons.
func (a *Advise) explain(advice *Advice) {
	say := func(format string, args ...any) {
		advice.Reasons = append(advice.Reasons, fmt.Sprintf(format, args...))
	}
	for l, layer := range advice.Layers {
		share := 100 * float64(layer.Samples) / layer.Candidates
		switch {
		case advice.Method == "full":
			say("layer %d from the output: %d rows see %.0f nodes; an error of %.2g times the signal needs %d of them (%.0f %%), so take them all", l+1, layer.Rows, layer.Candidates, a.Target, layer.Samples, share)
		case layer.Met:
			say("layer %d from the output: %d of %.0f candidates (%.0f %%) is the smallest size with an error of at most %.2g times the signal: %.2f", l+1, layer.Samples, layer.Candidates, share, a.Target, layer.Relative)
		default:
			say("layer %d from the output: no size up to %d brings the error to %.2g times the signal; at %d of %.0f candidates (%.0f %%) it is %.2f", l+1, a.Most, a.Target, layer.Samples, layer.Candidates, share, layer.Relative)
		}
	}
	if advice.Method == "full" {
		advice.Samples = nil
		return
	}
	first := advice.Layers[0]
	at := func(method string) float64 { return interpolate(first.Errors, method, float64(first.Samples)) }
	if plain, flat := at("ladies"), at("ladies-flat"); plain > 0 && flat > 0 && !math.IsInf(plain, 0) {
		say("flat probabilities change the error of LADIES by a factor of %.2f at %d (second moments: factor %.2f; the columns' unevenness C1 is %.2f)", flat/plain, first.Samples, advice.Moment, advice.C1)
		say("debiased weights change it by a factor of %.2f, and with flat probabilities by %.2f; the effect grows with the drawn share", at("ladies-debiased")/plain, at("ladies-flat-debiased")/flat)
	}
	if fast := at("fastgcn-flat-debiased"); fast > 0 && first.Relative > 0 && !math.IsInf(first.Relative, 0) {
		say("drawing from all nodes of the graph, as FastGCN does, makes the error %.1f times as large as with %s", fast/first.Relative, advice.Method)
	}
}
