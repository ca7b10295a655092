package samplers

import "github.com/gcn-layerwise/gcn/internal/describe"

// The String methods below return the settings of a sampler or of its parts, as a
// run's config.json holds them. They must not change: a saved run is resumed only
// with a sampler of the same text. A setting of value zero is left out, so that a
// new one does not change the text of old runs.

// String returns the settings.
func (s *LayerWise) String() string {
	return describe.New("LayerWise").Set("Sizes", s.Sizes).
		Set("Importance", s.Importance).Set("Draw", s.Draw).Set("Weight", s.Weight).
		Set("IncludeRows", s.IncludeRows).Set("KeepSelf", s.KeepSelf).Set("NormalizeRows", s.NormalizeRows).
		Set("Control", s.Control).Set("ExactInput", s.ExactInput).Set("FullDropoutNoise", s.FullDropoutNoise).String()
}

// String returns the settings.
func (s *Neighbor) String() string {
	return describe.New("Neighbor").Set("Sizes", s.Sizes).
		Set("Importance", s.Importance).Set("Draw", s.Draw).Set("Weight", s.Weight).
		Set("DrawSelf", s.DrawSelf).String()
}

// String returns the settings.
func (s *VRGCN) String() string {
	return describe.New("VRGCN").Set("Sizes", s.Sizes).Set("ExactInput", s.ExactInput).String()
}

// String returns the settings.
func (s *Labor) String() string {
	return describe.New("Labor").Set("Sizes", s.Sizes).Set("Iterations", s.Iterations).
		Set("DrawSelf", s.DrawSelf).Set("SelfNormalize", s.SelfNormalize).String()
}

// String returns the settings.
func (s *ASGCN) String() string {
	return describe.New("ASGCN").Set("Sizes", s.Sizes).Set("W", s.W).String()
}

// String returns the settings.
func (s *DropEdges) String() string {
	return describe.New("DropEdges").Set("Sampler", s.Sampler).Set("Rate", s.Rate).String()
}

// String returns the settings.
func (s *Full) String() string { return describe.New("Full").Set("Depth", s.Depth).String() }

// String returns the settings.
func (s *SAINT) String() string {
	return describe.New("SAINT").Set("Train", s.Train).Set("Depth", s.Depth).Set("Units", s.Units).
		Set("NormalizeRows", s.NormalizeRows).String()
}

// String returns the settings.
func (s *NormalizedSAINT) String() string {
	return describe.New("NormalizedSAINT").Set("Train", s.Train).Set("Depth", s.Depth).String()
}

// String returns the name.
func (RandomNodes) String() string { return "RandomNodes{}" }

// String returns the name.
func (RandomEdges) String() string { return "RandomEdges{}" }

// String returns the settings.
func (w RandomWalks) String() string {
	return describe.New("RandomWalks").Set("Length", w.Length).Set("Presampled", w.Presampled).Set("Seed", w.Seed).String()
}

// String returns the settings.
func (l LADIES) String() string {
	return describe.New("LADIES").Set("Flat", l.Flat).Set("RowNorms", l.RowNorms).String()
}

// String returns the settings.
func (f FastGCN) String() string {
	return describe.New("FastGCN").Set("Flat", f.Flat).Set("Neighborhood", f.Neighborhood).String()
}

// String returns the name.
func (Uniform) String() string { return "Uniform{}" }

// String returns the settings.
func (d WithoutReplacement) String() string {
	return describe.New("WithoutReplacement").Set("Keys", d.Keys).String()
}

// String returns the name.
func (WithReplacement) String() string { return "WithReplacement{}" }

// String returns the name.
func (Poisson) String() string { return "Poisson{}" }

// String returns the name.
func (Systematic) String() string { return "Systematic{}" }

// String returns the name.
func (Naive) String() string { return "Naive{}" }

// String returns the settings.
func (d Debiased) String() string {
	return describe.New("Debiased").Set("Population", d.Population).String()
}

// String returns the name.
func (HorvitzThompson) String() string { return "HorvitzThompson{}" }

// String returns the name.
func (Rank) String() string { return "Rank{}" }

// String returns the name.
func (SumAndSample) String() string { return "SumAndSample{}" }

// String returns the name.
func (RaoBlackwellised) String() string { return "RaoBlackwellised{}" }
