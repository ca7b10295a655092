package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

// Fingerprint returns a hash of a data set, 16 hexadecimal digits. It covers sizes,
// metric, split, graph, features and labels: all values of a small data set, evenly
// spread blocks of a large one. It does not cover the name, because the same data may
// lie in another place. nil counts as empty. Cost: under a tenth of a second.
func Fingerprint(d *datasets.Data) string {
	d = cmp.Or(d, &datasets.Data{})
	a, x, y := cmp.Or(d.Graph, &graph.CSR{}), cmp.Or(d.Features, &graph.Features{}), cmp.Or(d.Labels, &graph.Labels{})
	sum := sha256.New()
	// An undirected graph with the same matrix as a directed one has another P.
	fmt.Fprintf(sum, "%q %v %v", d.Metric, d.Directed, []int{a.Rows, int(a.NNZ()), x.Rows, x.Cols, y.Classes, y.Tasks})
	addBlocks(sum, a.Ptr)
	addBlocks(sum, a.Idx)
	addBlocks(sum, a.Val)
	if x.Sparse != nil { // as if it were dense
		eachBlock(sum, x.Rows*x.Cols, func(lo, hi int) any {
			var values []float32
			for k := lo; k < hi; k = lo + len(values) {
				values = append(values, x.Row(k / x.Cols)[k%x.Cols:]...)
			}
			return values[:hi-lo]
		})
	} else {
		addBlocks(sum, x.Data)
	}
	addBlocks(sum, x.Half)
	addBlocks(sum, y.Class)
	addBlocks(sum, y.Multi)
	for _, nodes := range [][]int32{d.Split.Train, d.Split.Valid, d.Split.Test} {
		addBlocks(sum, nodes)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func addBlocks[T int64 | int32 | uint16 | float32](w io.Writer, values []T) {
	eachBlock(w, len(values), func(lo, hi int) any { return values[lo:hi] })
}

// eachBlock writes n and the values of up to 128 blocks of 1024 values, the first and the
// last block among them. Few pages of a mapped file are read, because blocks are
// contiguous.
func eachBlock(w io.Writer, n int, values func(lo, hi int) any) {
	const block, most = 1024, 128
	count := (n + block - 1) / block
	binary.Write(w, binary.LittleEndian, uint64(n))
	for b := range min(count, most) {
		at := b
		if count > most {
			at = b * (count - 1) / (most - 1)
		}
		binary.Write(w, binary.LittleEndian, values(at*block, min((at+1)*block, n)))
	}
}
