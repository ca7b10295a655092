// Package bindings tells the interpreter of the notebook kernel about the packages
// in ../packages.txt, so that a cell imports them without a compiler. Importing it
// is all there is to do: every file registers one package. ../generate writes
// them; skipped.txt lists the generic names that have no binding.
package bindings
