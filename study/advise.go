package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
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
	Products  []*graph.Features // HW of each layer, next to the output first; or one product for all layers; required without Product
	Nodes     []int32           // training nodes; required

	Methods []string `default:"[\"ladies\",\"ladies-flat\",\"ladies-debiased\",\"ladies-flat-debiased\",\"fastgcn-flat-debiased\"]"` // to choose from
	Layers  int      `default:"2" least:"1"`
	Samples []int    // of each layer, next to the output first, to measure their errors; nil means to choose them
	Batch   int      `default:"512" least:"1"`
	Target  float64  `default:"1" least:"0"`    // relative error aimed at
	Most    int      `default:"8192" least:"1"` // largest sample size to consider
	Repeats int      // mini-batches; 0 means 4 to 16, by the work of one
	Seed    uint64

	// Product, if not nil, gives HW at the given nodes of a layer, counted from the output: those
	// that the measurement of Samples reads. It takes the place of Products.
	Product func(layer int, nodes []int32) (*graph.Features, error)

	contenders []Contender // of Methods
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
	Reasons []string      `json:"reasons"` // sentences
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
	if k := Recommended(trials); k >= 0 {
		a.Method, a.Samples, a.ExactInput = trials[k].Method, trials[k].Samples, trials[k].ExactInput
	}
}

// fullShare is the share of the candidates above which drawing saves nothing.
const fullShare = 0.8

// Run measures one layer after another, next to the output first, and recommends. The best method
// of a layer draws the rows of the next one.
func (a Advise) Run(ctx context.Context) (*Advice, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	advice := &Advice{Target: a.Target, Seed: a.Seed}
	var above []samplers.Sampler
	for l := range a.Layers {
		layer, err := a.measure(ctx, l, above)
		if err != nil {
			return nil, err
		}
		advice.Layers = append(advice.Layers, *layer)
		best := slices.MinFunc(a.contenders, func(x, y Contender) int {
			return cmp.Compare(layer.Errors.relative(x.Name, layer.Samples), layer.Errors.relative(y.Name, layer.Samples))
		})
		next, err := best.New(layer.Samples)
		if err != nil {
			return nil, err
		}
		above = append(above, next)
	}
	advice.Method = a.method(advice.Layers)
	for l := range advice.Layers {
		layer := &advice.Layers[l]
		layer.Met = true // of full, which is exact
		if advice.Method != "full" {
			layer.Relative = layer.Errors.relative(advice.Method, layer.Samples)
			layer.Met = layer.Relative <= 1.1*a.Target
			advice.Samples = append(advice.Samples, layer.Samples)
		}
		advice.Reasons = append(advice.Reasons, fmt.Sprintf("layer %d from the output: ", l+1)+a.reason(advice.Method, layer))
	}
	return advice, nil
}

// check fills in defaults, and reports the first argument that is missing or does not
// fit the graph.
func (a *Advise) check() (err error) {
	if err := cmp.Or(setDefaults(a), checkGraph(a.Laplacian, a.Nodes)); err != nil {
		return err
	}
	switch {
	case len(a.Nodes) == 0:
		return errors.New("study: advice needs training nodes")
	case a.Samples != nil && len(a.Samples) != a.Layers:
		return fmt.Errorf("study: %d sample sizes for %d layers", len(a.Samples), a.Layers)
	case a.Product != nil:
		a.Products = make([]*graph.Features, a.Layers)
	case len(a.Products) != 1 && len(a.Products) != a.Layers:
		return fmt.Errorf("study: %d products HW for %d layers, want one a layer or one for all", len(a.Products), a.Layers)
	}
	a.contenders, err = Contenders(a.Methods, a.Laplacian, a.Nodes)
	return err
}

