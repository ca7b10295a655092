package samplers

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Labor is layer-neighbour sampling (Balin & Çatalyürek 2023, arXiv:2210.13339):
// each row keeps about k of its neighbours, as in node-wise sampling, but all
// rows of a layer decide by the same random numbers, so that they tend to keep
// the same ones and the layer reads fewer nodes.
//
// One uniform r_t is drawn for each candidate t of a layer, and row i keeps the
// entry P[i][t] if r_t ≤ p_it, with the Horvitz-Thompson weight:
//
//	P̃[i][t] = P[i][t] / p_it,   p_it = min(1, c_i π_t).
//
// It is unbiased for any c and π. c_i is such that the row has the variance of
// Poisson sampling k of its d neighbours evenly (for inputs of equal norm),
//
//	Σ_t P[i][t]² / min(1, c_i π_t) = (d/k) Σ_t P[i][t]²,
//
// which for entries of equal size is the condition of the paper. A row with no
// more than k neighbours keeps all of them.
//
// π_t = 1 for all t gives LABOR-0, where c_i = k/d and a row keeps k neighbours
// in expectation. LABOR-i improves π by i steps π_t ← π_t·max_i c_i, each
// followed by solving for c, which makes the layer read fewer nodes, E|T| =
// Σ_t min(1, π_t max_i c_i), at the same variance.
//
// The self-loop of a row is kept as it is and not counted among the k, unless
// DrawSelf is set; hence the rows of a layer are always among its inputs, first
// and in their order.
//
// Cost of a layer: O(nonzeros of its rows), twice or so an iteration. Memory: 8
// bytes a node for each concurrent call, kept for the next.
type Labor struct {
	Laplacian *graph.Laplacian // required
	Sizes     []int            // k, neighbours a row, the layer next to the output first; required

	// Iterations is i of LABOR-i. Negative iterates until the expected number of
	// nodes falls by less than 1e-4 of itself (LABOR-*).
	Iterations int

	// DrawSelf treats the self-loop as one of the d neighbours: it counts for k
	// and is kept at random.
	DrawSelf bool

	// SelfNormalize rescales the drawn entries of each row so that they sum to
	// what all of them sum to (Hájek 1971), as the program released with the
	// paper does: less variance, but biased, being a ratio of two estimates. A
	// row that keeps no neighbour stays without.
	SelfNormalize bool

	prepare preparation
	scratch scratchPool[laborScratch]
}

var _ Sampler = (*Labor)(nil)

// laborScratch is the memory of one concurrent call.
type laborScratch struct {
	neighborhood neighborhood
	pi           []float64 // π of each candidate
	reach        []float64 // max c_i over the rows that see the candidate
	uniform      []float64 // r of each candidate
	scale        []float64 // c of each row
	squares      []float64 // P[i][t]² of one row, but for the row's own scale
	local        []int32
}

// Layers returns the number of layers, one a size.
func (s *Labor) Layers() int { return len(s.Sizes) }

// NominalSizes returns about how many nodes the input of each layer, input layer
// first, and the output have for 512 seeds of enough neighbours that share
// none.
func (s *Labor) NominalSizes() []int { return fanOut(s.Sizes) }

// Validate returns an error if a field is missing or out of range. Sample checks
// too.
func (s *Labor) Validate() error {
	return s.prepare.do(func() error { return checkSized("Labor", s.Laplacian, s.Sizes) })
}

// Sample implements Sampler.
func (s *Labor) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *Batch) error {
	return sampleLayers(ctx, s, &s.scratch, seeds, rng, batch)
}

func (s *Labor) sampleLayer(scratch *laborScratch, batch *Batch, at int, rows []int32, rng *rand.Rand) error {
	h := &scratch.neighborhood
	if err := h.walk(s.Laplacian, rows); err != nil {
		return err
	}
	s.findProbabilities(scratch, rows, sizeAt(s.Sizes, at))
	some := s.drawUniforms(scratch, rows, rng)
	s.fill(scratch, rows, some, batch.Blocks[at])
	return nil
}

// drawn returns the entries of a row that are drawn: all, or all but the
// self-loop, which comes first.
func (s *Labor) drawn(entries []int32) []int32 {
	if s.DrawSelf {
		return entries
	}
	return entries[1:]
}

