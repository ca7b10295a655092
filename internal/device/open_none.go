//go:build !cuda

package device

import "errors"

// ErrNotBuilt is the error of Open in a build without the tag cuda.
var ErrNotBuilt = errors.New("this program was built without CUDA: build it by go build -modfile go.cuda.mod -tags cuda ./cmd/gcn")

// Built tells whether this is a build with the tag cuda.
const Built = false

// Device is a GPU; in a build without the tag cuda there is none.
type Device struct{}

// Open returns ErrNotBuilt.
func Open() (*Device, error) { return nil, ErrNotBuilt }

// Name returns nothing here.
func (*Device) Name() string { return "" }

// Close does nothing here.
func (*Device) Close() error { return nil }

// Describe says that CUDA is not built in.
func Describe() string { return "not built in" }
