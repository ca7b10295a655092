package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// largestPaperSize is the largest sample size of the paper's figure of errors.
const largestPaperSize = 2048

// weakR2 is the R² below which a regression does not support proportionality: the
// largest of the paper's is 0.16.
const weakR2 = 0.2

// variantsOf returns the labels of the three variants of a method at its sizes, such as
// LADIES or LADIES (2).
func variantsOf(label string) []string {
	return []string{label + " w/ flat", label + " w/ debias", label + " w/ flat & debias"}
}

// claims lists the statements of the paper's text about its results, in its order, from
// Section 4 to the appendix.
func claims() []claim {
	return slices.Concat(claimsOfProbabilities(), claimsOfDebiasing(), claimsOfTraining(), claimsOfTimes(), claimsOfAppendix())
}

func claimsOfProbabilities() []claim {
	return []claim{
		{
			"Section 4.1", "slopes are negative under LADIES and full batch: layer 1 of ogbn-arxiv, layer 2 of ogbn-proteins, layers 1 and 3 of ogbn-mag", []string{"table2"},
			on("table2", []string{"arxiv", "proteins", "mag"}, every, func(e evidence, data string) *finding {
				layers := map[string][]int{"arxiv": {1}, "proteins": {2}, "mag": {1, 3}}[data]
				return e.slopes(data, []string{"LADIES", "Full-batch"}, layers, func(slope float64) bool { return slope < 0 })
			}),
		}, {
			"Section 4.1", "full batch and LADIES have similar slopes: of the same sign in two of three layers or more", []string{"table2"},
			legend("layers with slopes of the same sign", on("table2", nil, every, sameSigns)),
		}, {
			"Section 4.1", "on Reddit LADIES' slopes are positive in each layer, with a small R² (below 0.05)", []string{"table2"},
			on("table2", []string{"reddit"}, every, func(e evidence, data string) *finding {
				f := e.slopes(data, []string{"LADIES"}, []int{1, 2, 3}, func(slope float64) bool { return slope > 0 })
				largest, n := e.largestR2("table2", data, []string{"LADIES"}, onP, overTrain)
				if f == nil || n == 0 {
					return nil
				}
				return &finding{holds: f.holds && largest < 0.05, numbers: fmt.Sprintf("%s; largest R² %.3f", f.numbers, largest)}
			}),
		}, {
			"Section 4.1", "‖(HW)_[i]‖ is not proportional to ‖P^[i]‖: R² is small (below 0.2) or the slope negative", []string{"table2"},
			on("table2", nil, every, notProportional("table2", onP, overTrain)),
		}, {
			"Section 4.1", "on Reddit LADIES has a lower test metric than with flat probabilities", []string{"table4"},
			legend("flat − LADIES and flat (2) − LADIES (2), in points", on("table4", []string{"reddit"}, every, func(e evidence, data string) *finding {
				return e.allAbove("table4", data, "test ", []pair{{"LADIES w/ flat", "LADIES"}, {"LADIES (2) w/ flat", "LADIES (2)"}})
			})),
		}, {
			"Section 4.3", "the error with flat probabilities is below LADIES' and FastGCN's on every data set", []string{"figure2"},
			legend("error with flat ÷ error of LADIES, and ÷ error of FastGCN", on("figure2", nil, every, func(e evidence, data string) *finding {
				flat := e.curve(data, "ladies-flat", largestPaperSize)
				under, ladies, ok := below(flat, e.curve(data, "ladies", largestPaperSize))
				alsoUnder, fast, alsoOK := below(flat, e.curve(data, "fastgcn", largestPaperSize))
				if !ok || !alsoOK {
					return nil
				}
				return &finding{holds: under && alsoUnder, numbers: ladies + ", and " + fast}
			})),
		},
	}
}

