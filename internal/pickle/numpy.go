package pickle

import (
	"fmt"
	"math"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// ArrayClasses returns the classes of lists, dictionaries, arrays and sparse matrices, as all
// versions of Python, NumPy and SciPy name them.
func ArrayClasses() []Class {
	return []Class{
		"__builtin__ list", "builtins list", "__builtin__ object", "builtins object", "collections defaultdict", "collections OrderedDict",
		"copy_reg _reconstructor", "copyreg _reconstructor", "_codecs encode", "__builtin__ bytes", "numpy ndarray", "numpy dtype",
		"numpy.core.multiarray _reconstruct", "numpy.core.multiarray scalar", "numpy.core.numeric _frombuffer",
		"numpy._core.multiarray _reconstruct", "numpy._core.multiarray scalar", "numpy._core.numeric _frombuffer",
		"scipy.sparse.csr csr_matrix", "scipy.sparse._csr csr_matrix", "scipy.sparse._csr csr_array", "scipy.sparse._arrays csr_array",
	}
}

// Array returns a reader of an array, or of a scalar of NumPy. Its errors begin with the name.
func Array(name string, v any) (*npy.Reader, error) {
	var element, shape, data any
	var h npy.Header
	if o, is := v.(*Object); is {
		state, _ := o.State.(Tuple)
		switch call := o.Arguments; {
		case len(state) == 5: // version, shape, element type, is Fortran, bytes
			shape, element, h.Fortran, data = state[1], state[2], state[3] == true, state[4]
		case len(call) == 4: // since protocol 5
			data, element, shape, h.Fortran = call[0], call[1], call[2], call[3] == "F"
		case len(call) == 2: // a scalar
			element, data, shape = call[0], call[1], Tuple(nil)
		}
	}
	t, _ := element.(*Object)
	dims, err := Ints(shape)
	if t == nil || len(t.Arguments) == 0 || err != nil {
		return nil, fmt.Errorf("%s: not an array of numbers", name)
	}
	order := "|"
	if state, _ := t.State.(Tuple); len(state) > 1 { // version, byte order, …
		order, _ = state[1].(string)
	}
	kind, _ := t.Arguments[0].(string)
	bytes, _ := data.(string)
	h.Descr, h.Shape = order+kind, dims
	return npy.NewValues(name, h, strings.NewReader(bytes), int64(len(bytes)))
}

// Ints returns a tuple of numbers in [0, 2³¹).
func Ints(v any) ([]int, error) {
	values, is := v.(Tuple)
	ints := make([]int, min(len(values), 64))
	for k := range ints {
		n, isInt := values[k].(int)
		ints[k], is = n, is && isInt && n >= 0 && n <= math.MaxInt32
	}
	if !is || len(ints) < len(values) {
		return nil, fmt.Errorf("not a tuple of at most 64 integers in [0, 2³¹)")
	}
	return ints, nil
}
