// Package memory finds how much memory this process may use. Readers check sizes from
// files and flags with it before they allocate.
//
//	header of a file, flags ─▶ memory.Check ─▶ allocate
package memory
