// Package finite writes results with NaN or infinite numbers to files that cannot
// hold such numbers. They become null in JSON and an empty field in CSV. Null reads
// as NaN.
//
//	table ─▶ JSON ─▶ encoding/json        Text ─▶ encoding/csv
//	file ─▶ Unmarshal ─▶ table
package finite

import (
	"math"
	"strconv"
)

// Is reports whether v is neither NaN nor infinite.
func Is(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Text writes v as a field of CSV, in the fewest digits that read back as v. It
// returns "" if v is not finite.
func Text(v float64) string {
	if !Is(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Measured rounds a measurement to six digits.
func Measured(x float64) Number {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64) // its own output
	return Number(rounded)
}
