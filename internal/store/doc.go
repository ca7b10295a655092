// Package store writes and maps stores: safetensors files of the arrays of one data set, with
// checksums.
//
//	uint64   length of the header
//	JSON     the header: {"__metadata__": {"format", "crc32c", "data"}, NAME: {…}, …}
//	arrays   without gaps; types of 8 bytes first, then 4, 2 and 1, so that all are aligned
//
// "crc32c" holds CRC-32C sums of eight hexadecimal digits each: of the header, with zeros in
// the place of this sum, and of each array in the order of the file. "data" is a text of the
// caller. Numbers are little-endian, as in memory: an array is used where it lies.
package store