// read makes the product of a layer. It holds only the rows that a measurement reads, as one of
// several processes holds its rows.
func (a *Advise) read(ctx context.Context, layer int, w *errorWorker) error {
	var nodes []int32
	for r := range a.Repeats {
		if _, err := w.begin(ctx, r); err != nil {
			return err
		}
		nodes = append(nodes, w.exact.Blocks[0].Src...)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	part, err := a.Product(layer, nodes)
	if err != nil {
		return err
	}
	all := *part
	all.Rows, all.Share, all.Place = a.Laplacian.Nodes(), new(graph.Share), make([]int32, a.Laplacian.Nodes())
	for k, v := range nodes {
		all.Place[v] = int32(k)
	}
	a.Products[layer] = &all
	return nil
}

// measure measures the errors of all methods in layer l from the output, whose rows the
// samplers above draw. It takes the size in Samples, or measures sizes up to the number of
// candidates and chooses one.
func (a *Advise) measure(ctx context.Context, l int, above []samplers.Sampler) (*LayerAdvice, error) {
	e := ApproxError{
		Laplacian: a.Laplacian, Nodes: a.Nodes, below: above,
		Methods: a.contenders, Batch: a.Batch, Repeats: a.Repeats, Seed: a.Seed,
	}
	w := &errorWorker{ApproxError: &e}
	if a.Product != nil {
		if err := a.read(ctx, l, w); err != nil {
			return nil, err
		}
	}
	at := min(l, len(a.Products)-1)
	e.Product = a.Products[at]
	if err := checkProduct(e.Product, a.Laplacian.Nodes()); err != nil {
		return nil, fmt.Errorf("%w (product %d)", err, at)
	}
	if !kernel.Finite(e.Product.Data) {
		return nil, fmt.Errorf("study: advice needs products HW of finite numbers; product %d has other values", at)
	}
	seeds, err := w.begin(ctx, 0) // one mini-batch, for its size
	if err != nil {
		return nil, err
	}
	block := w.exact.Blocks[0]
	if e.Sizes = sizesUpTo(min(a.Most, len(block.Src))); a.Samples != nil {
		e.Sizes = a.Samples[l : l+1]
	}
	if e.Repeats == 0 { // a layer takes seconds
		const budget = 2e11
		work := float64(block.Matrix.NNZ()) * float64(e.Product.Cols) * float64(len(e.Methods)*len(e.Sizes)) // of one mini-batch, in multiplications
		e.Repeats = int(min(max(budget/(2*work), 4), 16))
	}
	table, err := e.Run(ctx)
	if err != nil {
		return nil, err
	}
	layer := &LayerAdvice{Rows: len(seeds), Candidates: table.Candidates, Errors: table}
	if layer.Samples = a.size(table); a.Samples != nil {
		layer.Samples = a.Samples[l]
	}
	return layer, nil
}

// size returns the smallest size at which some method reaches the target, or the
// largest measured size if none does. It considers the sizes of nextSize.
func (a *Advise) size(t *ErrorTable) int {
	most := t.Rows[len(t.Rows)-1].Samples
	for s := 32; s < most; s = nextSize(s) {
		if slices.ContainsFunc(a.Methods, func(method string) bool { return t.relative(method, s) <= a.Target }) {
			return s
		}
	}
	return most
}

// method chooses one method for all layers, with the least product of the
// layers' errors. Among methods that the measurement cannot tell apart, it takes
// the preferred one.
func (a *Advise) method(layers []LayerAdvice) string {
	if !slices.ContainsFunc(layers, func(l LayerAdvice) bool { return float64(l.Samples) < fullShare*l.Candidates }) {
		return "full"
	}
	logs, noises := make([]float64, len(a.Methods)), make([]float64, len(a.Methods))
	least, n := 0, float64(len(layers))
	for k, method := range a.Methods {
		for _, l := range layers {
			logs[k] += math.Log(max(l.Errors.relative(method, l.Samples), 1e-9)) / n
			at := slices.IndexFunc(l.Errors.Rows, func(r ErrorRow) bool { return r.Method == method && r.Samples >= l.Samples })
			r := l.Errors.Rows[at] // the largest size is measured
			noises[k] += r.SEM / max(r.Mean, 1e-30) / n
		}
		if logs[k] < logs[least] {
			least = k
		}
	}
	chosen := ""
	for k, m := range a.Methods {
		if logs[k] <= logs[least]+max(0.01, noises[k]+noises[least]) && (chosen == "" || preference(m) > preference(chosen)) {
			chosen = m
		}
	}
	return chosen
}

// preference ranks methods whose errors do not differ: unbiased ones first, then
// flat ones, whose probabilities are more even.
func preference(method string) int {
	return 2*strings.Count(method, "debiased") + strings.Count(method, "flat")
}

// reason says why a layer has its sample size.
func (a *Advise) reason(method string, layer *LayerAdvice) string {
	share := 100 * float64(layer.Samples) / layer.Candidates
	switch {
	case method == "full":
		return fmt.Sprintf("%d rows see %.0f nodes; an error of %.2g times the signal needs %d of them (%.0f %%), so take them all", layer.Rows, layer.Candidates, a.Target, layer.Samples, share)
	case layer.Met:
		return fmt.Sprintf("%d of %.0f candidates (%.0f %%) is the smallest size with an error of at most %.2g times the signal: %.2f", layer.Samples, layer.Candidates, share, a.Target, layer.Relative)
	}
	return fmt.Sprintf("no size up to %d brings the error to %.2g times the signal; at %d of %.0f candidates (%.0f %%) it is %.2f", a.Most, a.Target, layer.Samples, layer.Candidates, share, layer.Relative)
}

// sizesUpTo returns the sizes to measure: most, a half and a quarter of it, where
// curves bend as the candidates run out. Below them each size is a quarter of the next,
// down to 32.
func sizesUpTo(most int) []int {
	sizes := []int{most}
	for s := most / 2; s >= 32; s /= 2 {
		if sizes = append(sizes, s); len(sizes) > 2 {
			s /= 2
		}
	}
	slices.Reverse(sizes)
	return sizes
}

// nextSize returns the size after s in 32, 40, 48, 56, 64, 80 …: powers of two, and
// three equal steps between each two.
func nextSize(s int) int {
	return s + 1<<(bits.Len(uint(s))-3)
}

// relative returns a method's error over the signal at a size between two measured ones. It
// interpolates the error's square linearly in 1/s, as the variance of simple random sampling
// is (1/s − 1/m) times a constant. It returns NaN for a method that was not measured, and
// +Inf for an error without a signal.
func (t *ErrorTable) relative(method string, size int) float64 {
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r ErrorRow) bool { return r.Method != method }) // by size
	at := slices.IndexFunc(rows, func(r ErrorRow) bool { return r.Samples > size })
	switch {
	case len(rows) == 0:
		return math.NaN()
	case at == 0: // far fewer draws than candidates: the variance is proportional to 1/s
		return t.overSignal(rows[0].Mean * math.Sqrt(float64(rows[0].Samples)/float64(size)))
	case at < 0:
		return t.overSignal(rows[len(rows)-1].Mean)
	}
	below, beyond := rows[at-1], rows[at]
	x0, x1 := 1/float64(below.Samples), 1/float64(beyond.Samples)
	y0, y1 := below.Mean*below.Mean, beyond.Mean*beyond.Mean
	return t.overSignal(math.Sqrt(max(y0+(y1-y0)*(1/float64(size)-x0)/(x1-x0), 0)))
}

// overSignal divides an error by the signal.
func (t *ErrorTable) overSignal(e float64) float64 {
	if e == 0 {
		return 0
	}
	return e / t.Signal
}
