package emulator

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/cuda/internal/kernels"
)

//go:embed src
var embedded embed.FS

// ErrNoCompiler is returned where there is no C++ compiler.
var ErrNoCompiler = errors.New("no C++ compiler")

// Libraries are the files that an emulated device consists of.
type Libraries struct{ CUDA, CUBLAS string }

// Environment makes a program of this project use them.
func (l Libraries) Environment() []string {
	return []string{"GCN_CUDA=" + l.CUDA, "GCN_CUBLAS=" + l.CUBLAS}
}

// Build builds the emulator for the kernels of the project at root, and returns
// its files. They lie in a folder below dir, named by a hash of their sources, and
// are built only if it does not exist; that takes about ten seconds.
// The compiler is g++, or the one in the variable CXX.
func Build(ctx context.Context, root, dir string) (Libraries, error) {
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "g++"
	}
	compiler, err := exec.LookPath(compiler)
	if err != nil {
		return Libraries{}, fmt.Errorf("emulator: %w: %v", ErrNoCompiler, err)
	}
	modules, key, err := generate(root)
	if err != nil {
		return Libraries{}, err
	}
	made := filepath.Join(dir, "emulator-"+key[:16])
	libraries := Libraries{CUDA: filepath.Join(made, "libcuda.so.1"), CUBLAS: filepath.Join(made, "libcublas.so.13")}
	if _, err := os.Stat(made); err == nil {
		return libraries, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Libraries{}, fmt.Errorf("emulator: %w", err)
	}
	// Built beside its place and moved there whole, so that two processes may build
	// the same at once.
	work, err := os.MkdirTemp(dir, "building-")
	if err != nil {
		return Libraries{}, fmt.Errorf("emulator: %w", err)
	}
	defer os.RemoveAll(work)
	if err := build(ctx, compiler, work, modules); err != nil {
		return Libraries{}, err
	}
	if err := os.Rename(work, made); err != nil {
		if _, there := os.Stat(made); there != nil {
			return Libraries{}, fmt.Errorf("emulator: %w", err)
		}
	}
	return libraries, nil
}

var (
	entry    = regexp.MustCompile(`\.entry ([A-Za-z_][A-Za-z0-9_]*)\(`)
	textLine = regexp.MustCompile(`(?m)^// text .*$`)
)

// generate writes two C++ texts for each module, one that includes its source and
// one translated from its PTX, each naming its kernels, and a hash over all that
// the emulator is built of.
func generate(root string) (texts map[string]string, key string, err error) {
	texts = map[string]string{}
	hash := sha256.New()
	for _, m := range kernels.Modules() {
		files, err := m.Sources(root)
		if err != nil {
			return nil, "", err
		}
		ptx, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.PTX)))
		if err != nil {
			return nil, "", fmt.Errorf("emulator: %w", err)
		}
		translated, err := translate(string(ptx))
		if err != nil {
			return nil, "", fmt.Errorf("%w of %s", err, m.PTX)
		}
		var lines, compiled, ours strings.Builder
		for _, f := range files {
			lines.WriteString(f.Line() + "\n")
		}
		lines.WriteString(textLine.FindString(string(ptx)) + "\n")
		names := entry.FindAllStringSubmatch(string(ptx), -1)
		for _, n := range names {
			fmt.Fprintf(&compiled, "\tGCN_KERNEL(%s, %[1]s),\n", n[1])
			fmt.Fprintf(&ours, "\tGCN_KERNEL(%s, %s),\n", n[1], name(n[1]))
		}
		end := func(list string, isTranslated bool) string {
			return fmt.Sprintf("#include \"module.h\"\n\nstatic const GcnKernel all[] = {\n%s};\n\n"+
				"static GcnModule self = {%s, %s, %t, all, %d, nullptr};\n\n"+
				"__attribute__((constructor)) static void add() {\n\tself.next = gcn_modules;\n\tgcn_modules = &self;\n}\n",
				list, strconv.Quote(m.Name), strconv.Quote(lines.String()), isTranslated, len(names))
		}
		texts[m.Name] = fmt.Sprintf("#include %q\n", files[0].Path) + end(compiled.String(), false)
		texts[m.Name+".ptx"] = "#include \"ptx.h\"\n\n" + translated + end(ours.String(), true)
		fmt.Fprintf(hash, "%s\n%s\n", lines.String(), translated)
	}
	err = fs.WalkDir(embedded, "src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(path)
		fmt.Fprintf(hash, "%s %x\n", path, sha256.Sum256(text))
		return err
	})
	return texts, fmt.Sprintf("%x", hash.Sum(nil)), err
}

func build(ctx context.Context, compiler, dir string, modules map[string]string) error {
	sources, err := fs.Sub(embedded, "src")
	if err == nil {
		err = os.CopyFS(dir, sources)
	}
	if err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	for name, text := range modules {
		if err := os.WriteFile(filepath.Join(dir, name+".module.cc"),
			[]byte(text), 0o644); err != nil {
			return fmt.Errorf("emulator: %w", err)
		}
	}
	run := func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, compiler, args...)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("emulator: %s: %w\n%s", compiler, err, said)
		}
		return nil
	}
	common := []string{"-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-U_FORTIFY_SOURCE",
		"-ffp-contract=off", "-Wall", "-Wno-unknown-pragmas"}
	// A kernel may be written for a compiler that warns of less. The sanitizers'
	// libraries are not linked: a misaligned address traps, and check.cc answers
	// the calls that come before each access.
	kernel := append(slices.Clip(common), "-w", "-fno-strict-aliasing",
		"-fsanitize=alignment", "-fsanitize-undefined-trap-on-error", "-fsanitize=thread",
		"--param", "tsan-instrument-func-entry-exit=0", "--param", "tsan-distinguish-volatile=1", "-include", "device.h")
	link := append(slices.Clip(common), "-shared", "-o", "libcuda.so.1",
		"-Wl,-soname,libcuda.so.1")
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	compile := func(flags []string, file, object string) {
		group.Go(func() error {
			return run(running, append(slices.Clip(flags),
				"-c", file, "-o", object)...)
		})
		link = append(link, object)
	}
	for name := range modules {
		compile(kernel, name+".module.cc", name+".o")
	}
	for _, name := range []string{"driver", "fiber", "check"} {
		compile(common, name+".cc", name+".o")
	}
	group.Go(func() error {
		return run(running, append(slices.Clip(common), "-O3", "-shared", "-o", "libcublas.so.13",
			"-Wl,-soname,libcublas.so.13", "cublas.cc", "-ldl")...)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return run(ctx, append(link, "-ldl", "-lpthread")...)
}
