//go:build !nodlopen && (amd64 || arm64) && (linux || darwin)

package blas

import (
	"testing"

	"pgregory.net/rapid"
)

// Every element of C lies in exactly one tile, for any shape.
func TestTilesCoverTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 50), rapid.IntRange(1, 3000))
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), rapid.IntRange(0, 100000).Draw(t, "k")
		tiles := tilesOf(m, n, k)
		area := 0
		for r := range tiles.count() {
			i0, i1, j0, j1 := tiles.at(r)
			if i0 < 0 || i0 >= i1 || i1 > m || j0 < 0 || j0 >= j1 || j1 > n {
				t.Fatalf("%d×%d×%d: tile %d is [%d, %d) × [%d, %d)", m, n, k, r, i0, i1, j0, j1)
			}
			if i0%tiles.rows != 0 || j0%tiles.cols != 0 {
				t.Fatalf("%d×%d×%d: tile %d starts at (%d, %d) off the grid", m, n, k, r, i0, j0)
			}
			area += (i1 - i0) * (j1 - j0)
		}
		if area != m*n || tiles.count() > 4*maxTiles {
			t.Fatalf("%d×%d×%d: %d tiles cover %d elements", m, n, k, tiles.count(), area)
		}
	})
}
