// Command blocks writes the sampled blocks of mini-batches to a file, for a peer to
// train on the very same ones:
//
//	go run ./bench/peers/blocks -data synth:arxiv -samples 512,1024 -batches 60 -out blocks.bin
//
// All numbers are little-endian: int64 batches, int64 layers; then for each batch
// each layer's matrix, input layer first, as int64 rows, columns, entries, int64
// row pointers, int32 columns, float32 values; then int64 n and n int32 input nodes;
// then the same of the output nodes.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

func main() {
	spec := flag.String("data", "synth:arxiv", "data `SPEC`")
	sizes := flag.String("samples", "512,1024", "nodes drawn per layer, the layer next to the output first")
	batchSize := flag.Int("batch", 512, "training nodes per mini-batch")
	batches := flag.Int("batches", 60, "mini-batches")
	out := flag.String("out", "blocks.bin", "the `FILE`")
	flag.Parse()
	if err := run(*spec, *sizes, *batchSize, *batches, *out); err != nil {
		fmt.Fprintln(os.Stderr, "blocks:", err)
		os.Exit(1)
	}
}

func run(spec, sizes string, batchSize, batches int, out string) error {
	ctx := context.Background()
	data, err := datasets.Open(ctx, spec, datasets.Options{})
	if err != nil {
		return err
	}
	sampler := &samplers.LayerWise{
		Laplacian: data.Laplacian(), Importance: samplers.LADIES{Flat: true}, Draw: samplers.WithoutReplacement{}, Weight: samplers.Debiased{},
	}
	for word := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("-samples: %w", err)
		}
		sampler.Sizes = append(sampler.Sizes, n)
	}
	stream := train.Stream{Sampler: sampler, Train: data.Split.Train, BatchSize: batchSize, BatchesPerEpoch: 10, Seed: 1}
	loader, err := train.NewLoader(ctx, stream, 1, 0, batches)
	if err != nil {
		return err
	}
	defer loader.Close()
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	put := func(values ...any) {
		for _, v := range values {
			err = errors.Join(err, binary.Write(w, binary.LittleEndian, v))
		}
	}
	put(int64(batches), int64(len(sampler.Sizes)))
	for range batches {
		item, failed := loader.Next()
		if failed != nil {
			return errors.Join(failed, file.Close())
		}
		for _, b := range item.Blocks.Blocks {
			m := &b.Matrix
			put(int64(m.Rows), int64(m.Cols), int64(len(m.Idx)), m.Ptr, m.Idx, m.Val)
		}
		in, outputs := item.Blocks.Inputs(), item.Blocks.Outputs()
		put(int64(len(in)), in, int64(len(outputs)), outputs)
	}
	return errors.Join(err, w.Flush(), file.Close())
}
