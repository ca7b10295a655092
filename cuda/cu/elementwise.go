package cu

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/chewxy/math32"
)

// Elementwise is an image for LoadData. Its kernels are those that Gorgonia's
// elementwise operations look up, which Gorgonia's release has no compiled code
// for. They run on the CPU, in a context of a GPU too, on managed memory: a launch
// waits for the stream, and has computed when it returns.
//
// The kernel OP_SHAPE_TYPE(a, b, size) computes a[i] = a[i] OP b[i] for i < size:
// OP is one of add, sub, mul, div, pow, gt, gte, lt, lte, eq and ne, which give 1
// for true and 0 for false; TYPE is f32 or f64; SHAPE is vv, or vs where b is one
// number, ss where both are, sv where a is one: then b[i] = a[0] OP b[i]. The kernel
// OP_TYPE(a, size) computes a[i] = OP(a[i]).
const Elementwise = "gorgonia.org/cu: elementwise operations on the CPU"

// BinaryKernels lists the kernels of two operands in Elementwise.
func BinaryKernels() []string {
	var names []string
	for _, op := range operations(binary[float32]()) {
		for _, shape := range []string{"vv", "vs", "sv", "ss"} {
			names = append(names, op+"_"+shape+"_f32", op+"_"+shape+"_f64")
		}
	}
	return names
}

// UnaryKernels lists the kernels of one operand in Elementwise.
func UnaryKernels() []string {
	var names []string
	for _, op := range operations(unary64()) {
		names = append(names, op+"_f32", op+"_f64")
	}
	return names
}

func operations[F any](of map[string]F) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// kernel is a function that runs on the CPU in place of a device's.
type kernel func(args []Arg)

// elementwise returns the kernel of that name, and the number of its parameters.
func elementwise(name string) (k kernel, params int, err error) {
	op, kind, _ := strings.Cut(name, "_")
	shape, dtype, isBinary := strings.Cut(kind, "_")
	switch {
	case isBinary && dtype == "f32":
		k, params = onTwo(binary[float32]()[op], shape), 3
	case isBinary && dtype == "f64":
		k, params = onTwo(binary[float64]()[op], shape), 3
	case kind == "f32":
		k, params = onEach(unary32()[op]), 2
	case kind == "f64":
		k, params = onEach(unary64()[op]), 2
	}
	if k == nil {
		return nil, 0, fmt.Errorf("cu: no elementwise kernel %s: %w", name, NotFound)
	}
	return k, params, nil
}

func onEach[T any](f func(T) T) kernel {
	if f == nil {
		return nil
	}
	return func(args []Arg) {
		a := values[T](args[0], args[1])
		for i, v := range a {
			a[i] = f(v)
		}
	}
}

func onTwo[T any](f func(a, b T) T, shape string) kernel {
	if f == nil {
		return nil
	}
	switch shape {
	case "vv":
		return func(args []Arg) {
			a, b := values[T](args[0], args[2]), values[T](args[1], args[2])
			for i, v := range a {
				a[i] = f(v, b[i])
			}
		}
	case "vs":
		return func(args []Arg) {
			a, b := values[T](args[0], args[2]), values[T](args[1], 1)
			for i, v := range a {
				a[i] = f(v, b[0])
			}
		}
	case "sv":
		return func(args []Arg) {
			a, b := values[T](args[0], 1), values[T](args[1], args[2])
			for i, v := range b {
				b[i] = f(a[0], v)
			}
		}
	case "ss":
		return func(args []Arg) {
			a, b := values[T](args[0], 1), values[T](args[1], 1)
			a[0] = f(a[0], b[0])
		}
	}
	return nil
}

// values are n numbers at an address.
func values[T any](at, n Arg) []T { return unsafe.Slice((*T)(pointer(DevicePtr(at))), int32(n)) }

func binary[T float32 | float64]() map[string]func(a, b T) T {
	truth := func(b bool) T {
		if b {
			return 1
		}
		return 0
	}
	return map[string]func(a, b T) T{
		"add": func(a, b T) T { return a + b },
		"sub": func(a, b T) T { return a - b },
		"mul": func(a, b T) T { return a * b },
		"div": func(a, b T) T { return a / b },
		"pow": func(a, b T) T { return T(math.Pow(float64(a), float64(b))) },
		"gt":  func(a, b T) T { return truth(a > b) },
		"gte": func(a, b T) T { return truth(a >= b) },
		"lt":  func(a, b T) T { return truth(a < b) },
		"lte": func(a, b T) T { return truth(a <= b) },
		"eq":  func(a, b T) T { return truth(a == b) },
		"ne":  func(a, b T) T { return truth(a != b) },
	}
}

// unary64 has the operations as Gorgonia computes them on the CPU in float64.
func unary64() map[string]func(float64) float64 {
	return map[string]func(float64) float64{
		"abs": math.Abs, "ceil": math.Ceil, "floor": math.Floor,
		"sin": math.Sin, "cos": math.Cos, "tanh": math.Tanh,
		"exp": math.Exp, "expm1": math.Expm1, "ln": math.Log, "log2": math.Log2, "log1p": math.Log1p,
		"sqrt":     math.Sqrt,
		"sign":     sign[float64],
		"neg":      func(x float64) float64 { return -x },
		"square":   func(x float64) float64 { return x * x },
		"cube":     func(x float64) float64 { return x * x * x },
		"inv":      func(x float64) float64 { return 1 / x },
		"sigmoid":  sigmoid,
		"softplus": softplus,
	}
}

// unary32 has the same in float32, with the roundings that Gorgonia's CPU has.
func unary32() map[string]func(float32) float32 {
	rounded := func(f func(float64) float64) func(float32) float32 {
		return func(x float32) float32 { return float32(f(float64(x))) }
	}
	return map[string]func(float32) float32{
		"abs": math32.Abs, "ceil": math32.Ceil, "floor": math32.Floor,
		"sin": math32.Sin, "cos": math32.Cos, "tanh": rounded(math.Tanh),
		"exp": math32.Exp, "expm1": math32.Expm1, "ln": math32.Log, "log2": math32.Log2, "log1p": math32.Log1p,
		"sqrt":     math32.Sqrt,
		"sign":     sign[float32],
		"neg":      func(x float32) float32 { return -x },
		"square":   func(x float32) float32 { return x * x },
		"cube":     func(x float32) float32 { return x * x * x },
		"inv":      func(x float32) float32 { return 1 / x },
		"sigmoid":  rounded(sigmoid),
		"softplus": rounded(softplus),
	}
}

// sign is −1 or 1, and 1 for 0, as in Gorgonia.
func sign[T float32 | float64](x T) T {
	if math.Signbit(float64(x)) {
		return -1
	}
	return 1
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// softplus is log(1 + exp x); beyond 30 that is x in float64.
func softplus(x float64) float64 {
	if x > 30 {
		return x
	}
	return math.Log1p(math.Exp(x))
}
