// Package finite writes results that may hold NaN or infinite numbers to files
// that cannot: such a number is null in JSON and an empty field in CSV, and null
// reads as NaN.
//
//	table ─▶ JSON ─▶ encoding/json        Text ─▶ encoding/csv
//	file ─▶ Unmarshal ─▶ table
package finite

import (
	"math"
	"strconv"
)

// Is tells whether v is neither NaN nor infinite.
func Is(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Text writes v as a field of CSV: as short as it reads back the same, and empty
// where v is not finite.
func Text(v float64) string {
	if !Is(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
