package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unsafe"

	"gorgonia.org/vecf32"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// ranks are the processes of a run, and its updates of several mini-batches. A nil group
// is this process alone.
type ranks struct {
	group   Group
	sum     orderedSum
	values  []float32 // the gradients of an update, then its loss; nil if an update is one batch
	seconds float64   // spent in sums over the ranks
	busy    float64   // seconds spent on this rank's own mini-batches

	imbalance float64 // the slowest rank's busy over the mean; 0 before the end

	fetcher *fetcher // nil: each rank has all data
	fetched int64    // bytes that the fetches of updates sent
	items   []*Item  // of the update, with a fetcher
}

// prepare checks that the model can be trained so, and allocates the sums.
func (r *ranks) prepare(run *run) error {
	micro := run.options.Micro
	if r.group != nil && r.group.Size() > micro {
		return fmt.Errorf("train: %d ranks share the mini-batches of an update, and Options.Micro (--micro) is %d; it must be at least %d, and it changes the training: an update then takes the mean gradient of so many mini-batches",
			r.group.Size(), micro, r.group.Size())
	}
	if micro == 1 {
		return nil
	}
	// The histories of a Refresher follow from the parameters: all ranks compute the same.
	if run.model.Refresher == nil && len(run.model.Batch.State()) > 0 {
		return fmt.Errorf("train: an update of %d mini-batches cannot be combined with a sampler that keeps the histories of each batch (vrgcn, --control rolling): the next batch needs them, and another rank may have it; take --control refresh (--method ladies-cv), whose histories follow from the parameters, or one mini-batch an update", micro)
	}
	size := len(run.program.Parameters()) + 1
	if err := memory.Check(fmt.Sprintf("train: gradients of an update of %d mini-batches", micro), 4*int64(size)*int64(2+bits.Len(uint(micro)))); err != nil {
		return err
	}
	r.sum, r.values = orderedSum{leaves: micro, length: size}, make([]float32, size)
	return nil
}

// RanksError is an error that every rank of a group returns in the same update, such as a loss
// that is not finite on one of them. So one rank can report it for all.
type RanksError struct{ Err error }

func (e *RanksError) Error() string { return e.Err.Error() }

func (e *RanksError) Unwrap() error { return e.Err }

// leads reports whether this rank writes the run's folder and reports progress.
func (r *ranks) leads() bool { return r.group == nil || r.group.Rank() == 0 }

// name returns a rank's number, with its host if the group knows it.
func (r *ranks) name(rank int) string {
	if hosts, ok := r.group.(interface{ Host(rank int) string }); ok {
		return fmt.Sprintf("rank %d on %s", rank, hosts.Host(rank))
	}
	return fmt.Sprintf("rank %d", rank)
}

// gatherDigests returns the digest of each rank's texts, one list a rank.
func (r *ranks) gatherDigests(ctx context.Context, texts [][]byte) ([][][8]float32, error) {
	mine := make([][8]float32, len(texts))
	for k, text := range texts {
		digest := sha256.Sum256(text)
		copy(asBytes(mine[k][:]), digest[:])
	}
	parts, digests := make([][]float32, r.group.Size()), make([][][8]float32, r.group.Size())
	for k := range parts {
		digests[k] = make([][8]float32, len(texts))
		if k == r.group.Rank() {
			digests[k] = mine
		}
		parts[k] = unsafe.Slice(&digests[k][0][0], 8*len(texts))
	}
	return digests, r.group.Gather(ctx, parts)
}

// agree returns an error that names the first rank whose program, machine, settings or data
// differ from rank 0's.
func (r *ranks) agree(ctx context.Context, config map[string]any) error {
	if r.group == nil {
		return nil
	}
	dense, err := blas.Default()
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	settings := map[string]any{}
	for name, v := range config {
		if name != "data" && name != "fingerprint" { // data is a location, which may differ
			settings[name] = v
		}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	names := []string{"program", "processor", "BLAS", "settings", "data"}
	texts := [][]byte{[]byte(revision()), []byte(runtime.GOARCH), []byte(dense.Name()), text, fmt.Append(nil, config["fingerprint"])}
	digests, err := r.gatherDigests(ctx, texts)
	if err != nil {
		return err
	}
	for rank, digest := range digests {
		for k := range names {
			if !slices.Equal(asBytes(digest[k][:]), asBytes(digests[0][k][:])) {
				return &RanksError{fmt.Errorf("train: %s differs from rank 0 in its %s (here, on rank %d: %s)", r.name(rank), names[k], r.group.Rank(), texts[k])}
			}
		}
	}
	return nil
}

// revision returns the version of this program. Without a version it returns the identity of
// sources and flags that Go writes into the file, if it can be read.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return runtime.Version()
	}
	var text strings.Builder
	fmt.Fprint(&text, runtime.Version(), " ", info.Main.Version)
	known := info.Main.Version != "" && info.Main.Version != "(devel)"
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			fmt.Fprint(&text, " ", s.Value)
			known = true
		}
	}
	if !known {
		fmt.Fprint(&text, " ", buildID())
	}
	return text.String()
}

