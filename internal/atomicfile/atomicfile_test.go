package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func check(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v, want %q", path, got, err, want)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for _, s := range []string{"first", "second, longer", ""} {
		if err := atomicfile.Write(path, text(s)); err != nil {
			t.Fatal(err)
		}
		check(t, path, s)
	}
	if err := atomicfile.Write(path, text("kept")); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("no space left")
	err := atomicfile.Write(path, func(w io.Writer) error {
		fmt.Fprint(w, "half of it")
		return wrong
	})
	if !errors.Is(err, wrong) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	check(t, path, "kept")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "none", "a"), text("")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestWriteThroughLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink("target", link)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, text("new")); err != nil {
		t.Fatal(err)
	}
	check(t, target, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
}

func TestWriteIntoDevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/null")
	}
	if err := atomicfile.Write(os.DevNull, text("gone")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s became a file: %v", os.DevNull, err)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "scores.csv")
	err = atomicfile.Write(path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "0.25,0.75")
		return err
	})
	if err != nil {
		panic(err)
	}
	written, err := os.ReadFile(path)
	fmt.Printf("%s%v\n", written, err)
	// Output:
	// 0.25,0.75
	// <nil>
}
