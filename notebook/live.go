package notebook

import (
	"fmt"
	"math/rand/v2"
)

// Data is what Jupyter is told to show: contents by MIME type, metadata about
// them, and what is not kept with the notebook. It is the very type of package
// display in the gophernotes kernel, so that its function Display is a
// func(Data) error.
type Data = struct {
	Data      map[string]any
	Metadata  map[string]any
	Transient map[string]any
}

// live is one place in a cell's output that is shown first and then replaced.
type live struct {
	display func(Data) error
	id      string // of this place; "" before the first time
}

// show puts a chart there. The kernel in notebooks/kernel replaces the one
// before where Transient says update.
func (l *live) show(c *Chart) error {
	d := Data{
		Data:      map[string]any{"image/svg+xml": c.SVG(), "text/plain": c.String()},
		Metadata:  map[string]any{},
		Transient: map[string]any{},
	}
	if l.id == "" {
		l.id = fmt.Sprintf("gcn-%016x", rand.Uint64()) // names a place, decides nothing
	} else {
		d.Transient["update"] = true
	}
	d.Transient["display_id"] = l.id
	return l.display(d)
}
