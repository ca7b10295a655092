// Package memory knows how much memory this process may take. It refuses sizes from
// files and flags before memory is allocated.
//
//	header of a file, flags ─▶ memory.Check ─▶ allocate
package memory
