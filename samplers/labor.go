package samplers

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Labor is layer-neighbour sampling (Balin & Çatalyürek 2023, arXiv:2210.13339):
// each row keeps about k of its neighbours, as in node-wise sampling, but all rows
// of a layer use the same random numbers. They tend to keep the same neighbours,
// so the layer reads fewer nodes.
//
// A layer draws one uniform r_t for each candidate t, and row i keeps the entry
// P[i][t] if r_t ≤ p_it, with the Horvitz-Thompson weight:
//
//	P̃[i][t] = P[i][t] / p_it,   p_it = min(1, c_i π_t).
//
// It is unbiased for any c and π. c_i solves
//
//	Σ_t P[i][t]² / min(1, c_i π_t) = (d/k) Σ_t P[i][t]²:
//
// for inputs of equal norm the row then has the same variance as Poisson sampling
// of k of its d neighbours with equal probabilities. For entries of equal size
// this is the condition of the paper. A row of at most k neighbours keeps all of
// them.
//
// π_t = 1 for all t gives LABOR-0: c_i = k/d, and a row keeps k neighbours in
// expectation. LABOR-i makes i steps π_t ← π_t·max_i c_i, and solves for c after
// each. This lowers the expected number of input nodes,
// E|T| = Σ_t min(1, π_t max_i c_i), at the same variance.
//
// Unless DrawSelf is set, the self-loop of a row is always kept and does not count
// for k. The rows of a layer are then its first input nodes, in their order.
//
// Cost of a layer: O(nonzeros of its rows), and about twice that for each
// iteration. Memory: 8 bytes per node for each concurrent call. The fields must not
// change after the first call of Sample; Sample may be called concurrently.
type Labor struct {
	Laplacian *graph.Laplacian // required
	Sizes     []int            // k, neighbours per row, the layer next to the output first; required

	// Iterations is i of LABOR-i. Negative means LABOR-*: iterate until a step
	// lowers the expected number of input nodes by a share of less than 1e-4.
	Iterations int

	// DrawSelf treats the self-loop as one of the d neighbours: it counts for k,
	// and may be left out.
	DrawSelf bool

	// SelfNormalize rescales the kept entries of each row to the sum of all its
	// entries (Hájek 1971), as the program released with the paper does: less
	// variance, but biased, because it is a ratio of two estimates. A row that
	// keeps no neighbour is not rescaled.
	SelfNormalize bool

	prepare preparation
	scratch scratchPool[laborScratch]
}

var _ Sampler = (*Labor)(nil)

// laborScratch is the memory of one call.
type laborScratch struct {
	neighborhood neighborhood
	pi           []float64 // π of each candidate
	maxScale     []float64 // of each candidate: max c_i over the rows that have it
	uniform      []float64 // r of each candidate
	scale        []float64 // c of each row
	squares      []float64 // of one row: (P[i][t] / RowScale[i])²
	local        []int32
}

// Layers returns the number of layers, len(Sizes).
func (s *Labor) Layers() int { return len(s.Sizes) }

// NominalSizes returns an upper estimate of the number of input nodes of each layer,
// input layer first, and of output nodes, for 512 seeds of high degree that share
// no neighbours.
func (s *Labor) NominalSizes() []int { return fanOut(s.Sizes) }

// Validate returns an error if a field is missing or out of range. Sample calls it.
func (s *Labor) Validate() error {
	return s.prepare.do(func() error { return checkSized("Labor", s.Laplacian, s.Sizes) })
}

// Sample implements Sampler.
func (s *Labor) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	return sampleLayers(ctx, s, &s.scratch, seeds, rng, batch)
}

func (s *Labor) matrix() *graph.Laplacian { return s.Laplacian }

func (s *Labor) sampleLayer(scratch *laborScratch, batch *MiniBatch, at int, rows []int32, rng *rand.Rand) error {
	h := &scratch.neighborhood
	if err := h.walk(s.Laplacian, rows); err != nil {
		return err
	}
	s.findProbabilities(scratch, rows, sizeAt(s.Sizes, at))
	nonEmpty := s.drawUniforms(scratch, rows, rng)
	s.fill(scratch, rows, nonEmpty, batch.Blocks[at])
	return nil
}

