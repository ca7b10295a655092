package samplers

// Importances returns the importances by their names on the command line. With flat, the
// probabilities of ladies and fastgcn are in proportion to norms, and not to their squares.
func Importances(flat bool) map[string]Importance {
	return map[string]Importance{"ladies": LADIES{Flat: flat}, "fastgcn": FastGCN{Flat: flat}, "uniform": Uniform{}}
}

// Draws returns the draws by their names on the command line.
func Draws() map[string]Draw {
	return map[string]Draw{"wrs": WithoutReplacement{}, "replacement": WithReplacement{}, "poisson": Poisson{}, "systematic": Systematic{}}
}

// Weights returns the weights by their names on the command line.
func Weights() map[string]Weight {
	return map[string]Weight{
		"debiased": Debiased{}, "naive": Naive{}, "horvitz-thompson": HorvitzThompson{},
		"rank": Rank{}, "sum-and-sample": SumAndSample{}, "rao-blackwell": RaoBlackwellised{},
	}
}
