// Package machine describes the machine that numbers were measured on.
//
//	measurements ─▶ reports ◀─ machine.Describe
package machine

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/gcn-layerwise/gcn/internal/blas"
)

// Machine is everything that times and memory sizes depend on.
type Machine struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Processor string `json:"processor,omitempty"` // model, if the system reports it
	Cores     int    `json:"cores"`               // cores that Go uses
	Go        string `json:"go"`
	BLAS      string `json:"blas"`
}

// Describe describes this machine.
func Describe() Machine {
	return Machine{
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		Processor: field("/proc/cpuinfo", "model name\t: "),
		Cores:     runtime.GOMAXPROCS(0),
		Go:        runtime.Version(),
		BLAS:      BLAS(),
	}
}

// BLAS names the BLAS in use, "" if none can be.
func BLAS() string {
	library, err := blas.Default()
	if err != nil {
		return ""
	}
	return library.Name()
}

// String is one line for a reader.
func (m Machine) String() string {
	name := cmp.Or(m.Processor, m.Arch)
	cores := english.Plural(m.Cores, "core", "")
	return fmt.Sprintf("%s, %s in use, %s/%s, %s, BLAS %s", name, cores, m.OS, m.Arch, m.Go, m.BLAS)
}

// field returns the rest of the first line with a name in a file of Linux, or "".
func field(path, name string) string {
	text, _ := os.ReadFile(path) // other systems have none
	_, value, _ := strings.Cut(string(text), name)
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// PeakRSS returns the largest resident set size of the process so far, in MB of 10⁶ bytes, as Linux
// reports it. Elsewhere it is the memory that Go has obtained from the system so far.
func PeakRSS() float64 {
	var kib float64
	if _, err := fmt.Sscan(field("/proc/self/status", "VmHWM:"), &kib); err == nil {
		return kib * 1024 / 1e6
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.Sys) / 1e6
}
