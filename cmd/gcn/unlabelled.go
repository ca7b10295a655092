package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/train"
)

// openUnlabelled is openData for data that may lack labels.
func openUnlabelled(ctx context.Context, spec string) (*datasets.Data, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	options := dataOptions(ctx)
	options.Unlabelled = true
	return datasets.Open(ctx, spec, options)
}

// openDataOfRun opens data for the model of the run in dir. Data without labels get the
// run's classes, or tasks, all unknown.
func openDataOfRun(ctx context.Context, spec, dir string) (*datasets.Data, error) {
	data, err := openUnlabelled(ctx, spec)
	if err != nil || !data.Unlabelled() {
		return data, err
	}
	if data.Labels, err = unknownLabels(dir, data.Nodes()); err != nil {
		return nil, err
	}
	if data.Labels.Tasks > 0 {
		data.Metric = datasets.ROCAUC
	}
	return data, nil
}

// ifMoved completes the error of opening the data that a run's config.json names.
func ifMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; --data names the data of a run in another place, or if the run was trained in another folder", err)
	}
	return err
}

// unknownLabels returns labels of n nodes, all unknown, with the classes or tasks that the
// config.json of a run states.
func unknownLabels(dir string, n int) (*graph.Labels, error) {
	config, err := train.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	count := func(name string) int {
		number, _ := config[name].(json.Number)
		v, err := number.Int64()
		if err != nil || v < 1 || v > math.MaxInt32 {
			return 0
		}
		return int(v)
	}
	y := &graph.Labels{Classes: count("classes"), Tasks: count("tasks")}
	switch {
	case (y.Classes == 0) == (y.Tasks == 0):
		return nil, fmt.Errorf("%s does not say how many classes the model has, as runs of this version do: add labels to the data", filepath.Join(dir, configFile))
	case y.Classes > 0:
		y.Class = slices.Repeat([]int32{-1}, n)
	default:
		if err := memory.Check("labels", memory.Product(int64(n), int64(y.Tasks), 4)); err != nil {
			return nil, err
		}
		y.Multi = slices.Repeat([]float32{float32(math.NaN())}, n*y.Tasks)
	}
	if names, ok := config["class_names"].([]any); ok && len(names) == y.Outputs() {
		for _, name := range names {
			y.Names = append(y.Names, fmt.Sprint(name))
		}
	}
	return y, nil
}
