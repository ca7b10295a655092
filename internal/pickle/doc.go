// Package pickle reads Python's pickles of protocols 0 to 5: the NumPy arrays and SciPy
// matrices of Planetoid's files, and the state_dicts of PyTorch.
//
//	file ─▶ pickle.Load(allowed classes) ─▶ *Dict, *List, Tuple, string, int … ─▶ internal/formats
//	                                        *Object, a call that nobody made  ─▶ internal/weights
//
// A pickle is a program that calls what it names. Load calls nothing: a call becomes an
// Object with its class and its arguments. A class that is not allowed is an error that
// names it.
//
// Files may come from anywhere. Every count is compared with the file, so a value takes at
// most a multiple of its opcodes, and Load compares their sum with the memory. A value may
// contain itself, so print none of it but numbers and texts.
package pickle
