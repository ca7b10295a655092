package figure

import "slices"

// Curves makes a series of the rows of each name, in the order of the first rows. point returns
// the name, the place and half the length of the error bar of a row. A series whose bars are
// all 0 has none.
func Curves[R any](rows []R, point func(R) (name string, x, y, bar float64)) []Series {
	var all []Series
	for _, r := range rows {
		name, x, y, bar := point(r)
		at := slices.IndexFunc(all, func(s Series) bool { return s.Name == name })
		if at < 0 {
			at = len(all)
			all = append(all, Series{Name: name})
		}
		s := &all[at]
		s.X, s.Y, s.Error = append(s.X, x), append(s.Y, y), append(s.Error, bar)
	}
	for k := range all {
		if !slices.ContainsFunc(all[k].Error, func(bar float64) bool { return bar != 0 }) {
			all[k].Error = nil
		}
	}
	return all
}
