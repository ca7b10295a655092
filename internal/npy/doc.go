// Package npy reads and writes NumPy's array files: .npy with one array, and .npz, a
// zip archive of .npy files.
//
//	file ─▶ npy.Open, npy.OpenArchive ─▶ Reader{Header} ─▶ All, Read, Texts ─▶ internal/formats
//	scores ─▶ npy.Write ─▶ file
//
// The format is NEP 1 (https://numpy.org/neps/nep-0001-npy-format.html): versions 1 to 3,
// either byte order, C or Fortran order. Arrays of Python objects, which are pickles, are
// refused.
//
// Files may come from anywhere. The size that a header claims is compared with the file's
// and with the memory before memory is allocated. Values are converted to the requested
// type in pieces, so that there is no second copy of a large array. An integer that does
// not fit is an error that names the element. Package github.com/sbinet/npyio does not
// serve: damaged headers make it panic, it accepts incomplete files, and it reads element
// by element.
package npy
