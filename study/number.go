package study

import "github.com/gcn-layerwise/gcn/internal/finite"

// Number is a float64 that JSON shows as null if it is not finite. Null reads as NaN.
type Number = finite.Number
