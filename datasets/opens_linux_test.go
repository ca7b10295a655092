package datasets

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// opens returns how often a file is opened while do runs.
func opens(t *testing.T, path string, do func() error) int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(fd)
	// The system joins equal events that follow each other. Events of
	// reading and closing keep the openings apart.
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CLOSE); err != nil {
		t.Fatal(err)
	}
	if err := do(); err != nil {
		t.Fatal(err)
	}
	count := 0
	buffer := make([]byte, 4096)
	for {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EAGAIN) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		for b := buffer[:n]; len(b) > 0; {
			event := (*unix.InotifyEvent)(unsafe.Pointer(unsafe.SliceData(b)))
			if event.Mask&unix.IN_OPEN != 0 {
				count++
			}
			b = b[unix.SizeofInotifyEvent+event.Len:]
		}
	}
}

// TestStoreIsOpenedOnce counts how often opening and checking a store, by its path
// and by its name, opens the file.
func TestStoreIsOpenedOnce(t *testing.T) {
	ctx := context.Background()
	p := newMirror(t)
	provide(t, p, "pubmed")
	o := Options{Cache: t.TempDir(), Offline: true}
	path, err := fetcherOf(p, o.Cache).fetch(ctx, "pubmed")
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(o.Cache, "pubmed.safetensors") {
		t.Fatalf("the store is at %s", path)
	}
	for _, spec := range []string{"pubmed", "store:" + path, "pubmed?split=1/1/1"} {
		got := opens(t, path, func() error {
			d, err := Open(ctx, spec, o)
			if err != nil {
				return err
			}
			return d.Close()
		})
		if got != 1 {
			t.Errorf("Open of %s opens the store %d times, want once", spec, got)
		}
		if got := opens(t, path, func() error { return verify(ctx, spec, o) }); got != 1 {
			t.Errorf("Verify of %s opens the store %d times, want once", spec, got)
		}
	}
}
