package datasets

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/formats"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

// defaultSplit is used where neither the source nor the SPEC has a split.
const defaultSplit = "60/20/20"

// splitAsked tells whether the SPEC asks for another split than the source's own.
func splitAsked(spec *Spec) bool {
	return spec.given("split", "train", "valid", "test") != ""
}

// splitFromSpec sets the split of d as the keys say, and adds a note:
//
//	train=FILE, valid=FILE, test=FILE  see formats.NodeList.Part
//	split=FILE                         see formats.NodeList.Parts
//	split=60/20/20, seed=1             random, of the labelled nodes; the default
//
// own says that d has the split of the source, which stays.
func splitFromSpec(ctx context.Context, d *Data, spec *Spec, own bool) error {
	text, whole := spec.Values["split"]
	if !whole {
		text = defaultSplit
	}
	parts := spec.given("train", "valid", "test")
	shares, err := parseShares(text)
	_, missing := os.Stat(text)
	isFile := err != nil && missing == nil
	switch {
	case whole && parts != "":
		return spec.fail("both split and %s: want one of them", parts)
	case (own || isFile || parts != "") && spec.given("seed") != "":
		return spec.fail("seed is for random splits: say split=%s", defaultSplit)
	case own:
		return nil
	case isFile, parts != "":
		return splitFromFiles(ctx, d, spec, isFile)
	case err != nil:
		return spec.fail("split=%s: %w, or a file that is there", text, err)
	}
	seed, err := number[uint64](spec, "seed", 1, 0, math.MaxUint64)
	if err != nil {
		return err
	}
	const purpose = 12 // the purpose of the split in internal/synth
	generator := rand.New(rand.NewPCG(splitmix.Hash(seed), splitmix.Hash(purpose)))
	labelled := d.labelledNodes()
	size := func(share float64) int { // the shares need not add up to 1
		return int(math.Round(float64(len(labelled)) * share / (shares[0] + shares[1] + shares[2])))
	}
	drawn := synth.RandomSplit(labelled, size(shares[0]), size(shares[1]), generator)
	d.Split = newSplit(drawn)
	origin := ""
	if !whole {
		origin = " (the source has none)"
	}
	d.note("random split %s, seed %d%s", text, seed, origin)
	return nil
}

// splitFromFiles reads the split from the file of the key split, or from the files of the
// keys train, valid and test.
func splitFromFiles(ctx context.Context, d *Data, spec *Spec, whole bool) error {
	nodes := formats.NodeList{Nodes: d.Nodes(), Names: d.NodeNames}
	_, listed := spec.Values["nodes"]
	nodes.Unordered = d.NodeNames != nil && !listed && spec.Scheme == "edges"
	defer func() { d.Notes = append(d.Notes, nodes.Notes...) }()
	if whole {
		s, err := nodes.Parts(ctx, spec.Values["split"])
		if err == nil {
			d.Split = newSplit(*s)
			d.note("split from %s", spec.Values["split"])
		}
		return err
	}
	if spec.given("train") == "" {
		return spec.fail("valid and test need train=FILE")
	}
	d.Split = Split{}
	for k, part := range d.Split.parts() {
		key := partNames()[k]
		if path, given := spec.Values[key]; given {
			var err error
			if *part, err = nodes.Part(ctx, path); err != nil {
				return err
			}
			d.note("%s nodes from %s: %d", key, path, len(*part))
		}
	}
	return nil
}

// parseShares reads TRAIN/VALID/TEST: three numbers that are not negative, the
// first positive. They need not add up to 100.
func parseShares(text string) (shares [3]float64, err error) {
	_, err = fmt.Sscanf(text+"\n", "%g/%g/%g\n", &shares[0], &shares[1], &shares[2])
	isNoShare := func(v float64) bool { return !(v >= 0 && v <= 1e9) }
	if err != nil || shares[0] == 0 || slices.ContainsFunc(shares[:], isNoShare) {
		return shares, fmt.Errorf("want TRAIN/VALID/TEST, three shares such as %s, the first above 0", defaultSplit)
	}
	return shares, nil
}