// candidates returns the entries of a row that may be left out: all with DrawSelf,
// otherwise all but the self-loop, which comes first.
func (s *Labor) candidates(entries []int32) []int32 {
	if s.DrawSelf {
		return entries
	}
	return entries[1:]
}

// findProbabilities sets π of each candidate and c of each row; c is +Inf if the
// row keeps all its entries.
func (s *Labor) findProbabilities(scratch *laborScratch, rows []int32, k int) {
	h := &scratch.neighborhood
	scratch.scale = resize(scratch.scale, len(rows))
	from := 0
	for i, r := range rows {
		nnz := s.Laplacian.RowNNZ(int(r))
		d := len(s.candidates(h.entries[from : from+nnz]))
		from += nnz
		scratch.scale[i] = math.Inf(1)
		if d > k {
			scratch.scale[i] = float64(k) / float64(d)
		}
	}
	scratch.pi = resize(scratch.pi, len(h.nodes))
	for t := range scratch.pi {
		scratch.pi[t] = 1
	}
	if s.Iterations == 0 {
		return
	}
	const converged = 1e-4
	size := s.findMaxScales(scratch, rows)
	for i := 0; i != s.Iterations; i++ {
		for t, c := range scratch.maxScale {
			scratch.pi[t] *= c // +Inf if some row keeps t for certain: then all rows may
		}
		s.solveScales(scratch, rows, k)
		before := size
		size = s.findMaxScales(scratch, rows)
		if s.Iterations < 0 && size >= before*(1-converged) {
			return
		}
	}
}

// findMaxScales sets maxScale, and returns the expected number of nodes drawn,
// Σ_t min(1, π_t·maxScale_t).
func (s *Labor) findMaxScales(scratch *laborScratch, rows []int32) float64 {
	h := &scratch.neighborhood
	scratch.maxScale = resize(scratch.maxScale, len(h.nodes))
	clear(scratch.maxScale)
	from := 0
	for i, r := range rows {
		entries := h.entries[from : from+s.Laplacian.RowNNZ(int(r))]
		from += len(entries)
		c := scratch.scale[i]
		for _, t := range s.candidates(entries) {
			scratch.maxScale[t] = max(scratch.maxScale[t], c)
		}
	}
	size := 0.0
	for t, c := range scratch.maxScale {
		size += min(1, scratch.pi[t]*c)
	}
	return size
}

// solveScales sets c of each row with more than k candidates. Like inclusionScale
// it starts from the solution without the cap at 1, and ends at the exact one.
func (s *Labor) solveScales(scratch *laborScratch, rows []int32, k int) {
	h := &scratch.neighborhood
	from := 0
	for i, r := range rows {
		nnz := s.Laplacian.RowNNZ(int(r))
		entries := s.candidates(h.entries[from : from+nnz])
		from += nnz
		d := len(entries)
		if d <= k {
			continue
		}
		squares := s.rowSquares(scratch, int(r), entries)
		target := 0.0
		for _, a2 := range squares {
			target += a2
		}
		target *= float64(d) / float64(k)
		c := math.SmallestNonzeroFloat64 // not 0, for π = +Inf
		for {
			certain, rest := 0.0, 0.0
			for e, t := range entries {
				if pi := scratch.pi[t]; c*pi >= 1 {
					certain += squares[e]
				} else {
					rest += squares[e] / pi
				}
			}
			next := rest / (target - certain)
			if !(next > c) {
				break
			}
			c = next
		}
		scratch.scale[i] = c
	}
}

