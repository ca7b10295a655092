// Package npy reads and writes NumPy's array files: .npy, one array, and .npz,
// a zip archive of them.
//
//	file ─▶ npy.Open, npy.OpenArchive ─▶ Reader{Header} ─▶ Float32s, Int32s, Int64s … ─▶ datasets
//	scores ─▶ npy.Write ─▶ file
//
// The format is NEP 1 (https://numpy.org/neps/nep-0001-npy-format.html):
// versions 1 to 3, little-endian or one-byte element types, C or Fortran order.
// Arrays of Python objects, which are pickles, are refused.
//
// A reader is made for files from anywhere: the header is parsed strictly, and
// the number of bytes it promises must be what the file holds, before memory is
// asked for. Values arrive converted to the type wanted, in pieces, so that no
// second copy of a large array exists; integers that do not fit are errors that
// name the element. Package github.com/sbinet/npyio was tried for this: it
// slices headers unchecked, so that damaged files panic, takes a file cut short
// for one that is whole, and reads element by element.
package npy