func claimsOfDebiasing() []claim {
	return []claim{
		{
			"Section 5", "the error of LADIES is U-shaped in the sample size on the sparse graphs, ogbn-arxiv and ogbn-mag, up to 2048 nodes", []string{"figure2"},
			legend("lowest error, and the error at 2048 nodes; then the same with sizes up to 8192, which the paper does not have", on("figure2", []string{"arxiv", "mag"}, every, func(e evidence, data string) *finding {
				f, beyond := uShape(e.curve(data, "ladies", largestPaperSize)), uShape(e.curve(data, "ladies", math.MaxInt))
				if f != nil && beyond != nil {
					f.numbers += ", and " + beyond.numbers
				}
				return f
			})),
		}, {
			"Section 5.4", "debiased weights improve the error on all data sets", []string{"figure2"},
			legend("error of debiased LADIES ÷ error of LADIES", on("figure2", nil, every, func(e evidence, data string) *finding {
				under, numbers, ok := below(e.curve(data, "ladies-debiased", largestPaperSize), e.curve(data, "ladies", largestPaperSize))
				if !ok {
					return nil
				}
				return &finding{holds: under, numbers: numbers}
			})),
		}, {
			"Section 5.4", "the error of debiased LADIES has no U-shape", []string{"figure2"},
			legend("lowest error, and the error at the largest size", on("figure2", nil, every, func(e evidence, data string) *finding {
				f := uShape(e.curve(data, "ladies-debiased", math.MaxInt))
				if f != nil {
					f.holds = !f.holds
				}
				return f
			})),
		}, {
			"Section 5.4", "on top of flat probabilities, debiasing changes the error only marginally, by −10 % to +2 %, on the sparse graphs", []string{"figure2"},
			legend("error of flat & debias ÷ error of flat", on("figure2", []string{"arxiv", "mag"}, every, func(e evidence, data string) *finding {
				return marginal(e.curve(data, "ladies-flat-debiased", largestPaperSize), e.curve(data, "ladies-flat", largestPaperSize))
			})),
		}, {
			"Section 5.4", "sparse graphs have the larger bias: debiasing gains most at 2048 nodes on ogbn-arxiv and ogbn-mag", []string{"figure2"},
			legend("error of debiased LADIES ÷ error of LADIES", gainsMost),
		}, {
			"Section 5.4", "flat probabilities imply a smaller bias: debiasing changes the error less than with LADIES' probabilities, at every size", []string{"figure2"},
			legend("error with debiased weights ÷ error without, for flat probabilities and for LADIES'", on("figure2", nil, every, flatHasLessBias)),
		}, {
			"Section 5.5", "the extra time of debiasing is acceptable: at 512 nodes at most half of LADIES' sampling time", []string{"table3"},
			legend("time of LADIES+d ÷ time of LADIES", on("table3", nil, every, func(e evidence, data string) *finding {
				return e.timeRatio("table3", data, "LADIES+d (512)", "LADIES (512)", 0, 1.5)
			})),
		}, {
			"Section 5.5", "node-wise sampling takes far longer: more than ten times LADIES' time", []string{"table3"},
			legend("time of node-wise sampling ÷ time of LADIES", on("table3", nil, every, func(e evidence, data string) *finding {
				return e.timeRatio("table3", data, "Node-wise (512)", "LADIES (512)", 10, math.Inf(1))
			})),
		}, {
			"Section 5.6", "the stochastic sum-and-sample estimator usually has the larger (co)variance: on average over 8 candidates, enumerated", nil,
			sumAndSampleVaries,
		},
	}
}

