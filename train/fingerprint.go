package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

// Fingerprint returns a hash of a data set, 16 hexadecimal digits. It covers sizes,
// metric, split, graph, features and labels: all values of a small data set, evenly
// spread blocks of a large one. It does not cover the name, because the same data may
// lie in another place. nil counts as empty. Cost: under a tenth of a second.
func Fingerprint(d *datasets.Data) string {
	if d == nil {
		d = &datasets.Data{}
	}
	a, x, y := cmp.Or(d.Graph, &graph.CSR{}), cmp.Or(d.Features, &graph.Features{}), cmp.Or(d.Labels, &graph.Labels{})
	f := fingerprint{Hash: sha256.New()}
	f.text(string(d.Metric))
	if d.Directed { // an undirected graph with the same matrix has another P
		f.text("directed")
	}
	f.numbers(a.Rows, int(a.NNZ()), x.Rows, x.Cols, y.Classes, y.Tasks)
	f.blocks(len(a.Ptr), func(k int) uint64 { return uint64(a.Ptr[k]) })
	f.ids(a.Idx)
	f.floats(a.Val)
	if x.Sparse != nil { // as if it were dense
		f.blocks(x.Rows*x.Cols, func(k int) uint64 { return uint64(math.Float32bits(sparseValue(x.Sparse, k))) })
	} else {
		f.floats(x.Data)
	}
	if x.Half != nil {
		f.blocks(len(x.Half), func(k int) uint64 { return uint64(x.Half[k]) })
	}
	f.ids(y.Class)
	f.floats(y.Multi)
	f.ids(d.Split.Train)
	f.ids(d.Split.Valid)
	f.ids(d.Split.Test)
	return hex.EncodeToString(f.Sum(nil)[:8])
}

// sparseValue returns value k of m, row-major, zeros counted.
func sparseValue(m *graph.CSR, k int) float32 {
	i := k / m.Cols
	at, found := slices.BinarySearch(m.Row(i), int32(k%m.Cols))
	switch {
	case !found:
		return 0
	case m.Val == nil:
		return 1
	}
	return m.RowValues(i)[at]
}

type fingerprint struct {
	hash.Hash
	buffer []byte
}

func (f *fingerprint) text(s string) {
	f.numbers(len(s))
	f.Write([]byte(s))
}

func (f *fingerprint) numbers(values ...int) {
	f.blocks(len(values), func(k int) uint64 { return uint64(values[k]) })
}

func (f *fingerprint) ids(values []int32) {
	f.blocks(len(values), func(k int) uint64 { return uint64(uint32(values[k])) })
}

func (f *fingerprint) floats(values []float32) {
	f.blocks(len(values), func(k int) uint64 { return uint64(math.Float32bits(values[k])) })
}

// blocks hashes n and the values of up to 128 blocks of 1024 values, the first and the
// last block among them. Few pages of a mapped file are read, because blocks are
// contiguous.
func (f *fingerprint) blocks(n int, value func(k int) uint64) {
	const block, most = 1024, 128
	count := (n + block - 1) / block
	f.buffer = binary.LittleEndian.AppendUint64(f.buffer[:0], uint64(n))
	for b := range min(count, most) {
		at := b
		if count > most {
			at = b * (count - 1) / (most - 1)
		}
		for k := at * block; k < min((at+1)*block, n); k++ {
			f.buffer = binary.LittleEndian.AppendUint64(f.buffer, value(k))
		}
		f.Write(f.buffer)
		f.buffer = f.buffer[:0]
	}
	f.Write(f.buffer)
}
