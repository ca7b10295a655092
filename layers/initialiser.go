package layers

import (
	"math"
	"math/rand/v2"
)

// Initialiser sets the first values of a layer's parameters: weight, (in, out) in row-major
// order, and bias, of length out or empty. Random numbers must come from rng.
type Initialiser func(rng *rand.Rand, in, out int, weight, bias []float32)

// PyTorch draws weight and bias uniformly on ±1/√in, as torch.nn.Linear and the program
// released with the paper do.
func PyTorch(rng *rand.Rand, in, out int, weight, bias []float32) {
	bound := 1 / math.Sqrt(float64(in))
	uniform(rng, bound, weight)
	uniform(rng, bound, bias)
}

// GlorotUniform draws the weight uniformly on ±√(6/(in+out)) (Glorot & Bengio
// 2010) and sets the bias to zero, as Kipf & Welling's GCN does.
func GlorotUniform(rng *rand.Rand, in, out int, weight, bias []float32) {
	uniform(rng, math.Sqrt(6/float64(in+out)), weight)
	clear(bias)
}

func uniform(rng *rand.Rand, bound float64, values []float32) {
	for k := range values {
		values[k] = float32(bound * (2*rng.Float64() - 1))
	}
}
