package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/ranks"
)

// leads reports whether this rank writes the run's folder and reports progress.
func (r *run) leads() bool { return r.options.Group == nil || r.options.Group.Rank() == 0 }

// agree returns an error that names the first rank whose program, machine, settings or data
// differ from rank 0's.
func (r *run) agree(ctx context.Context) error {
	g := r.options.Group
	if g == nil {
		return nil
	}
	dense, err := blas.Default()
	if err != nil {
		return named(err)
	}
	settings := maps.Clone(r.config)
	delete(settings, "data") // a location, which may differ
	delete(settings, "fingerprint")
	text, err := json.Marshal(settings)
	if err != nil {
		return named(err)
	}
	names := []string{"program", "processor", "BLAS", "settings", "data"}
	texts := [][]byte{[]byte(revision()), []byte(runtime.GOARCH), []byte(dense.Name()), text, fmt.Append(nil, r.config["fingerprint"])}
	rank, k, err := ranks.Differ(ctx, g, texts...)
	if err != nil || rank < 0 {
		return err
	}
	return &RanksError{Err: fmt.Errorf("train: %s differs from rank 0 in its %s (here, on rank %d: %s)", ranks.Name(g, rank), names[k], g.Rank(), texts[k])}
}

// revision returns the digest of this program's file, where it can be read.
func revision() string {
	path, _ := os.Executable()
	text, _ := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// sameParameters returns an error if the ranks' parameters differ.
func (r *run) sameParameters(ctx context.Context) error {
	g := r.options.Group
	if g == nil {
		return nil
	}
	rank, _, err := ranks.Differ(ctx, g, ranks.Bytes(r.program.Parameters()))
	if err != nil || rank < 0 {
		return err
	}
	return &RanksError{Err: fmt.Errorf("train: after batch %d, %s has other parameters than rank 0: a processor or the network has failed", r.state.Batch, ranks.Name(g, rank))}
}

// follow gives all ranks the state of the run that rank 0 resumed.
func (r *run) follow(ctx context.Context) error {
	if r.options.Group == nil {
		return nil
	}
	var text bytes.Buffer
	if r.leads() && r.out.Resumed > 0 {
		if err := r.last().write(&text); err != nil {
			return named(err)
		}
	}
	state, err := Broadcast(ctx, r.options.Group, text.Bytes())
	if err != nil || r.leads() || len(state) == 0 {
		return err
	}
	last, err := decodeCheckpoint(state)
	if err != nil {
		return fmt.Errorf("train: the state from rank 0: %w", err)
	}
	return r.restore("the state from rank 0", last)
}
