package datasets

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

const (
	positionWidth = 64 // features a node
	positionSteps = 32 // means over neighbours
)

// positionFeatures returns features that say where in the graph a node is: random numbers
// (Sato et al. 2021, arXiv:2002.03155), replaced 32 times by their means over a node and its
// neighbours, so that near nodes have similar ones (Chen et al. 2019, arXiv:1908.11512). Then
// the mean of each column is subtracted, and each row scaled to mean square 1. Cost: 32·64
// operations an edge and direction. Memory: 512 bytes a node, and half of it stays.
func positionFeatures(ctx context.Context, a *graph.CSR) (*graph.Features, error) {
	const width, rows = positionWidth, 1 << 12
	n := a.Rows
	if err := memory.Check("features=position", memory.Product(int64(n), width, 4, 2)); err != nil {
		return nil, err
	}
	h, next := make([]float32, n*width), make([]float32, n*width)
	chunks := (n + rows - 1) / rows
	err := parallel.Chunks(ctx, chunks, func(chunk int) error {
		random := rand.New(rand.NewPCG(0x706f736974696f6e, uint64(chunk)))
		for k := chunk * rows * width; k < min((chunk+1)*rows, n)*width; k++ {
			h[k] = float32(random.NormFloat64())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	mean := graph.NewRowLaplacian(a)
	for range positionSteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		kernel.PropagateRows(next, mean, nil, h, width, nil)
		h, next = next, h
	}
	var means [width]float64
	for k, v := range h {
		means[k%width] += float64(v) / float64(n)
	}
	return &graph.Features{Rows: n, Cols: width, Data: h}, parallel.Chunks(ctx, chunks, func(chunk int) error {
		for i := chunk * rows; i < min((chunk+1)*rows, n); i++ {
			scaleRow(h[i*width:(i+1)*width], &means)
		}
		return nil
	})
}

// scaleRow subtracts the means of the columns, and makes the row's mean square 1.
func scaleRow(row []float32, means *[positionWidth]float64) {
	squares := 0.0
	for k := range row {
		v := float64(row[k]) - means[k]
		row[k], squares = float32(v), squares+v*v
	}
	if squares == 0 { // of a graph with a single node
		return
	}
	scale := math.Sqrt(positionWidth / squares)
	for k := range row {
		row[k] = float32(scale * float64(row[k]))
	}
}
