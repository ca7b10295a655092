// Package bindings tells the interpreter of the notebook kernel about the packages
// in ../packages.txt, so that a cell imports them without a compiler. It is only
// imported: every generated file registers one package. ../build has
// ../generate write them, and skipped.txt, which lists the generic names that have
// no binding. Git ignores both.
package bindings
