package tune

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/study/figure"
)

// Figure shows a search, of the rows that Search.Run returns: the scores of all settings over
// mini-batches, and for each option the scores over its values, rung by rung. score names the
// metric.
func Figure(space []Dimension, rows []Row, score string) *figure.Figure {
	first := figure.Panel{Title: "settings over training", X: "mini-batches",
		Y: "validation " + score, LogX: true}
	first.Lines = figure.Curves(rows, func(r Row) (string, float64, float64, float64) {
		return strconv.Itoa(r.Setting), float64(r.Batches), r.Valid, r.SEM
	})
	best := strconv.Itoa(Best(rows).Setting)
	for k, line := range first.Lines {
		if first.Lines[k].Name = ""; line.Name == best {
			first.Lines[k].Name = "the best setting"
		}
	}
	// The line of the best setting is drawn over the others.
	slices.SortStableFunc(first.Lines, func(a, b figure.Series) int { return len(a.Name) - len(b.Name) })
	f := &figure.Figure{Title: "Search of settings", Columns: 3, Panels: []figure.Panel{first}}
	for _, d := range space {
		f.Panels = append(f.Panels, figure.Panel{
			Title: d.Option, X: d.Option, Y: first.Y, Names: d.Values,
			Points: figure.Curves(rows, func(r Row) (string, float64, float64, float64) {
				at := float64(slices.Index(d.Values, r.Options[d.Option]))
				return fmt.Sprintf("after %d mini-batches", r.Batches), at, r.Valid, r.SEM
			}),
		})
	}
	return f
}
