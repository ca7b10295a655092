//go:build !nodlopen && (amd64 || arm64) && (linux || darwin)

package blas

// tiles cuts an m×n matrix C into rectangles, row of tiles after row of tiles.
type tiles struct {
	m, n       int
	rows, cols int // of a tile
	across     int // tiles side by side
}

// A tile carries at least minTile multiply-adds, a tenth of a millisecond or
// less on one core, so that repeated packing of A and B stays small; beyond
// that, there are up to maxTiles of them to share between cores.
const (
	minTile  = 4 << 20
	maxTiles = 64
	tileStep = 32 // tiles are multiples of this, which suits register blocks
)

// tilesOf returns the tiles for a product of the given shape. It depends on
// the shape alone.
func tilesOf(m, n, k int) tiles {
	work := m * n * max(k, 1)
	count := min(max(work/minTile, 1), maxTiles)
	t := tiles{m: m, n: n, rows: m, cols: n}
	// Halve the longer side until there are enough.
	for have := 1; have*2 <= count; have *= 2 {
		if t.rows >= t.cols && t.rows > tileStep {
			t.rows = roundUp((t.rows+1)/2, tileStep)
		} else if t.cols > tileStep {
			t.cols = roundUp((t.cols+1)/2, tileStep)
		} else {
			break
		}
	}
	t.across = (n + t.cols - 1) / t.cols
	return t
}

func roundUp(x, step int) int { return (x + step - 1) / step * step }

func (t tiles) count() int { return (t.m + t.rows - 1) / t.rows * t.across }

// at returns the rows and columns of the r-th tile.
func (t tiles) at(r int) (i0, i1, j0, j1 int) {
	i0, j0 = r/t.across*t.rows, r%t.across*t.cols
	return i0, min(i0+t.rows, t.m), j0, min(j0+t.cols, t.n)
}
