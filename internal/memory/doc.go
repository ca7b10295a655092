// Package memory says how much memory this process may take, so that a size
// read from a file or a flag is refused before it is allocated.
//
//	header of a file, flags ─▶ memory.Check ─▶ allocate
package memory
