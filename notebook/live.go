package notebook

import (
	"fmt"
	"math/rand/v2"
)

// Data is the message by which Jupyter shows a value: contents by MIME type,
// metadata about them, and transient fields, which the notebook does not keep. It
// is identical to a type of package display in the gophernotes kernel, so that the
// kernel's function Display is a func(Data) error.
type Data = struct {
	Data      map[string]any
	Metadata  map[string]any
	Transient map[string]any
}

// live is a display in a cell's output. show replaces it.
type live struct {
	display func(Data) error
	id      string // of the display; "" before the first chart
}

// show puts a chart into the display, with a PNG if it is the last one. The kernel in
// notebooks/kernel replaces the earlier display if Transient has the field update.
func (l *live) show(c *Chart, last bool) error {
	d := Data{
		Data:      map[string]any{"image/svg+xml": c.SVG(), "text/plain": c.String()},
		Metadata:  map[string]any{},
		Transient: map[string]any{},
	}
	if last {
		d.Data["image/png"] = c.PNG()
	}
	if l.id == "" {
		l.id = fmt.Sprintf("gcn-%016x", rand.Uint64()) // a name only; no result depends on it
	} else {
		d.Transient["update"] = true
	}
	d.Transient["display_id"] = l.id
	return l.display(d)
}