func claimsOfTraining() []claim {
	faster := func(experiment string, data []string) predicate {
		return legend("mini-batches of LADIES − of flat, − of debias, − of flat & debias", on(experiment, data, every, func(e evidence, data string) *finding {
			var pairs []pair
			for _, variant := range variantsOf("LADIES (2)") {
				pairs = append(pairs, pair{"LADIES (2)", variant})
			}
			return e.allAbove(experiment, data, quantityNeeded, pairs)
		}))
	}
	return []claim{
		{"Section 6.1", "LADIES with flat probabilities, debiasing or both converges faster than LADIES (ogbn-proteins and ogbn-products)", []string{"figure3"}, faster("figure3", []string{"proteins", "products"})},
		{"Section 6.1", "LADIES with flat probabilities, debiasing or both converges faster than LADIES on all data sets", []string{"figure4"}, faster("figure4", nil)},
		{
			"Section 6.1", "debiasing speeds up convergence less than flat probabilities on Reddit and ogbn-products", []string{"figure4"},
			legend("mini-batches of debias − of flat", on("figure4", []string{"reddit", "products"}, every, func(e evidence, data string) *finding {
				return e.allAbove("figure4", data, quantityNeeded, []pair{{"LADIES (2) w/ debias", "LADIES (2) w/ flat"}})
			})),
		}, {
			"Section 6.2", "LADIES with flat & debias (2) is comparable to full batch: less than one point below", []string{"table4"},
			legend("flat & debias (2) − full batch, in points", on("table4", nil, every, func(e evidence, data string) *finding {
				return e.near("table4", data, "LADIES (2) w/ flat & debias", "Full-batch", 1)
			})),
		}, {
			"Section 6.2", "the three variants improve consistently over FastGCN and LADIES", []string{"table4"},
			legend("comparisons in which the variant is better", on("table4", nil, every, func(e evidence, data string) *finding {
				var pairs []pair
				for _, setting := range []string{"", " (2)"} {
					for _, variant := range variantsOf("LADIES" + setting) {
						pairs = append(pairs, pair{variant, "FastGCN" + setting}, pair{variant, "LADIES" + setting})
					}
				}
				return e.countAbove("table4", data, pairs)
			})),
		}, {
			"Section 6.2", "LADIES with flat & debias (2) is better than node-wise sampling and GraphSAINT on most data sets", []string{"table4"},
			legend("flat & debias (2) − node-wise and − GraphSAINT, in points", on("table4", nil, most, func(e evidence, data string) *finding {
				best := "LADIES (2) w/ flat & debias"
				return e.allAbove("table4", data, "test ", []pair{{best, "Node-wise (2)"}, {best, "GraphSAINT"}})
			})),
		}, {
			"Section 6.2", "flat & debias (2) is better than flat and than debias alone on most data sets", []string{"table4"},
			legend("flat & debias (2) − flat (2) and − debias (2), in points", on("table4", nil, most, func(e evidence, data string) *finding {
				return e.allAbove("table4", data, "test ", []pair{{"LADIES (2) w/ flat & debias", "LADIES (2) w/ flat"}, {"LADIES (2) w/ flat & debias", "LADIES (2) w/ debias"}})
			})),
		}, {
			"Section 6.2", "on several data sets flat & debias (2) is at most one point above the better of flat and debias, or below it", []string{"table4"},
			legend("flat & debias (2) − the better of flat (2) and debias (2), in points", on("table4", nil, several, func(e evidence, data string) *finding {
				return e.littleAbove("table4", data, "LADIES (2) w/ flat & debias", []string{"LADIES (2) w/ flat", "LADIES (2) w/ debias"}, 1)
			})),
		}, {
			"Section 6.2", "ogbn-proteins is the exception: flat & debias (2) is below flat and below debias", []string{"table4"},
			legend("flat (2) and debias (2), each − flat & debias (2), in points", on("table4", []string{"proteins"}, every, func(e evidence, data string) *finding {
				return e.allAbove("table4", data, "test ", []pair{{"LADIES (2) w/ flat", "LADIES (2) w/ flat & debias"}, {"LADIES (2) w/ debias", "LADIES (2) w/ flat & debias"}})
			})),
		}, {
			"Section 6.2", "on ogbn-proteins LADIES and its variants are better than full batch and VR-GCN", []string{"table4"},
			legend("comparisons in which LADIES or its variant is better", on("table4", []string{"proteins"}, every, func(e evidence, data string) *finding {
				var pairs []pair
				for _, setting := range []string{"LADIES", "LADIES (2)"} {
					for _, label := range append(variantsOf(setting), setting) {
						pairs = append(pairs, pair{label, "Full-batch"}, pair{label, "VR-GCN (2)"})
					}
				}
				return e.countAbove("table4", data, pairs)
			})),
		}, {
			"Section 6.2", "some efficient method has a higher test metric than full batch on several data sets", []string{"table4"},
			legend("best method above full batch, and its difference in points", on("table4", nil, several, someAboveFull)),
		}, {
			"Section 6.2", "LADIES is better than FastGCN on every data set", []string{"table4"},
			legend("LADIES − FastGCN and LADIES (2) − FastGCN (2), in points", on("table4", nil, every, func(e evidence, data string) *finding {
				return e.allAbove("table4", data, "test ", []pair{{"LADIES", "FastGCN"}, {"LADIES (2)", "FastGCN (2)"}})
			})),
		}, {
			"Section 6.3", "VR-GCN has the best test metric on Reddit, ogbn-arxiv and ogbn-products", []string{"table4"},
			legend("VR-GCN's metric, and the best method's", on("table4", []string{"reddit", "arxiv", "products"}, every, func(e evidence, data string) *finding {
				return e.best("table4", data, "VR-GCN (2)")
			})),
		},
	}
}

