package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// Activation is an elementwise nonlinearity.
type Activation uint8

// The activations. The zero value is Identity.
const (
	Identity Activation = iota // z
	ELU                        // z for z > 0, else e^z − 1 (Clevert, Unterthiner & Hochreiter 2015, arXiv:1511.07289; α = 1)
	ReLU                       // max(0, z); its slope at 0 is 0
	GELU                       // z·Φ(z), Φ the law of a standard normal variable (Hendrycks & Gimpel 2016, arXiv:1606.08415)
)

// Dropout zeroes elements at random and scales the others up so that the
// expectation stays (Srivastava et al. 2014). The zero value drops nothing.
//
// An element survives where a 16-bit number, a hash of the seed, its row and
// its column, is at least Rate·65536 rounded; the scale is the inverse of that
// exact probability, so the mean is kept exactly whatever the rounding. The
// same seed gives the same mask, on every machine.
type Dropout struct {
	Rate float32 // probability of dropping, in [0, 1); nothing is dropped at or below 0
	Seed uint64

	// Noise, if not nil, is a factor c of each row's noise, for Activate: y becomes
	// y + c·(dropout(y) − y). It is finite.
	Noise []float32
}

// Threshold returns the number below which the 16-bit hash drops an element, and
// the factor for the others. A GPU makes the same masks of them.
func (d Dropout) Threshold() (threshold uint32, keep float32) {
	if !(d.Rate > 0) {
		return 0, 1
	}
	threshold = uint32(min(math.RoundToEven(float64(d.Rate)*65536), 65535))
	return threshold, float32(65536 / float64(65536-threshold))
}

// rowFactors returns the factors of row i's survivors and of its dropped elements, for
// the factor keep without Noise. A GPU makes the same.
func (d Dropout) rowFactors(keep float32, i int) (kept, dropped float32) {
	if d.Noise == nil {
		return keep, 0
	}
	c := d.Noise[i]
	more := c * (keep - 1)
	return 1 + more, 1 - c
}

// Activate computes dst = dropout(act(z)) and, where slope is not nil, the
// elementwise derivative slope = d dst / d z, in one pass over a matrix of the
// given rows and width. The mask of row i depends on the seed and i alone.
// dst or slope may be z itself.
//
// NaN stays NaN unless it is dropped; act(−∞) is −1 for ELU, 0 for ReLU and for GELU.
// Cost: bound by the memory.
func Activate(act Activation, dst, slope, z []float32, rows, width int, drop Dropout) {
	checkLens("Activate", rows*width, dst, z, slope)
	checkLens("Activate", rows, drop.Noise)
	if rows == 0 || width == 0 {
		return
	}
	parallel.For(rows, grain(width), func(lo, hi int) { activateRows(act, dst, slope, z, width, drop, lo, hi) })
}

// ActivateRows is Activate for the given rows, each there once, and leaves the
// others as they are.
func ActivateRows(act Activation, dst, slope, z []float32, rows []int32, width int, drop Dropout) {
	checkRows("ActivateRows", rows, width, dst, z, slope)
	checkRows("ActivateRows", rows, 1, drop.Noise)
	parallel.For(len(rows), grain(width), func(lo, hi int) {
		for _, i := range rows[lo:hi] {
			activateRows(act, dst, slope, z, width, drop, int(i), int(i)+1)
		}
	})
}

func activateRows(act Activation, dst, slope, z []float32, width int, drop Dropout, lo, hi int) {
	threshold, keep := drop.Threshold()
	if threshold == 0 { // nothing depends on the row
		activateRow(act, dst[lo*width:], from(slope, lo*width), z[lo*width:hi*width], 0, 1, 0, 0)
		return
	}
	for i := lo; i < hi; i++ {
		at := i * width
		kept, dropped := drop.rowFactors(keep, i)
		activateRow(act, dst[at:], from(slope, at), z[at:][:width], threshold, kept, dropped, rowKey(drop.Seed, i))
	}
}

// activateRowGo is the portable form of one row of Activate. A factor of 0 makes a dropped
// element 0, also if it was not finite.
func activateRowGo(act Activation, dst, slope, z []float32, threshold uint32, kept, dropped float32, key uint64) {
	for j, v := range z {
		y, s := v, float32(1)
		switch act {
		case ELU:
			if !(v > 0) {
				s, y = expNeg(v)
			}
		case ReLU:
			if v <= 0 {
				y = 0
			}
			if !(v > 0) {
				s = 0
			}
		case GELU:
			y, s = gelu(v)
		}
		if threshold > 0 {
			switch {
			case dropHash(key, j) >= threshold:
				y, s = y*kept, s*kept
			case dropped == 0:
				y, s = 0, 0
			default:
				y, s = y*dropped, s*dropped
			}
		}
		dst[j] = y
		if slope != nil {
			slope[j] = s
		}
	}
}

func rowKey(seed uint64, row int) uint64 { return splitmix.Output(splitmix.Hash(seed), uint64(row)) }

// Multipliers of the 32-bit mask hash: the Weyl step, and the multipliers of lowbias32
// (Wellons, "Prospecting for Hash Functions", 2018).
const (
	maskWeyl = 0x9e3779b9
	maskMul0 = 0x7feb352d
	maskMul1 = 0x846ca68b
)

// dropHash returns the 16 bits that decide about column j. One 32-bit hash
// serves columns j and j+16 of a group of 32, which suits vectors of 8 and 16.
func dropHash(key uint64, j int) uint32 {
	word := uint32(j>>5<<4 | j&15)
	x := word*maskWeyl + uint32(key)
	x = (x ^ x>>16) * maskMul0
	x ^= uint32(key >> 32)
	x = (x ^ x>>15) * maskMul1
	x ^= x >> 16
	if j&16 != 0 {
		return x >> 16
	}
	return x & 0xffff
}