// rowSquares returns (P[r][t] / RowScale[r])² of the given entries, the candidates
// of row r.
func (s *Labor) rowSquares(scratch *laborScratch, r int, entries []int32) []float64 {
	scratch.squares = resize(scratch.squares, len(entries))
	squares := scratch.squares
	h := &scratch.neighborhood
	values := s.Laplacian.Adjacency.RowValues(r)
	offset := s.Laplacian.RowNNZ(r) - len(entries) // 1 without the self-loop
	for e, t := range entries {
		a := float64(h.scales[t])
		if values != nil && e+offset > 0 {
			a *= float64(values[e+offset-1])
		}
		squares[e] = a * a
	}
	return squares
}

// drawUniforms draws r of each candidate until the layer keeps at least one node,
// and returns the probability that one draw achieves this. The weights account for
// the repeated draws. Without DrawSelf the probability is 1.
func (s *Labor) drawUniforms(scratch *laborScratch, rows []int32, rng *rand.Rand) (nonEmpty float64) {
	h := &scratch.neighborhood
	scratch.uniform = resize(scratch.uniform, len(h.nodes))
	uniform := scratch.uniform
	if !s.DrawSelf {
		for t := range uniform {
			uniform[t] = rng.Float64()
		}
		return 1
	}
	logEmpty := math.Inf(-1) // ln ∏ (1−p) ≤ −Σp
	if s.findMaxScales(scratch, rows) < negligibleEmpty {
		logEmpty = 0
		for t, c := range scratch.maxScale {
			logEmpty += math.Log1p(-min(1, scratch.pi[t]*c))
		}
	}
	for {
		kept := false
		for t := range uniform {
			uniform[t] = rng.Float64()
			kept = kept || uniform[t] < scratch.pi[t]*scratch.maxScale[t]
		}
		if kept {
			return -math.Expm1(logEmpty)
		}
	}
}

// fill fills block with the entries kept. It divides each probability by nonEmpty,
// the probability that a draw keeps at least one node.
func (s *Labor) fill(scratch *laborScratch, rows []int32, nonEmpty float64, block *graph.Block) {
	h := &scratch.neighborhood
	local := resize(scratch.local, len(h.nodes))
	scratch.local = local
	for t := range local {
		local[t] = -1
	}
	src := block.Src[:0]
	if !s.DrawSelf {
		for i := range rows { // the neighborhood numbers the rows first
			local[i] = int32(i)
		}
		src = append(src, rows...)
	}
	idx, val := resize(block.Matrix.Idx, len(h.entries)), resize(block.Matrix.Val, len(h.entries))
	ptr := resize(block.Matrix.Ptr, len(rows)+1)
	ptr[0] = 0
	at, from := 0, 0
	for i, r := range rows {
		nnz := s.Laplacian.RowNNZ(int(r))
		entries := h.entries[from : from+nnz]
		from += nnz
		scale, c := float64(s.Laplacian.RowScale[r]), scratch.scale[i]
		values := s.Laplacian.Adjacency.RowValues(int(r))
		first := at
		var kept, all float64
		for e, t := range entries {
			v := scale * float64(h.scales[t])
			if values != nil && e > 0 {
				v *= float64(values[e-1])
			}
			if e == 0 && !s.DrawSelf {
				idx[at], val[at] = local[t], float32(v)
				at++
				first = at
				continue
			}
			all += v
			p := min(1, c*scratch.pi[t])
			if scratch.uniform[t] >= p {
				continue
			}
			if local[t] < 0 {
				local[t] = int32(len(src))
				src = append(src, h.nodes[t])
			}
			v *= nonEmpty / p
			kept += v
			idx[at], val[at] = local[t], float32(v)
			at++
		}
		if s.SelfNormalize && kept > 0 {
			for k := first; k < at; k++ {
				val[k] = float32(float64(val[k]) * all / kept)
			}
		}
		ptr[i+1] = int64(at)
	}
	block.Dst = append(block.Dst[:0], rows...)
	block.Src = src
	block.Matrix = graph.CSR{Rows: len(rows), Cols: len(src), Ptr: ptr, Idx: idx[:at], Val: val[:at]}
	block.Finish()
}
