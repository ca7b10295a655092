// Package tune searches for the best setting of options by successive halving (Jamieson &
// Talwalkar 2016, arXiv:1502.07943): all settings train for a few mini-batches, the best
// ones go on for more of them, and so on.
//
//	Dimension: lr = 0.01, 0.003 ─┐
//	Dimension: layers = 3, 5, 8 ─┴▶ Draw ─▶ settings ─▶ Search ─▶ rows ─▶ Figure
//	                                                     │  ▲
//	                                       Trial: setting, seed, mini-batches
//	                                                     ▼  │
//	                                            Train: validation score
//
// The package knows nothing of models: its caller trains. A trial of a later rung continues
// the training of the rung before. Test scores have no place here.
package tune
