// Package bindings registers the packages in ../packages.txt with the interpreter of
// the notebook kernel, so that cells can import them without a compiler. Each
// generated file registers one package in its init function. ../build calls
// ../generate, which writes these files and skipped.txt, the list of generic names
// without a binding. Git ignores both.
package bindings
