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
//	stratify=1                         random, with the same shares of each class
//
// own says that d has the split of the source, which stays.
func splitFromSpec(ctx context.Context, d *Data, spec *Spec, own bool) error {
	_, whole := spec.Values["split"]
	text := spec.Text("split", defaultSplit)
	parts, random := spec.given("train", "valid", "test"), spec.given("seed", "stratify")
	shares, err := parseShares(text)
	_, missing := os.Stat(text)
	isFile := err != nil && missing == nil
	switch {
	case whole && parts != "":
		return fmt.Errorf("datasets: %q: both split and %s: want one of them", spec, parts)
	case (own || isFile || parts != "") && random != "":
		return fmt.Errorf("datasets: %q: %s is for random splits: say split=%s", spec, random, defaultSplit)
	case own:
		return nil
	case isFile, parts != "":
		return splitFromFiles(ctx, d, spec, isFile)
	case err != nil:
		return fmt.Errorf("datasets: %q: split=%s: %w, or a file that is there", spec, text, err)
	}
	seed, err := number[uint64](spec, "seed", 1, 0, math.MaxUint64)
	if err != nil {
		return err
	}
	const purpose = 12 // the purpose of the split in internal/synth
	generator := rand.New(rand.NewPCG(splitmix.Hash(seed), splitmix.Hash(purpose)))
	origin := ""
	if spec.Values["stratify"] == "1" {
		origin = ", stratified by class"
		if err := d.dealStratified(shares, generator); err != nil {
			return err
		}
	} else {
		labelled := d.labelledNodes()
		parts := synth.RandomSplit(labelled, shareOf(len(labelled), shares[0], shares), shareOf(len(labelled), shares[1], shares), generator)
		d.Split = Split{parts[0], parts[1], parts[2]}
	}
	if !whole {
		origin += " (the source has none)"
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
			d.Split = Split{s[0], s[1], s[2]}
			d.note("split from %s", spec.Values["split"])
		}
		return err
	}
	if spec.given("train") == "" {
		return fmt.Errorf("datasets: %q: valid and test need train=FILE", spec)
	}
	d.Split = Split{}
	for k, part := range []*[]int32{&d.Split.Train, &d.Split.Valid, &d.Split.Test} {
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

// dealStratified draws a random split of the labelled nodes with the same shares of each
// class, within two nodes. The shares of all classes together are within one node.
func (d *Data) dealStratified(shares [3]float64, random *rand.Rand) error {
	y := d.Labels
	if y.Tasks > 1 {
		return fmt.Errorf("datasets: %s: stratify=1 needs one class for each node, and there are %d binary tasks", d.title(), y.Tasks)
	}
	of := make([][]int32, max(y.Classes, 2)) // the nodes of each class
	for _, i := range d.labelledNodes() {
		class := 0
		if y.Tasks == 1 {
			class = int(y.Multi[i])
		} else {
			class = int(y.Class[i])
		}
		of[class] = append(of[class], i)
	}
	var parts [3][]int32
	seen, before := 0, [2]int{} // nodes so far; ends of training and validation nodes
	for _, nodes := range of {
		random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		seen += len(nodes)
		ends := [2]int{shareOf(seen, shares[0], shares), shareOf(seen, shares[0]+shares[1], shares)}
		train := min(max(ends[0]-before[0], 0), len(nodes))
		valid := min(max(ends[1]-before[1], train), len(nodes))
		parts[0] = append(parts[0], nodes[:train]...)
		parts[1] = append(parts[1], nodes[train:valid]...)
		parts[2] = append(parts[2], nodes[valid:]...)
		before = ends
	}
	for _, part := range parts {
		slices.Sort(part)
	}
	d.Split = Split{Train: parts[0], Valid: parts[1], Test: parts[2]}
	return nil
}

// shareOf returns how many of n nodes a part with this share gets. shares has the shares of all
// three parts; they need not add up to 1.
func shareOf(n int, share float64, shares [3]float64) int {
	return int(math.Round(float64(n) * share / (shares[0] + shares[1] + shares[2])))
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
