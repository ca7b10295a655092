package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// placedTargets holds the labels and weights of the current batch on the device.
type placedTargets struct {
	class, multi, weight device.Pointer
}

// targetsOf returns t on the device of r.
func targetsOf(r *plan.Run, t *Targets) *placedTargets {
	return plan.StateOf(r, t, func(q *placedTargets) {
		r.AddInput(func(u *device.Uploader) error {
			t := plan.In(r, t)
			if t.rows == 0 {
				return errNoTargets
			}
			if t.labels.Tasks > 0 {
				device.Add(u, &q.multi, t.multi)
			} else {
				device.Add(u, &q.class, t.class)
			}
			device.Add(u, &q.weight, t.shares())
			return nil
		})
	})
}