func claimsOfTimes() []claim {
	aboutAsLong := func(experiment string) predicate {
		return legend("times of flat, debias, flat & debias ÷ time of LADIES, then the same at the sizes (2)", on(experiment, nil, every, func(e evidence, data string) *finding {
			f := &finding{holds: true}
			var words []string
			for _, setting := range []string{"LADIES", "LADIES (2)"} {
				for _, variant := range variantsOf(setting) {
					one := e.timeRatio(experiment, data, variant, setting, 1/1.5, 1.5)
					if one == nil {
						return nil
					}
					f.holds = f.holds && one.holds
					words = append(words, one.numbers)
				}
			}
			f.numbers = strings.Join(words, ", ")
			return f
		}))
	}
	heavier := func(experiment string) predicate {
		return legend("time of VR-GCN ÷ time of LADIES", on(experiment, nil, every, func(e evidence, data string) *finding {
			return e.timeRatio(experiment, data, "VR-GCN (2)", "LADIES (2)", 2, math.Inf(1))
		}))
	}
	return []claim{
		{"Section 6.3", "a step of the three variants takes about as long as LADIES': within a factor of 1.5", []string{"table5"}, aboutAsLong("table5")},
		{"Section 6.3", "VR-GCN takes much longer than the layer-wise methods: more than twice LADIES' step", []string{"table5"}, heavier("table5")},
		{
			"Section 6.3", "on ogbn-arxiv VR-GCN takes about as long as full batch: within a factor of 2", []string{"table5"},
			legend("time of VR-GCN ÷ time of full batch", on("table5", []string{"arxiv"}, every, func(e evidence, data string) *finding {
				return e.timeRatio("table5", data, "VR-GCN (2)", "Full-batch", 0.5, 2)
			})),
		}, {
			"Section 7", "LADIES with flat & debias (2) is less than 2.5 points below VR-GCN, and needs at most half of its time", []string{"table4", "table5"},
			legend("flat & debias (2) − VR-GCN (2), and its time of a step ÷ time of VR-GCN", on("table4", nil, every, func(e evidence, data string) *finding {
				metric := e.near("table4", data, "LADIES (2) w/ flat & debias", "VR-GCN (2)", 2.5)
				time := e.timeRatio("table5", data, "LADIES (2) w/ flat & debias", "VR-GCN (2)", 0, 0.5)
				if metric == nil || time == nil {
					return nil
				}
				return &finding{holds: metric.holds && time.holds, numbers: metric.numbers + " points, time " + time.numbers}
			})),
		},
		{"Appendix A.3", "with 3 layers a step of the three variants takes about as long as LADIES': within a factor of 1.5", []string{"table6"}, aboutAsLong("table6")},
		{"Appendix A.3", "with 3 layers VR-GCN takes much longer: more than twice LADIES' step", []string{"table6"}, heavier("table6")},
		{
			"Appendix A.3", "the time of debiasing is dwarfed by sampling on very large graphs: more than 2 % of LADIES' time on ogbn-arxiv, and a smaller share on ogbn-products", []string{"table3"},
			func(e evidence) (Verdict, string) {
				large, small := e.times("table3", "products", "LADIES+d (512)", "LADIES (512)"), e.times("table3", "arxiv", "LADIES+d (512)", "LADIES (512)")
				if math.IsNaN(large) || math.IsNaN(small) {
					return NotMeasured, ""
				}
				numbers := fmt.Sprintf("time of LADIES+d ÷ time of LADIES: products: %s; arxiv: %s", short(large), short(small))
				if small > 1.02 && large < small {
					return Seen, numbers
				}
				return NotSeen, numbers
			},
		},
	}
}

