package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/gcn-layerwise/gcn/datasets"
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

// openDataOfRun opens data for the model of the run in dir, mapped by the run's schema. Data
// without labels have the run's classes, or tasks, all unknown.
func openDataOfRun(ctx context.Context, spec, dir string) (*datasets.Data, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	options := dataOptions(ctx)
	var err error
	if options.Schema, err = train.ReadSchema(dir); err != nil {
		return nil, err
	}
	options.Unlabelled = true
	return datasets.Open(ctx, spec, options)
}

// ifMoved completes the error of opening the data that a run's config.json names.
func ifMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; --data names the data of a run in another place, or if the run was trained in another folder", err)
	}
	return err
}
