package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// amm is a law of the columns of B = QP in the approximate product BSC of B and
// C = HW, for draws with replacement (Drineas, Kannan & Mahoney 2006, "Fast Monte
// Carlo algorithms for matrices I").
type amm struct {
	name       string
	importance func(rows []float64) samplers.Importance // of the row norms of C

	// share returns a number proportional to the probability of a column, from its
	// norm in B and the norm of its row in C.
	share func(b, c float64) float64
}

// ammLaws are the probabilities that the paper compares: LADIES, flat, and the
// probabilities of least variance.
func ammLaws() []amm {
	return []amm{
		{"ladies", func([]float64) samplers.Importance { return samplers.LADIES{} }, func(b, _ float64) float64 { return b * b }},
		{"flat", func([]float64) samplers.Importance { return samplers.LADIES{Flat: true} }, func(b, _ float64) float64 { return b }},
		{"optimal", func(rows []float64) samplers.Importance {
			norms := make([]float32, len(rows))
			for i, v := range rows {
				norms[i] = float32(v)
			}
			return samplers.LADIES{RowNorms: norms}
		}, func(b, c float64) float64 { return b * c }},
	}
}

// failureProbability is δ of the bound on approximate products.
const failureProbability = 0.1

// ammTerms are the terms of the closed forms for one batch and one law: E‖BSC−BC‖²_F =
// (second − ‖BC‖²_F)/s, and ‖BSC−BC‖²_F ≤ bound/s with probability at least 1−δ.
type ammTerms struct{ second, bound float64 }

// terms computes them from the norms of the columns of B and of the matching rows of C.
//
//	second = Σ ‖B^[i]‖²‖C_[i]‖²/p_i
//	bound  = η²/q ‖B‖²_F‖C‖²_F,   η = 1 + √((8/q) ln(1/δ)),
//	q      = min p_i Σ_k‖B^[k]‖‖C_[k]‖ / (‖B^[i]‖‖C_[i]‖)
func (law *amm) terms(nodes []int32, columns, rows []float64) ammTerms {
	var total, products, b2, c2, second float64
	for k, i := range nodes {
		b, c := columns[k], rows[i]
		total += law.share(b, c)
		products += b * c
		b2 += b * b
		c2 += c * c
	}
	quality := 1.0
	for k, i := range nodes {
		b, c := columns[k], rows[i]
		if b*c == 0 {
			continue
		}
		p := law.share(b, c) / total
		second += b * b * c * c / p
		quality = min(quality, p*products/(b*c))
	}
	eta := 1 + math.Sqrt(8/quality*math.Log(1/failureProbability))
	return ammTerms{second, eta * eta / quality * b2 * c2}
}

// productClaims checks the paper's statements on approximate products BSC of B = QP and C = HW
// by simulation, for random mini-batches Q and a fixed product HW: the variance, and the
// comparison of flat and LADIES probabilities (appendix, lemmas), the bound of Drineas, Kannan
// & Mahoney (2006) (appendix, theorem), and the remark on low rank (§6.2).
type productClaims struct {
	Laplacian *graph.Laplacian
	Product   *graph.Features // HW, one row a node
	Nodes     []int32         // batches are drawn from these
	Sizes     []int           // numbers of draws
	Batch     int             // nodes in a batch
	Batches   int
	Rank      int // principal components in the claims on low rank
	Seed      uint64
}

// run measures all claims.
func (c *productClaims) run(ctx context.Context) (*ClaimTable, error) {
	t := new(ClaimTable)
	return t, c.products(ctx, t)
}

