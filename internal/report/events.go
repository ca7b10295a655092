package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/tfevents"
)

// WriteEvents writes a run's loss and validation score as a TensorBoard event
// file in dir, and returns the file's path. It makes dir if necessary. Steps are
// batches. Times count back from the time of the run's last evaluation.
func (r *Run) WriteEvents(dir string) (path string, err error) {
	start := r.Ended
	if n := len(r.Points); n > 0 {
		start = start.Add(-seconds(r.Points[n-1].Seconds))
	}
	metric := cmp.Or(r.text("metric"), "score")
	path = filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%d.gcn", start.Unix()))
	file := tfevents.Begin(start)
	for _, p := range r.Points {
		scalars := []tfevents.Scalar{
			{Tag: "loss/train", Value: float32(p.Loss)},
			{Tag: "valid/" + metric, Value: float32(p.Valid)},
		}
		scalars = slices.DeleteFunc(scalars, func(s tfevents.Scalar) bool { return math.IsNaN(float64(s.Value)) })
		file = tfevents.Append(file, start.Add(seconds(p.Seconds)), int64(p.Batch), scalars...)
	}
	err = cmp.Or(os.MkdirAll(dir, 0o777), atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	}))
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	return path, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
