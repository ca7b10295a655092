package main

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

const (
	partitionNone     = "none"
	partitionFeatures = "features"
	partitionAll      = "all"
)

// checkPartition returns an error for options that do not go with --partition.
func (o *trainOptions) checkPartition() error {
	if err := oneOf("partition", o.Partition, []string{partitionNone, partitionFeatures, partitionAll}); err != nil || o.Partition == partitionNone {
		return err
	}
	switch {
	case o.Device != "cpu":
		return usagef("--partition %s excludes --device %s: a GPU keeps the whole features in its memory; take --device cpu, or --partition none", o.Partition, o.Device)
	case o.Partition == partitionAll && o.EvalEvery == autoInterval:
		return usagef("--partition all excludes --eval-every auto, the default: one rank alone cannot count the operations of an evaluation; say a number of updates")
	case o.Runs > 1 && o.Micro == 1:
		return usagef("--partition %s needs --micro: without it, each rank trains whole runs of --runs by itself", o.Partition)
	}
	return nil
}

// takePart leaves each rank its part of the data. A process alone keeps all.
func (j *trainJob) takePart(data *datasets.Data) (err error) {
	if j.Partition == partitionNone || j.world == nil {
		return nil
	}
	parts := train.PartsFeatures
	if j.Partition == partitionAll {
		parts = train.PartsAll
	}
	if j.partition, err = train.NewPartition(j.world, data, parts); err != nil || j.partition == nil || j.follows() {
		return err
	}
	_, whole := j.partition.MostBytes()
	j.say("--partition %s: %d ranks, each holds about %s of the %s of graph and features",
		j.Partition, j.world.Size(), megabytes(j.partition.Bytes()), megabytes(whole))
	return nil
}

// tellTraffic says beforehand how much an update sends.
func (j *trainJob) tellTraffic(ctx context.Context, model *layers.GCN, o train.Options) error {
	if j.partition == nil {
		return nil
	}
	gradients, rows, err := j.partition.UpdateBytes(ctx, model, o)
	if err != nil || j.follows() {
		return err
	}
	j.say("an update: each rank sends %s of gradients and about %s of rows", megabytes(int64(gradients)), megabytes(int64(rows)))
	return nil
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
