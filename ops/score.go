package ops

import (
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// Score names the number that a loss reports for each output node. Batches may prefer
// nodes with a high score.
type Score uint8

const (
	NoScore Score = iota

	// LossScore is the node's own loss, without its weight.
	LossScore

	// GradientScore is the norm of the derivative of the node's own loss with respect to
	// its logits. Up to a factor it bounds the norm of its gradient with respect to all
	// parameters (Katharopoulos & Fleuret 2018, arXiv:1803.00942).
	GradientScore
)

// Observe makes the loss report a score of each output node in the next runs. On a GPU
// a run then waits for its logits.
func (t *Targets) Observe(s Score) { t.score = s }

// Scores returns the scores of the last run: one for each node of the last Set, NaN for a
// node without a label. The slice is valid until the next run.
func (t *Targets) Scores() []float32 { return t.scores }

// observe computes the scores from the logits z, on d if that is not nil.
func (t *Targets) observe(d *device.Device, z plan.Matrix) error {
	logits, err := onHost(d, z)
	if err != nil {
		return err
	}
	t.scores = scratch(t.scores, len(t.class))
	score := t.classScore
	if t.labels.Tasks > 0 {
		score = t.taskScore
	}
	for i := range t.scores {
		t.scores[i] = float32(score(i, logits[i*z.Cols:][:z.Cols]))
	}
	return nil
}

// classScore is the score of −log softmax(z)[class] for current node i.
func (t *Targets) classScore(i int, z []float32) float64 {
	class := t.class[i]
	if class < 0 {
		return math.NaN()
	}
	top := slices.Max(z)
	var sum, squares float64
	for _, v := range z {
		e := math.Exp(float64(v - top))
		sum += e
		squares += e * e
	}
	if t.score == LossScore {
		return math.Log(sum) - float64(z[class]-top)
	}
	// ‖p − 1_class‖² = Σp² − p² + (1−p)² with p the probability of the class.
	p := math.Exp(float64(z[class]-top)) / sum
	return math.Sqrt(max(squares/(sum*sum)-p*p, 0) + (1-p)*(1-p))
}

// taskScore is the score of the mean binary cross-entropy over the labelled tasks of current node i.
func (t *Targets) taskScore(i int, z []float32) float64 {
	var loss, squares, labelled float64
	for j, target := range t.multi[i*len(z):][:len(z)] {
		if target != target {
			continue
		}
		x := float64(z[j])
		labelled++
		loss += max(x, 0) - x*float64(target) + math.Log1p(math.Exp(-math.Abs(x)))
		e := 1/(1+math.Exp(-x)) - float64(target)
		squares += e * e
	}
	switch {
	case labelled == 0:
		return math.NaN()
	case t.score == LossScore:
		return loss / labelled
	}
	return math.Sqrt(squares) / labelled
}
