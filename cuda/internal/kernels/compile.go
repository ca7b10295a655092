package kernels

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed cuda.h
var cudaHeader []byte

// Toolchain compiles kernels to PTX.
type Toolchain struct {
	// Clang is clang 16 or later, built with its NVPTX back end as distributions
	// do; it needs nothing of NVIDIA's.
	Clang string
	// Ptxas is NVIDIA's assembler, with which the result is tried; "" skips that.
	Ptxas string
}

// FindToolchain takes the programs that the environment names (CLANG, PTXAS), else
// looks where distributions and NVIDIA put them.
func FindToolchain() (Toolchain, error) {
	var t Toolchain
	if t.Clang = program("CLANG", "clang-16", "clang-17", "clang-18",
		"clang-19", "clang-20", "clang"); t.Clang == "" {
		return t, fmt.Errorf("kernels: no clang 16 or later (Debian: clang-16); CLANG may name it")
	}
	t.Ptxas = program("PTXAS", "ptxas", "/usr/local/cuda/bin/ptxas")
	return t, nil
}

func program(variable string, names ...string) string {
	if name := os.Getenv(variable); name != "" {
		return name
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

var clangVersion = regexp.MustCompile(`clang version [0-9.]+`)

// version names the compiler without where it lies.
func (t Toolchain) version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, t.Clang, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("kernels: %s --version: %w", t.Clang, err)
	}
	if v := clangVersion.Find(out); v != nil {
		return string(v), nil
	}
	return "", fmt.Errorf("kernels: %s is not clang", t.Clang)
}

// Compile compiles m and writes its PTX, unless it is the same as before. The report
// is the assembler's on each kernel.
func (m Module) Compile(ctx context.Context, root string, t Toolchain) (report string, err error) {
	files, err := m.Sources(root)
	if err != nil {
		return "", err
	}
	version, err := t.version(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "gcn-ptx")
	if err != nil {
		return "", fmt.Errorf("kernels: %w", err)
	}
	defer os.RemoveAll(dir)
	text, err := m.compile(ctx, root, dir, t)
	if err != nil {
		return "", err
	}
	if report, err = t.assemble(ctx, dir, text); err != nil {
		return "", fmt.Errorf("kernels: %s: %w", m.Source, err)
	}
	ptx := append([]byte(header(files, version, text)), text...)
	path := filepath.Join(root, filepath.FromSlash(m.PTX))
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, ptx) {
		return report, nil
	}
	if err := os.WriteFile(path, ptx, 0o644); err != nil {
		return "", fmt.Errorf("kernels: %w", err)
	}
	return report, nil
}

func (m Module) compile(ctx context.Context, root, dir string, t Toolchain) ([]byte, error) {
	if err := os.WriteFile(filepath.Join(dir, "cuda.h"), cudaHeader, 0o644); err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	out := filepath.Join(dir, "out.ptx")
	args := []string{"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
		"-nostdinc", "-nostdinc++", "-isystem", dir, "-include", "cuda.h", "-std=c++20", "-O3", "-ffp-contract=fast",
		"-Wall", "-Werror", "-Wno-unused-function", "-S", "-o", out,
		"-Xclang", "-target-feature", "-Xclang", "+ptx70"} // PTX 7.0, of CUDA 11.0, is the first for compute_80
	clang := exec.CommandContext(ctx, t.Clang, append(args, filepath.Join(root, filepath.FromSlash(m.Source)))...)
	if said, err := clang.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("kernels: %s: %w\n%s", m.Source, err, said)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	if name := external.FindSubmatch(text); name != nil {
		return nil, fmt.Errorf("kernels: %s: %s is not defined", m.Source, name[1])
	}
	return text, nil
}

var (
	external  = regexp.MustCompile(`(?m)^\.extern [^\n]*?([A-Za-z_][A-Za-z0-9_]*)[(\n]`)
	compiling = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	spills    = regexp.MustCompile(`(\d+) bytes spill stores`)
	used      = regexp.MustCompile(`Used (\d+ registers.*)`)
)

// assemble tries the PTX with NVIDIA's assembler, for Ampere and for Hopper, and
// reports the registers of each kernel on Hopper.
func (t Toolchain) assemble(ctx context.Context, dir string, text []byte) (string, error) {
	if t.Ptxas == "" {
		return "not tried: no ptxas (PTXAS may name it)", nil
	}
	in := filepath.Join(dir, "in.ptx")
	if err := os.WriteFile(in, text, 0o644); err != nil {
		return "", err
	}
	var report strings.Builder
	for _, arch := range []string{"sm_80", "sm_90"} {
		said, err := exec.CommandContext(ctx, t.Ptxas, "-v", "-arch="+arch, "-o",
			filepath.Join(dir, "out.cubin"), in).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("ptxas -arch=%s: %w\n%s", arch, err, said)
		}
		if arch != "sm_90" {
			continue
		}
		for line := range strings.Lines(string(said)) {
			if m := compiling.FindStringSubmatch(line); m != nil {
				fmt.Fprintf(&report, "%-28s", m[1])
			} else if m := spills.FindStringSubmatch(line); m != nil && m[1] != "0" {
				fmt.Fprintf(&report, "SPILLS %s bytes, ", m[1])
			} else if m := used.FindStringSubmatch(line); m != nil {
				fmt.Fprintf(&report, "%s\n", m[1])
			}
		}
	}
	return report.String(), nil
}