// findProbabilities sets π of each candidate and c of each row, +Inf for rows
// that keep all their entries.
func (s *Labor) findProbabilities(scratch *laborScratch, rows []int32, k int) {
	h := &scratch.neighborhood
	scratch.scale = resize(scratch.scale, len(rows))
	from := 0
	for i, r := range rows {
		nnz := s.Laplacian.RowNNZ(int(r))
		d := len(s.drawn(h.entries[from : from+nnz]))
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
	size := s.findReach(scratch, rows)
	for i := 0; i != s.Iterations; i++ {
		for t, c := range scratch.reach {
			scratch.pi[t] *= c // +Inf where some row keeps t for certain: then all may
		}
		s.solveScales(scratch, rows, k)
		before := size
		size = s.findReach(scratch, rows)
		if s.Iterations < 0 && size >= before*(1-converged) {
			return
		}
	}
}

// findReach sets reach and returns Σ_t min(1, π_t·reach_t), the expected number
// of nodes drawn.
func (s *Labor) findReach(scratch *laborScratch, rows []int32) float64 {
	h := &scratch.neighborhood
	scratch.reach = resize(scratch.reach, len(h.nodes))
	clear(scratch.reach)
	from := 0
	for i, r := range rows {
		entries := h.entries[from : from+s.Laplacian.RowNNZ(int(r))]
		from += len(entries)
		c := scratch.scale[i]
		for _, t := range s.drawn(entries) {
			scratch.reach[t] = max(scratch.reach[t], c)
		}
	}
	size := 0.0
	for t, c := range scratch.reach {
		size += min(1, scratch.pi[t]*c)
	}
	return size
}

// solveScales sets c of each row with more than k entries to draw. Like
// inclusionScale it starts from the solution without the cap at 1, and ends at
// the exact one.
func (s *Labor) solveScales(scratch *laborScratch, rows []int32, k int) {
	h := &scratch.neighborhood
	from := 0
	for i, r := range rows {
		nnz := s.Laplacian.RowNNZ(int(r))
		entries := s.drawn(h.entries[from : from+nnz])
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

// rowSquares returns the squares of the drawn entries of row r of P, divided by
// the row's scale.
func (s *Labor) rowSquares(scratch *laborScratch, r int, entries []int32) []float64 {
	scratch.squares = resize(scratch.squares, len(entries))
	squares := scratch.squares
	h := &scratch.neighborhood
	values := s.Laplacian.Adjacency.RowValues(r)
	offset := s.Laplacian.RowNNZ(r) - len(entries) // 1 if the self-loop is left out
	for e, t := range entries {
		a := float64(h.scales[t])
		if values != nil && e+offset > 0 {
			a *= float64(values[e+offset-1])
		}
		squares[e] = a * a
	}
	return squares
}

// drawUniforms draws r of each candidate, and returns the probability that some
// candidate is kept.
//
// A layer without any input is of no use, so that uniforms that leave it
// without are drawn again, and the weights account for it. Only with DrawSelf
// is that possible.
func (s *Labor) drawUniforms(scratch *laborScratch, rows []int32, rng *rand.Rand) (some float64) {
	h := &scratch.neighborhood
	scratch.uniform = resize(scratch.uniform, len(h.nodes))
	uniform := scratch.uniform
	if !s.DrawSelf {
		for t := range uniform {
			uniform[t] = rng.Float64()
		}
		return 1
	}
	none := math.Inf(-1) // ln ∏ (1−p), at most −Σp
	if s.findReach(scratch, rows) < negligibleNone {
		none = 0
		for t, c := range scratch.reach {
			none += math.Log1p(-min(1, scratch.pi[t]*c))
		}
	}
	for {
		kept := false
		for t := range uniform {
			uniform[t] = rng.Float64()
			kept = kept || uniform[t] < scratch.pi[t]*scratch.reach[t]
		}
		if kept {
			return -math.Expm1(none)
		}
	}
}

// fill sets block, given π, c, r and the probability that some candidate is
// kept, by which all others are divided.
func (s *Labor) fill(scratch *laborScratch, rows []int32, some float64, block *graph.Block) {
	h := &scratch.neighborhood
	local := resize(scratch.local, len(h.nodes))
	scratch.local = local
	for t := range local {
		local[t] = -1
	}
	src := block.Src[:0]
	if !s.DrawSelf {
		for i := range rows { // which are numbered first
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
			v *= some / p
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
