// Package study holds the studies of Chen, Xu, Hakkani-Tur, Jin, Yang & Zhu
// ("Calibrate and Debias Layer-wise Sampling for Graph Convolutional Networks",
// TMLR 2023) as tools for any graph and any sampler. They tell how good a sampler
// is on a graph before training on it.
//
//	                         ┌ ApproxError   ‖QPHW − QPSHW‖_F, bias and variance apart
//	graph.Laplacian ─┐       │ Assumption    ‖(HW)_[i]‖ regressed on ‖P^[i]‖ and ‖QP^[i]‖
//	HW of a model ───┼─▶ study Norms         histograms, C₁, C₂ and a verdict on flat
//	samplers ────────┘       │ Variance      moments of β beside the theorem's bounds
//	                         │ Claims        the paper's statements on variance, predicted and measured
//	features, labels ────▶   │ FeaturesAlone scores without convolutions
//	                         │ Advise        a method and sample sizes, with the reasons
//	                         └ Trials        scores and costs of methods after a few mini-batches
//	                                │
//	                                ▼
//	                         tables: CSV, JSON, SVG, PNG
//
// A control variate P̃(H − H̄)W + PH̄W has the error of a sample of the change: ApproxError
// measures it with the product (H − H̄)W.
//
// Each study is a struct of settings with a Run method; the zero values are the
// paper's. Results are the same for any number of cores.
//
// # Notation
//
// Q selects the rows of a mini-batch, P is the Laplacian, P^[i] its column i, H
// the input of a layer, W its weight, (HW)_[i] row i of their product, S the
// diagonal matrix of the factors β that a sampler gives the columns it draws, m
// the number of candidates (columns of QP that are not zero), s the sample size.
//
// Package study/figure draws. The command gcn also runs the paper's tables, gcn
// reproduce, and makes pages of training runs, gcn report.
package study
