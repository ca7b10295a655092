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
		Processor: processor(),
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
	name, cores := cmp.Or(m.Processor, m.Arch), english.Plural(m.Cores, "core", "")
	return fmt.Sprintf("%s, %s in use, %s/%s, %s, BLAS %s", name, cores, m.OS, m.Arch, m.Go, m.BLAS)
}

// processor returns the processor's model as Linux reports it, or "".
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // other systems have none
	_, name, _ := strings.Cut(string(text), "model name\t: ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}

// PeakRSS returns the largest resident set size of the process so far, in MB of 10⁶ bytes, as Linux
// reports it. Elsewhere it is the memory that Go has obtained from the system so far.
func PeakRSS() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(peak, &kib); err == nil {
		return kib * 1024 / 1e6
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.Sys) / 1e6
}