func (c *productClaims) products(ctx context.Context, t *ClaimTable) error {
	rows := RowNorms(c.Product)
	laws := ammLaws()
	if slices.Max(rows) == 0 {
		laws = laws[:2] // the optimal law has no candidate
	}
	e := ApproxError{Laplacian: c.Laplacian, Product: c.Product, Nodes: c.Nodes, Sizes: c.Sizes, Batch: c.Batch, Repeats: c.Batches, Seed: c.Seed}
	for _, law := range laws {
		importance := law.importance(rows)
		e.Methods = append(e.Methods, Contender{Name: law.name, New: func(size int) (samplers.Sampler, error) {
			return &samplers.LayerWise{Laplacian: c.Laplacian, Sizes: []int{size}, Importance: importance, Draw: samplers.WithReplacement{}}, nil
		}})
	}
	if err := setDefaults(&e); err != nil {
		return err
	}
	contests, err := e.contests()
	if err != nil {
		return err
	}
	values, err := e.measure(ctx, contests)
	if err != nil {
		return err
	}
	w, walk := &errorWorker{ApproxError: &e}, newColumnWalk(c.Laplacian)
	terms := make([][]ammTerms, e.Repeats) // of each batch and law
	for r := range terms {
		seeds, err := w.begin(ctx, r)
		if err != nil {
			return err
		}
		walk.walk(seeds)
		for _, law := range laws {
			terms[r] = append(terms[r], law.terms(walk.nodes, walk.norms, rows))
		}
	}
	for k, s := range c.Sizes {
		draws := func(r int) float64 { return min(float64(s), values.candidates[r]) }
		variance := func(r, l int) float64 { return (terms[r][l].second - values.norm[r]*values.norm[r]) / draws(r) }
		for l, law := range laws {
			contest := &contests[l*len(c.Sizes)+k]
			t.add(varianceClaim(contest.squared, func(r int) float64 { return variance(r, l) }), law.name, s)
			for _, row := range boundClaims(contest.squared, func(r int) float64 { return terms[r][l].bound / draws(r) }) {
				t.add(row, law.name, s)
			}
		}
		t.add(flatClaim(contests[k].squared, contests[len(c.Sizes)+k].squared, variance), "flat / ladies", s)
		if err := c.lowRank(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// varianceClaim compares the mean of ‖BSC−BC‖²_F with its closed form. The standard
// error belongs to the difference, taken batch by batch.
func varianceClaim(squared []float64, predicted func(r int) float64) ClaimRow {
	row := ClaimRow{Claim: "E‖BSC − BC‖²", Relation: "=", Agrees: true}
	var difference, closed []float64
	for r := range squared {
		closed = append(closed, predicted(r))
		difference = append(difference, squared[r]-closed[r])
	}
	want, d := NewSpread(closed).Mean, NewSpread(difference)
	row.Predicted, row.Measured, row.SE = want, want+d.Mean, d.SEM
	row.compare(want, want+d.Mean, d.SEM)
	return row
}

// boundClaims checks the bound: it holds for a share of at least 1−δ of all batches, of which
// each is a mean over the draws, and the mean of the squared errors is below it.
func boundClaims(squared []float64, bound func(r int) float64) []ClaimRow {
	var bounds, within []float64
	for r := range squared {
		bounds, within = append(bounds, bound(r)), append(within, 0)
		if squared[r] <= bounds[r] {
			within[r] = 1
		}
	}
	mean, share := NewSpread(squared), NewSpread(within)
	limit := NewSpread(bounds).Mean
	return []ClaimRow{
		{Claim: "bound of ‖BSC − BC‖²", Relation: "≤", Predicted: limit, Measured: mean.Mean, SE: mean.SEM, Agrees: mean.Mean <= limit},
		{Claim: "share of draws within the bound", Relation: "≥", Predicted: 1 - failureProbability, Measured: share.Mean, SE: share.SEM,
			Agrees: share.Mean+mostDeviation*share.SEM >= 1-failureProbability},
	}
}

// flatClaim compares the ratio of the variances of flat and LADIES probabilities.
// variance is the closed form for batch r and law l.
func flatClaim(ofLADIES, ofFlat []float64, variance func(r, l int) float64) ClaimRow {
	row := ClaimRow{Claim: "variance, flat over LADIES", Relation: "=", Agrees: true}
	var flat, ladies, flatClosed, ladiesClosed float64
	for r := range ofFlat {
		flat += ofFlat[r]
		ladies += ofLADIES[r]
		ladiesClosed += variance(r, 0)
		flatClosed += variance(r, 1)
	}
	ratio, closed := flat/ladies, flatClosed/ladiesClosed
	var rest []float64 // a ratio of means; its error is linear in these
	for r := range ofFlat {
		rest = append(rest, (ofFlat[r]-ratio*ofLADIES[r])*float64(len(ofFlat))/ladies)
	}
	se := NewSpread(rest).SEM
	row.Predicted, row.Measured, row.SE = closed, ratio, se
	row.compare(closed, ratio, se)
	return row
}

// propagate writes P̃C of a block to dst.
func propagate(dst []float32, block *graph.Block, c *graph.Features) {
	kernel.SpMMGather(dst, &block.Matrix, block.Src, c.Data, c.Cols)
}

// mostLowRank is the largest number of batches whose matrices are decomposed, which costs
// more than all other claims on a batch.
const mostLowRank = 10

// lowRank checks the remark that a sampled product recovers the principal components
// of the exact one, and that its low rank restrains noise.
func (c *productClaims) lowRank(ctx context.Context, t *ClaimTable, s int) error {
	const method = "ladies-flat-debiased"
	e := ApproxError{Laplacian: c.Laplacian, Product: c.Product, Nodes: c.Nodes, Batch: c.Batch, Seed: c.Seed}
	sampler, err := samplers.ByName(method, samplers.Config{Laplacian: c.Laplacian, Layers: 1, Sizes: []int{s}})
	if err != nil {
		return err
	}
	w := &errorWorker{ApproxError: &e}
	columns := c.Product.Cols
	components := min(c.Rank, columns)
	var captured, chance, noise, exactRank, sampledRank []float64
	highest, highestPossible := 0, min(s, columns, min(c.Batch, len(c.Nodes)))
	for r := range min(c.Batches, mostLowRank) {
		if err := ctx.Err(); err != nil {
			return err
		}
		seeds, err := w.begin(ctx, r)
		if err != nil {
			return err
		}
		exactProduct := make([]float32, len(seeds)*c.Product.Cols)
		w.guess = make([]float32, len(exactProduct))
		propagate(exactProduct, w.exact.Blocks[0], c.Product)
		if err := sampler.Sample(ctx, seeds, rand.New(samplers.NewSource(c.Seed, uint64(r), 1)), &w.batch); err != nil {
			return err
		}
		propagate(w.guess, w.batch.Blocks[0], c.Product)
		truth, guess := denseOf(exactProduct, columns), denseOf(w.guess, columns)
		exact, err := spectrumOf(truth)
		if err != nil {
			return err
		}
		sampled, err := spectrumOf(guess)
		if err != nil {
			return err
		}
		highest = max(highest, sampled.rank())
		best := sum(exact.values[:components])
		if best == 0 || sampled.values[0] == 0 {
			continue
		}
		first := sampled.first(components)
		var on, kept, d, kd mat.Dense
		on.Mul(truth, first)
		captured = append(captured, squaredFrobenius(&on)/best)
		chance = append(chance, sum(exact.values)*float64(components)/float64(columns)/best)
		on.Mul(guess, first)
		kept.Mul(&on, first.T())
		kd.Sub(&kept, truth)
		d.Sub(guess, truth)
		if all := squaredFrobenius(&d); all > 0 {
			noise = append(noise, squaredFrobenius(&kd)/all)
		}
		exactRank = append(exactRank, sum(exact.values)/exact.values[0])
		sampledRank = append(sampledRank, sum(sampled.values)/sampled.values[0])
	}
	t.add(ClaimRow{Claim: "rank of BSC", Relation: "≤", Predicted: float64(highestPossible), Measured: float64(highest), Agrees: highest <= highestPossible}, method, s)
	if len(captured) == 0 {
		return nil
	}
	inequality := func(claim, relation string, predicted float64, values []float64) {
		v := NewSpread(values)
		agrees := v.Mean-mostDeviation*v.SEM <= predicted
		if relation == "≥" {
			agrees = v.Mean+mostDeviation*v.SEM >= predicted
		}
		t.add(ClaimRow{Claim: claim, Relation: relation, Predicted: predicted, Measured: v.Mean, SE: v.SEM, Agrees: agrees}, method, s)
	}
	inequality(fmt.Sprintf("signal in BSC's %d first components", components), "≥", NewSpread(chance).Mean, captured)
	if len(noise) > 0 {
		inequality(fmt.Sprintf("error of BSC's %d first components", components), "≤", 1, noise)
	}
	inequality("stable rank of BSC", "≤", NewSpread(exactRank).Mean, sampledRank)
	return nil
}

// spectrum holds the squared singular values of a matrix, largest first, and its right
// singular vectors.
type spectrum struct {
	values  []float64
	vectors *mat.Dense
}

// spectrumOf decomposes XᵀX: X has more rows than columns, and only the largest
// values matter.
func spectrumOf(x *mat.Dense) (*spectrum, error) {
	_, n := x.Dims()
	gram := mat.NewSymDense(n, nil)
	gram.SymOuterK(1, x.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, fmt.Errorf("study: low rank: the eigenvalues of a matrix of %d columns do not converge", n)
	}
	s := &spectrum{values: make([]float64, n), vectors: new(mat.Dense)}
	var ascending mat.Dense
	eigen.VectorsTo(&ascending)
	s.vectors.CloneFrom(&ascending)
	for k, v := range eigen.Values(nil) {
		s.values[n-1-k] = max(v, 0)
		s.vectors.SetCol(n-1-k, mat.Col(nil, k, &ascending))
	}
	return s, nil
}

// first returns the first n right singular vectors, as columns.
func (s *spectrum) first(n int) mat.Matrix {
	rows, _ := s.vectors.Dims()
	return s.vectors.Slice(0, rows, 0, n)
}

// rank counts the singular values above the rounding of single precision.
func (s *spectrum) rank() int {
	const rounding = 1e-12 // squared
	n := 0
	for n < len(s.values) && s.values[n] > rounding*s.values[0] {
		n++
	}
	return n
}

// denseOf returns row-major values as a matrix.
func denseOf(x []float32, columns int) *mat.Dense {
	values := make([]float64, len(x))
	for k, v := range x {
		values[k] = float64(v)
	}
	return mat.NewDense(len(x)/columns, columns, values)
}

func squaredFrobenius(x *mat.Dense) float64 {
	n := mat.Norm(x, 2)
	return n * n
}

func sum(x []float64) float64 {
	var total float64
	for _, v := range x {
		total += v
	}
	return total
}
