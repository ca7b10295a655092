package machine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/machine"
)

func TestDescribe(t *testing.T) {
	m := machine.Describe()
	if m.OS != runtime.GOOS || m.Arch != runtime.GOARCH || m.Cores < 1 || m.BLAS == "" {
		t.Errorf("machine %+v", m)
	}
	if text := m.String(); !strings.Contains(text, m.Go) || strings.Contains(text, "\n") {
		t.Errorf("described as %q", text)
	}
}

func ExampleMachine_String() {
	m := machine.Machine{OS: "linux", Arch: "amd64", Processor: "Some CPU", Cores: 8, Go: "go1.26", BLAS: "gonum"}
	fmt.Println(m)
	// Output: Some CPU, 8 cores in use, linux/amd64, go1.26, BLAS gonum
}
