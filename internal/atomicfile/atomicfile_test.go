package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/filelock"
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

// TestWriteRemovesStaleParts checks that the part of a killed process is taken over, a part
// that is being written is kept, and a link in place of a part is not followed.
func TestWriteRemovesStaleParts(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "a.txt"), filepath.Join(dir, "victim")
	left := func(name string) *os.File {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	fmt.Fprint(left(".a.txt.part1"), "longer than the new contents")
	living := left(".a.txt.part")
	defer living.Close()
	if err := filelock.Try(living); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, text("new")); err != nil {
		t.Fatal(err)
	}
	check(t, path, "new")
	names := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := names(); !slices.Equal(got, []string{".a.txt.part", "a.txt"}) {
		t.Errorf("%q are left", got)
	}
	if runtime.GOOS == "windows" {
		return // links need a right there
	}
	if err := errors.Join(os.Remove(living.Name()), os.WriteFile(victim, []byte("kept"), 0o666), os.Symlink("victim", filepath.Join(dir, ".a.txt.part"))); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, text("newer")); err != nil {
		t.Fatal(err)
	}
	check(t, path, "newer")
	check(t, victim, "kept")
}

// TestWriteConcurrently writes one file from many goroutines. All succeed, and the last
// contents are whole.
func TestWriteConcurrently(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	var writers errgroup.Group
	for k := range 8 {
		writers.Go(func() error {
			for range 20 {
				if err := atomicfile.Write(path, text(strings.Repeat(fmt.Sprint(k), 1<<15))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || len(got) != 1<<15 || strings.Trim(string(got), string(got[:1])) != "" {
		t.Errorf("%d bytes of several writers, %v", len(got), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestReplace replaces a link to a file elsewhere.
func TestReplace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	path, outside := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.WriteFile(outside, []byte("kept"), 0o666), os.Symlink(outside, path)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Replace(path, func(f *os.File) error { return text("new")(f) }); err != nil {
		t.Fatal(err)
	}
	check(t, path, "new")
	check(t, outside, "kept")
	wrong := errors.New("no space left")
	if err := atomicfile.Replace(path, func(*os.File) error { return wrong }); !errors.Is(err, wrong) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

// TestReplaceMoved moves the folder while a file is written, and puts another writer's part of the
// same name in its place: nothing of the other's changes.
func TestReplaceMoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folder of an open file cannot be moved there")
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(dir, ".a.part")
	err := atomicfile.Replace(filepath.Join(dir, "a"), func(f *os.File) error {
		return errors.Join(text("ours")(f), os.Rename(dir, dir+"-moved"), os.Mkdir(dir, 0o777), os.WriteFile(others, []byte("half"), 0o666))
	})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "moved") {
		t.Errorf("error %v", err)
	}
	check(t, others, "half")
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("the other's part was taken for ours")
	}
}