func claimsOfAppendix() []claim {
	fixed, increasing := variantsOf("FastGCN"), variantsOf("FastGCN (2)")
	both := []pair{{"FastGCN w/ flat & debias", "FastGCN"}, {"FastGCN (2) w/ flat & debias", "FastGCN (2)"}}
	return []claim{
		{
			"Appendix A.5", "FastGCN with flat & debias improves over FastGCN on most data sets", []string{"table7"},
			legend("flat & debias − FastGCN, then the same at the sizes (2), in points", on("table7", nil, most, func(e evidence, data string) *finding { return e.allAbove("table7", data, "test ", both) })),
		}, {
			"Appendix A.5", "in some cases flat probabilities or debiasing do not improve FastGCN", []string{"table7"},
			legend("comparisons in which the variant is better", on("table7", nil, several, func(e evidence, data string) *finding {
				var pairs []pair
				for k := range fixed {
					pairs = append(pairs, pair{fixed[k], "FastGCN"}, pair{increasing[k], "FastGCN (2)"})
				}
				f := e.countAbove("table7", data, pairs)
				if f != nil {
					f.holds = !f.holds
				}
				return f
			})),
		}, {
			"Appendix A.5", "FastGCN and its variants are significantly below LADIES on all data sets", []string{"table7"},
			legend("comparisons in which LADIES is better", on("table7", nil, every, func(e evidence, data string) *finding {
				var pairs []pair
				for k := range fixed {
					pairs = append(pairs, pair{"LADIES", fixed[k]}, pair{"LADIES (2)", increasing[k]})
				}
				return e.countAbove("table7", data, append(pairs, pair{"LADIES", "FastGCN"}, pair{"LADIES (2)", "FastGCN (2)"}))
			})),
		}, {
			"Appendix B", "layer-wise, the entries of P̃ are at most s times the largest degree", []string{"table8"},
			legend("entries ÷ bound", on("table8", nil, every, func(e evidence, data string) *finding {
				row := e.row("table8", data, "layer-wise aggregation", "largest nnz over its bound")
				if row == nil {
					return nil
				}
				return &finding{holds: row.Mean <= 1, numbers: "at most " + short(row.Mean)}
			})),
		}, {
			"Appendix B", "both parts depend linearly on the nodes: exponents of 1 in nnz and in s, within 0.25", []string{"table8"},
			legend("exponents", on("table8", nil, every, func(e evidence, data string) *finding {
				a := e.row("table8", data, "layer-wise aggregation", "exponent of the time in nnz")
				b := e.row("table8", data, "layer-wise linear transformation", "exponent of the time in s")
				if a == nil || b == nil {
					return nil
				}
				return &finding{holds: math.Abs(a.Mean-1) <= 0.25 && math.Abs(b.Mean-1) <= 0.25, numbers: fmt.Sprintf("%.2f in nnz, %.2f in s", a.Mean, b.Mean)}
			})),
		}, {
			"Appendix B", "node aggregation usually takes longer than the linear transformation", []string{"table8"},
			legend("time of aggregation ÷ time of the linear transformation", on("table8", nil, every, func(e evidence, data string) *finding {
				row := e.row("table8", data, "layer-wise", "time of aggregation")
				if row == nil {
					return nil
				}
				return &finding{holds: row.Mean > 1, numbers: short(row.Mean)}
			})),
		}, {
			"Appendix B", "node-wise, layers grow by a factor of b + 1 or less (b neighbours and the node itself), layer-wise by none", []string{"table8"},
			on("table8", nil, every, func(e evidence, data string) *finding {
				node := e.row("table8", data, "node-wise aggregation", "largest growth")
				layer := e.row("table8", data, "layer-wise linear transformation", "exponent of the rows in L")
				if node == nil || layer == nil {
					return nil
				}
				return &finding{holds: node.Mean > 1 && node.Mean <= scalingNeighbors+1 && layer.Mean <= 1.1, numbers: fmt.Sprintf("factor %s, exponent in L %s", short(node.Mean), short(layer.Mean))}
			}),
		}, {
			"Appendix C.2", "the assumption C₁/C₂² ≥ 1 holds on most data sets, with the tails cut off, in two of three layers or more", []string{"figure5"},
			legend("C₁/C₂² of layers 1, 2, 3", on("figure5", nil, most, norms("C₁/C₂², tails cut", func(v float64) bool { return v >= 1 }))),
		}, {
			"Appendix C.2", "flat probabilities have a lower variance than LADIES: in two of three layers or more", []string{"figure5"},
			legend("E‖BSC‖²_F of one draw, with flat ÷ with LADIES' probabilities, layers 1, 2, 3", on("figure5", nil, every, norms("moment ratio", func(v float64) bool { return v < 1 }))),
		}, {
			"Appendix C.3", "some columns of P have norms far beyond the average: more than five times", []string{"figure5"},
			legend("largest norm ÷ mean norm", on("figure5", nil, every, func(e evidence, data string) *finding {
				row := e.row("figure5", data, "all layers", "largest")
				if row == nil {
					return nil
				}
				return &finding{holds: row.Mean > 5, numbers: short(row.Mean)}
			})),
		}, {
			"Appendix C.3", "C₁ of P is huge: above 10", []string{"figure5"},
			legend("C₁", on("figure5", nil, every, func(e evidence, data string) *finding {
				row := e.row("figure5", data, "layer 1", "C₁ of P")
				if row == nil {
					return nil
				}
				return &finding{holds: row.Mean > 10, numbers: short(row.Mean)}
			})),
		}, {
			"Appendix C.3", "the norms of the rows of HW concentrate: C₂ is small, below 4 with the tails cut off, in two of three layers or more", []string{"figure5"},
			legend("C₂ of layers 1, 2, 3", on("figure5", nil, every, norms("C₂, tails cut", func(v float64) bool { return v < 4 }))),
		}, {
			"Appendix D.1", "under full batch, over all nodes, ‖(HW)_[i]‖ is not proportional to ‖P^[i]‖: R² is small (below 0.2) or the slope negative", []string{"figure6"},
			on("figure6", nil, every, notProportional("figure6", onP, overAll)),
		}, {
			"Appendix D.1", "a 3-layer GCN cannot be trained by full batch on ogbn-products for lack of memory", []string{"table6"},
			on("table6", []string{"products"}, every, func(e evidence, data string) *finding {
				row := e.row("table6", data, "Full-batch", "")
				if row == nil {
					return nil
				}
				if row.N == 0 {
					return &finding{holds: true, numbers: "a step is left out: it is too large for the memory"}
				}
				return &finding{holds: false, numbers: fmt.Sprintf("a step takes %s ms", short(row.Median))}
			}),
		}, {
			"Appendix D.2", "under FastGCN and FastGCN+debiasing ‖(HW)_[i]‖ is not proportional to ‖P^[i]‖: R² is small (below 0.2) or the slope negative", []string{"table9"},
			on("table9", nil, every, notProportional("table9", onP, overTrain)),
		}, {
			"Appendix D.4", "‖(HW)_[i]‖ is not proportional to ‖QP^[i]‖: R² is small (below 0.2) or the slope negative", []string{"table10"},
			on("table10", nil, every, notProportional("table10", onQP, overTrain)),
		}, {
			"Appendix D.4", "most slopes on ‖QP^[i]‖ are negative", []string{"table10"},
			legend("negative slopes", mostNegative),
		}, {
			"Appendix D.4", "QP has more empty columns than P", []string{"table2", "table10"},
			legend("columns of QP and of P that are not empty, on average", on("table10", nil, every, emptyColumns)),
		}, {
			"Appendix D.4", "a higher portion of the points has a high leverage with ‖QP^[i]‖ than with ‖P^[i]‖", []string{"table2", "table10"},
			legend("pairs of high leverage on ‖QP^[i]‖ and on ‖P^[i]‖, layer 1", on("table10", nil, every, func(e evidence, data string) *finding {
				p, qp := e.row("table2", data, "LADIES", leverage(onP, 1)), e.row("table10", data, "LADIES", leverage(onQP, 1))
				if p == nil || qp == nil {
					return nil
				}
				return &finding{holds: qp.Mean > p.Mean, numbers: fmt.Sprintf("%s %% and %s %%", short(qp.Mean), short(p.Mean))}
			})),
		},
	}
}