// buildID returns Go's build ID of this program, or "" if its file is not ELF.
func buildID() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	note := file.Section(".note.go.buildid")
	if note == nil {
		return ""
	}
	const header = 16 // sizes, type, and the name "Go"
	data, err := note.Data()
	if err != nil || len(data) < header {
		return ""
	}
	return string(bytes.TrimRight(data[header:], "\x00"))
}

// balance sets the imbalance from the times of all ranks.
func (r *ranks) balance(ctx context.Context) error {
	if r.group == nil || r.group.Size() == 1 {
		return nil
	}
	times := make([]float32, r.group.Size())
	parts := make([][]float32, len(times))
	for rank := range parts {
		parts[rank] = times[rank : rank+1]
	}
	times[r.group.Rank()] = float32(r.busy)
	if err := r.group.Gather(ctx, parts); err != nil {
		return err
	}
	var sum float64
	for _, t := range times {
		sum += float64(t)
	}
	if sum > 0 { // else all updates were done before
		r.imbalance = float64(slices.Max(times)) * float64(len(times)) / sum
	}
	return nil
}

// sameParameters returns an error if the ranks' parameters differ.
func (r *ranks) sameParameters(ctx context.Context, params []float32, batch int) error {
	if r.group == nil {
		return nil
	}
	digests, err := r.gatherDigests(ctx, [][]byte{asBytes(params)})
	if err != nil {
		return err
	}
	for rank, digest := range digests {
		if !slices.Equal(asBytes(digest[0][:]), asBytes(digests[0][0][:])) {
			return &RanksError{fmt.Errorf("train: after batch %d, %s has other parameters than rank 0: a processor or the network has failed", batch, r.name(rank))}
		}
	}
	return nil
}

// asBytes returns the memory of values. Bytes that travel as float32 keep their bits.
func asBytes(values []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}

// follow gives all ranks the state of the run that rank 0 resumed.
func (r *run) follow(ctx context.Context) error {
	if r.ranks.group == nil {
		return nil
	}
	var text bytes.Buffer
	if r.ranks.leads() && r.resumed > 0 {
		if err := r.last().write(&text); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	state, err := Broadcast(ctx, r.ranks.group, text.Bytes())
	if err != nil || r.ranks.leads() || len(state) == 0 {
		return err
	}
	last, err := decodeCheckpoint(state)
	if err != nil {
		return fmt.Errorf("train: the state from rank 0: %w", err)
	}
	return r.restore("the state from rank 0", last, nil)
}

// accumulate trains on the mini-batches of the next update: it takes one step with the mean
// of their gradients.
func (r *run) accumulate(ctx context.Context, loader *Loader) error {
	s := &r.state
	r.dirty = true
	grads, values := r.program.Gradients(), r.ranks.values
	lo, hi := r.stream.Share()
	fetcher := r.ranks.fetcher
	begun := time.Now()
	for leaf := lo; leaf < hi; leaf++ {
		start := time.Now()
		item, err := r.ranks.next(ctx, loader, leaf-lo)
		if err != nil {
			return err
		}
		ready := time.Now()
		loss, err := r.program.compute(item.Blocks, item.Dropout)
		switch {
		case errors.Is(err, ErrNotFinite):
			loss = math.NaN() // reaches all ranks through the sum
		case err != nil:
			return r.failed(s.Batch, err)
		}
		copy(values, grads)
		values[len(grads)] = float32(loss)
		r.ranks.sum.add(leaf, values)
		s.WaitSeconds += ready.Sub(start).Seconds()
		s.TrainSeconds += time.Since(ready).Seconds()
		s.SamplingSeconds += item.Sampling.Seconds()
	}
	start := time.Now()
	r.ranks.busy += start.Sub(begun).Seconds()
	if fetcher != nil {
		if err := fetcher.wait(); err != nil {
			return err
		}
	}
	if err := r.ranks.sum.total(ctx, r.ranks.group, values); err != nil {
		return err
	}
	r.ranks.seconds += time.Since(start).Seconds()
	start = time.Now()
	vecf32.Scale(values, 1/float32(r.stream.Micro))
	loss := values[len(grads)]
	if !kernel.Finite(values) {
		return &RanksError{r.failed(s.Batch, r.program.checkFinite(loss, true))}
	}
	copy(grads, values)
	if err := r.adam.fit(len(grads)); err != nil {
		return err
	}
	r.scheduled().step(r.program.Parameters(), grads, &r.adam, r.program.averages)
	s.Batch++
	s.AdamSteps = r.adam.Steps
	s.LossSum += number(loss)
	s.TrainSeconds += time.Since(start).Seconds()
	return nil
}

// next returns the k-th mini-batch of this rank in an update.
func (r *ranks) next(ctx context.Context, loader *Loader, k int) (item *Item, err error) {
	if r.fetcher == nil {
		return loader.Next()
	}
	if k == 0 {
		if r.items, err = r.fetcher.take(ctx, r.items); err != nil {
			return nil, err
		}
		r.fetched += r.fetcher.done
	}
	return r.items[k], nil
}

// sent returns the bytes that this rank has sent for updates.
func (r *ranks) sent() int64 { return r.sum.sent + r.fetched }
