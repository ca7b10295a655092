package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/tfevents"
	"github.com/gcn-layerwise/gcn/study"
)

// WriteEvents writes a run's loss and validation score as a TensorBoard event
// file in dir, and returns the file's path. It makes dir if necessary. Steps are
// batches. Times count back from the time of the run's last evaluation.
func (r *Run) WriteEvents(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	start := r.Ended
	if n := len(r.Points); n > 0 {
		start = start.Add(-seconds(r.Points[n-1].Seconds))
	}
	path = filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%d.gcn", start.Unix()))
	if err := atomicfile.Write(path, func(w io.Writer) error { return r.writeEvents(w, start) }); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	return path, nil
}

func (r *Run) writeEvents(file io.Writer, start time.Time) error {
	w, err := tfevents.NewWriter(file, start)
	if err != nil {
		return err
	}
	metric := cmp.Or(r.text("metric"), "score")
	for _, p := range r.Points {
		var scalars []tfevents.Scalar
		add := func(tag string, value study.Number) {
			if !math.IsNaN(float64(value)) {
				scalars = append(scalars, tfevents.Scalar{Tag: tag, Value: float32(value)})
			}
		}
		add("loss/train", p.Loss)
		add("valid/"+metric, p.Valid)
		if err := w.Write(start.Add(seconds(p.Seconds)), int64(p.Batch), scalars...); err != nil {
			return err
		}
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
