package study

import (
	"encoding/json"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// Number is a float64 that JSON shows as null if it is not finite. Null reads as
// NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (x Number) MarshalJSON() ([]byte, error) {
	return json.Marshal(finite.JSON(float64(x)))
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *Number) UnmarshalJSON(text []byte) error {
	return finite.Unmarshal(text, (*float64)(x))
}
