package main

import (
	"context"

	"github.com/gcn-layerwise/gcn/datasets"
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
