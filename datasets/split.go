package datasets

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// dealSplit draws a random split of the n nodes, or of the nodes that eligible
// accepts if it is not nil: train nodes, valid nodes, and the rest for testing. Ids
// increase within a part. The error is the context's.
func dealSplit(ctx context.Context, n, train, valid int, random *rand.Rand, eligible func(int) bool) (Split, error) {
	ids := make([]int32, 0, n)
	for i := range n {
		if i%(1<<20) == 0 && ctx.Err() != nil {
			return Split{}, ctx.Err()
		}
		if eligible == nil || eligible(i) {
			ids = append(ids, int32(i))
		}
	}
	part := make([]uint8, len(ids))
	for k := range part {
		switch {
		case k < train:
			part[k] = 0
		case k < train+valid:
			part[k] = 1
		default:
			part[k] = 2
		}
	}
	stopped := false
	random.Shuffle(len(part), func(i, j int) {
		if i%(1<<16) == 0 {
			stopped = ctx.Err() != nil
		}
		if !stopped {
			part[i], part[j] = part[j], part[i]
		}
	})
	if err := ctx.Err(); err != nil {
		return Split{}, err
	}
	var parts [3][]int32
	for p, size := range [...]int{min(train, len(ids)), max(min(valid, len(ids)-train), 0), max(len(ids)-train-valid, 0)} {
		parts[p] = slices.Grow(parts[p], size)
	}
	for k, p := range part {
		parts[p] = append(parts[p], ids[k])
	}
	return Split{Train: parts[0], Valid: parts[1], Test: parts[2]}, nil
}

// defaultSplit is used where neither the source nor the SPEC has a split.
const defaultSplit = "60/20/20"

// splitFromSpec draws a random split of the labelled nodes of d, by the keys split
// (60/20/20) and seed (1), and adds a note.
func splitFromSpec(ctx context.Context, d *Data, spec *Spec) error {
	text := spec.Text("split", defaultSplit)
	shares, err := parseShares(text)
	if err != nil {
		return fmt.Errorf("datasets: %q: split=%s: %w", spec, text, err)
	}
	seed, err := spec.Seed("seed", 1)
	if err != nil {
		return err
	}
	labelled := 0
	for i := range d.Nodes() {
		if d.labelled(i) {
			labelled++
		}
	}
	total := shares[0] + shares[1] + shares[2]
	train := int(math.Round(float64(labelled) * shares[0] / total))
	valid := min(int(math.Round(float64(labelled)*shares[1]/total)), labelled-train)
	random := rand.New(rand.NewPCG(splitmix.Hash(seed), splitmix.Hash(streamSplit)))
	if d.Split, err = dealSplit(ctx, d.Nodes(), train, valid, random, d.labelled); err != nil {
		return err
	}
	origin := ""
	if _, asked := spec.Values["split"]; !asked {
		origin = " (the source has none)"
	}
	d.Notes = append(d.Notes, fmt.Sprintf("random split %s, seed %d%s", text, seed, origin))
	return nil
}

// ownSplit tells whether the SPEC leaves the source's own split as it is. It reports
// a seed given with that.
func ownSplit(spec *Spec) (bool, error) {
	if _, asked := spec.Values["split"]; asked {
		return false, nil
	}
	return true, checkNoSeed(spec)
}

// checkNoSeed reports a seed given for a split that is not random.
func checkNoSeed(spec *Spec) error {
	if _, given := spec.Values["seed"]; given {
		return fmt.Errorf("datasets: %q: seed is for random splits; add split=%s", spec, defaultSplit)
	}
	return nil
}

// parseShares reads TRAIN/VALID/TEST: three numbers that are not negative, the
// first positive. They need not add up to 100.
func parseShares(text string) (shares [3]float64, err error) {
	fields := strings.Split(text, "/")
	if len(fields) != 3 {
		return shares, fmt.Errorf("want TRAIN/VALID/TEST, such as %s", defaultSplit)
	}
	for k, field := range fields {
		shares[k], err = strconv.ParseFloat(field, 64)
		if err != nil || !(shares[k] >= 0) || shares[k] > 1e9 {
			return shares, fmt.Errorf("%q is not a share", field)
		}
	}
	if shares[0] == 0 {
		return shares, fmt.Errorf("the training set would be empty")
	}
	return shares, nil
}
