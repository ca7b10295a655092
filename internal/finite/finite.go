// Package finite writes results with NaN or infinite numbers to files that cannot
// hold such numbers. They become null in JSON and an empty field in CSV. Null reads
// as NaN.
//
//	table ─▶ JSON ─▶ encoding/json        Text ─▶ encoding/csv
//	file ─▶ Unmarshal ─▶ table
package finite

import (
	"errors"
	"math"
	"strconv"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
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

// Number is a float64 that JSON shows as null if it is not finite. Null reads as
// NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) { return JSON(float64(x)).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (x *Number) UnmarshalJSON(text []byte) error { return Unmarshal(text, (*float64)(x)) }

// Object is a value that encoding/json writes with null for the numbers that are not
// finite. All else is as without it.
type Object struct{ value any }

// JSON returns v for encoding/json.
func JSON(v any) Object { return Object{v} }

// MarshalJSON implements json.Marshaler. The caller's encoder escapes for HTML, if it does.
func (o Object) MarshalJSON() ([]byte, error) {
	return json.Marshal(o.value, v1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(write[float64]), json.MarshalToFunc(write[float32]))))
}

func write[T float32 | float64](e *jsontext.Encoder, x T) error {
	if !Is(float64(x)) {
		return e.WriteToken(jsontext.Null)
	}
	return errors.ErrUnsupported
}

// Unmarshal is json.Unmarshal of encoding/json, except that null sets a number to NaN. v
// is a pointer.
func Unmarshal(text []byte, v any) error {
	return json.Unmarshal(text, v, v1.DefaultOptionsV1(), json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(read[float64]), json.UnmarshalFromFunc(read[float32]))))
}

func read[T float32 | float64](d *jsontext.Decoder, x *T) error {
	if d.PeekKind() != 'n' {
		return errors.ErrUnsupported
	}
	*x = T(math.NaN())
	return d.SkipValue()
}
