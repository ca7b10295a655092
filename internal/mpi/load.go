//go:build !nodlopen && (amd64 || arm64) && (linux || darwin)

package mpi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// open loads the first library of names that is there. A name with a slash is a path;
// the dynamic linker looks for others.
func open(names []string) (*library, error) {
	var errs []error
	for _, name := range names {
		l, err := load(name)
		if err == nil {
			return l, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", name, err))
	}
	return nil, errors.Join(errs...)
}

func load(name string) (*library, error) {
	// Global, because the library's plugins look for its symbols.
	lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	l := new(library)
	var getVersion func(text *byte, length *int32) int32
	for _, f := range []struct {
		function any
		symbol   string
	}{
		{&l.initThread, "MPI_Init_thread"}, {&l.finalize, "MPI_Finalize"}, {&l.abort, "MPI_Abort"},
		{&l.commRank, "MPI_Comm_rank"}, {&l.commSize, "MPI_Comm_size"},
		{&l.isend, "MPI_Isend"}, {&l.irecv, "MPI_Irecv"}, {&l.test, "MPI_Test"},
		{&l.recv, "MPI_Recv"}, {&l.iprobe, "MPI_Iprobe"},
		{&l.errorString, "MPI_Error_string"}, {&getVersion, "MPI_Get_library_version"},
		{&l.exit, "exit"}, // of the C library that it is linked with
	} {
		symbol, err := purego.Dlsym(lib, f.symbol)
		if err != nil {
			return nil, fmt.Errorf("it has no %s, so it is no MPI library of version 3 or later", f.symbol)
		}
		purego.RegisterFunc(f.function, symbol)
	}
	text := make([]byte, 1<<14) // the standard's limit is 8192
	var length int32
	if getVersion(&text[0], &length) != 0 {
		return nil, errors.New("it does not tell its version")
	}
	l.version = string(text[:min(max(int(length), 0), len(text))])
	if err := l.setHandles(lib); err != nil {
		return nil, err
	}
	// "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\n…"
	l.version = strings.Join(strings.Fields(strings.FieldsFunc(l.version+"\n", func(r rune) bool { return strings.ContainsRune(",\n\x00", r) })[0]), " ")
	return l, nil
}

// setHandles sets the handles and constants that differ between binary interfaces.
func (l *library) setHandles(lib uintptr) error {
	const intThreadLevel = 2
	if world, err := purego.Dlsym(lib, "ompi_mpi_comm_world"); err == nil {
		float, err := purego.Dlsym(lib, "ompi_mpi_float")
		l.world, l.float, l.serialized = handle(world), handle(float), intThreadLevel
		return err
	}
	if symbol, err := purego.Dlsym(lib, "MPI_Abi_get_version"); err == nil {
		var abiVersion func(major, minor *int32) int32
		purego.RegisterFunc(&abiVersion, symbol)
		var major, minor int32
		if abiVersion(&major, &minor) == 0 && major >= 1 {
			l.world, l.float, l.serialized = 0x101, 0x210, 2048
			return nil
		}
	}
	for _, relative := range []string{"MPICH", "MVAPICH", "Intel(R) MPI"} {
		if strings.Contains(l.version, relative) {
			l.world, l.float, l.serialized = 0x44000000, 0x4c00040a, intThreadLevel
			return nil
		}
	}
	return fmt.Errorf("its binary interface is unknown: %.80q", l.version)
}
