package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// predicate decides a claim from rows, and shows its numbers.
type predicate func(e evidence) (Verdict, string)

// finding is the outcome for one data set.
type finding struct {
	holds   bool
	numbers string
}

// legend returns check with a description before its numbers.
func legend(numbers string, check predicate) predicate {
	return func(e evidence) (Verdict, string) {
		verdict, text := check(e)
		if text != "" {
			text = numbers + ": " + text
		}
		return verdict, text
	}
}

// quantifier says on how many data sets a claim must hold.
type quantifier int

const (
	every   quantifier = iota
	most               // more than half
	several            // two, or one if only one was measured
)

// on returns a predicate that holds on each of the data sets named, or on most or
// several of them; nil means all data sets of the experiment. per returns nil for a
// data set that was not measured.
func on(experiment string, data []string, need quantifier, per func(e evidence, data string) *finding) predicate {
	return func(e evidence) (Verdict, string) {
		names := data
		if names == nil {
			names = e.data(experiment)
		}
		holds, measured, open := 0, 0, 0
		var words []string
		for _, name := range names {
			f := per(e, name)
			if f == nil {
				if e.pending(name) {
					open++
				} else {
					words = append(words, lastName(name)+": not judged")
				}
				continue
			}
			answer := "no"
			if f.holds {
				holds++
				answer = "yes"
			}
			measured++
			words = append(words, fmt.Sprintf("%s: %s, %s", lastName(name), answer, f.numbers))
		}
		if measured == 0 {
			return NotMeasured, ""
		}
		return need.verdict(holds, measured, open), strings.Join(words, "; ")
	}
}

// verdict decides from three numbers of data sets: holds counts data sets on which a claim
// holds, measured those on which it was measured, and open those with missing cells.
func (q quantifier) verdict(holds, measured, open int) Verdict {
	enough := func(holds, measured int) bool {
		switch q {
		case every:
			return holds == measured
		case most:
			return 2*holds > measured
		}
		return holds >= min(2, measured)
	}
	worst, best := enough(holds, measured+open), enough(holds+open, measured+open)
	switch {
	case worst:
		return Seen
	case best:
		return Undecided
	}
	return NotSeen
}

// difference is the difference of two rows and its standard error.
func difference(a, b *Row) (diff, se float64) { return a.Mean - b.Mean, math.Hypot(a.SEM, b.SEM) }

// above reports whether a is above b by more than twice the standard error of the
// difference.
func above(a, b *Row) bool {
	diff, se := difference(a, b)
	return diff > 2*se
}

// pair is two labels to compare: the first should be above the second.
type pair struct{ high, low string }

// allAbove compares pairs of a data set by a quantity. It returns nil if a label was
// not measured.
func (e evidence) allAbove(experiment, data, quantity string, pairs []pair) *finding {
	f := &finding{holds: true}
	var words []string
	for _, p := range pairs {
		a, b := e.row(experiment, data, p.high, quantity), e.row(experiment, data, p.low, quantity)
		if a == nil || b == nil {
			return nil
		}
		f.holds = f.holds && above(a, b)
		diff, se := difference(a, b)
		words = append(words, signed(diff, se))
	}
	f.numbers = strings.Join(words, ", ")
	return f
}

// signed writes a difference with its standard error.
func signed(diff, se float64) string {
	text := short(diff)
	if diff > 0 {
		text = "+" + text
	}
	if se > 0 {
		text += " ± " + short(se)
	}
	return text
}

// curve returns the errors of a method over the sample size, up to a largest size.
func (e evidence) curve(data, method string, most int) []Row {
	var rows []Row
	for _, row := range e["figure2"] {
		if dataKey(row.Dataset) == data && row.Method == method && len(row.Samples) == 1 && row.Samples[0] <= most {
			rows = append(rows, row)
		}
	}
	return rows
}

// below returns whether one curve is below another at every size, and the range of
// their ratio. Two curves of different sizes cannot be compared.
func below(low, high []Row) (is bool, numbers string, ok bool) {
	if !comparableCurves(low, high) {
		return false, "", false
	}
	is = true
	for k := range low {
		is = is && above(&high[k], &low[k])
	}
	least, largest := ratios(low, high)
	return is, fmt.Sprintf("%.2f to %.2f", least, largest), true
}

// comparableCurves reports whether a curve can be divided by another one.
func comparableCurves(low, high []Row) bool {
	sameSizes := slices.EqualFunc(low, high, func(a, b Row) bool { return slices.Equal(a.Samples, b.Samples) })
	return len(low) > 0 && sameSizes && !slices.ContainsFunc(high, func(row Row) bool { return !(row.Mean > 0) })
}

// ratios returns the smallest and the largest ratio of two curves of the same sizes.
func ratios(low, high []Row) (least, largest float64) {
	least = math.Inf(1)
	for k := range low {
		ratio := low[k].Mean / high[k].Mean
		least, largest = min(least, ratio), max(largest, ratio)
	}
	return least, largest
}

// uShape reports whether a curve falls and then rises again by more than its noise.
func uShape(curve []Row) *finding {
	if len(curve) < 3 {
		return nil
	}
	lowest, last := 0, len(curve)-1
	for k := range curve {
		if curve[k].Mean < curve[lowest].Mean {
			lowest = k
		}
	}
	return &finding{
		holds: lowest > 0 && lowest < last && above(&curve[last], &curve[lowest]),
		numbers: fmt.Sprintf("lowest %s at %d, %s at %d", short(curve[lowest].Mean), curve[lowest].Samples[0],
			short(curve[last].Mean), curve[last].Samples[0]),
	}
}

// sameSigns checks that the slopes of table 2 under LADIES and under full batch have the
// same sign in two of three layers or more.
func sameSigns(e evidence, data string) *finding {
	n := 0
	for layer := 1; layer <= 3; layer++ {
		slope := coefficient("β1", onP, overTrain, layer)
		ladies, full := e.row("table2", data, "LADIES", slope), e.row("table2", data, "Full-batch", slope)
		if ladies == nil || full == nil {
			return nil
		}
		if ladies.Mean*full.Mean > 0 {
			n++
		}
	}
	return &finding{holds: n >= 2, numbers: fmt.Sprintf("%d of 3", n)}
}

// flatHasLessBias checks that debiasing changes the error less with flat probabilities than
// with LADIES', at every size: the plain estimate has the smaller bias.
func flatHasLessBias(e evidence, data string) *finding {
	curve := func(method string) []Row { return e.curve(data, method, largestPaperSize) }
	plain, debiased := curve("ladies"), curve("ladies-debiased")
	flat, both := curve("ladies-flat"), curve("ladies-flat-debiased")
	if !comparableCurves(debiased, plain) || !comparableCurves(both, flat) || len(flat) != len(plain) {
		return nil
	}
	f := &finding{holds: true}
	for k := range plain {
		f.holds = f.holds && math.Abs(1-both[k].Mean/flat[k].Mean) < math.Abs(1-debiased[k].Mean/plain[k].Mean)
	}
	flatLeast, flatMost := ratios(both, flat)
	least, most := ratios(debiased, plain)
	f.numbers = fmt.Sprintf("%.2f to %.2f and %.2f to %.2f", flatLeast, flatMost, least, most)
	return f
}

// littleAbove checks that a test metric is less than some points above the best of others.
func (e evidence) littleAbove(experiment, data, label string, others []string, points float64) *finding {
	own := e.row(experiment, data, label, "test ")
	var best *Row
	for _, other := range others {
		row := e.row(experiment, data, other, "test ")
		if row == nil {
			return nil
		}
		if best == nil || row.Mean > best.Mean {
			best = row
		}
	}
	if own == nil || best == nil {
		return nil
	}
	diff, se := difference(own, best)
	return &finding{holds: diff <= points, numbers: signed(diff, se)}
}

// emptyColumns compares the numbers of columns that are not empty: the pairs of a
// regression, in one mini-batch Q and in P.
func emptyColumns(e evidence, data string) *finding {
	pairs := func(experiment, norm string, batches int) float64 {
		row := e.row(experiment, data, "LADIES", coefficient("β1", norm, overAll, 1))
		if row == nil || row.Runs == 0 {
			return math.NaN()
		}
		return float64(row.N) / float64(row.Runs*batches)
	}
	p, qp := pairs("table2", onP, 1), pairs("table10", onQP, regressionBatches)
	if math.IsNaN(p) || math.IsNaN(qp) {
		return nil
	}
	return &finding{holds: qp < p, numbers: short(math.Round(qp)) + " and " + short(p)}
}

// slopes checks the slopes of layers of table 2.
func (e evidence) slopes(data string, labels []string, layers []int, holds func(slope float64) bool) *finding {
	f := &finding{holds: true}
	var words []string
	for _, label := range labels {
		for _, layer := range layers {
			row := e.row("table2", data, label, coefficient("β1", onP, overTrain, layer))
			if row == nil {
				return nil
			}
			f.holds = f.holds && holds(row.Mean)
			words = append(words, fmt.Sprintf("%s layer %d %s", label, layer, signed(row.Mean, row.SEM)))
		}
	}
	f.numbers = strings.Join(words, ", ")
	return f
}

// largestR2 returns the largest R² of the regressions of a data set that have a
// positive slope, or of all if labels are given, and their number.
func (e evidence) largestR2(experiment, data string, labels []string, norm, over string) (largest float64, n int) {
	for _, row := range e[experiment] {
		if dataKey(row.Dataset) != data || labels != nil && !slices.Contains(labels, row.Label) ||
			!strings.HasPrefix(row.Quantity, "R² of |HW| on |"+norm+"|") || !strings.HasSuffix(row.Quantity, over) {
			continue
		}
		n++
		slope := e.row(experiment, data, row.Label, strings.Replace(row.Quantity, "R²", "β1", 1))
		if labels != nil || slope == nil || slope.Mean > 0 {
			largest = max(largest, row.Mean)
		}
	}
	return largest, n
}

// notProportional checks that no regression of a data set has a positive slope and
// more than a weak R².
func notProportional(experiment, norm, over string) func(e evidence, data string) *finding {
	return func(e evidence, data string) *finding {
		largest, n := e.largestR2(experiment, data, nil, norm, over)
		if n == 0 {
			return nil
		}
		return &finding{holds: largest < weakR2, numbers: fmt.Sprintf("largest R² of %d regressions at a positive slope %.3f", n, largest)}
	}
}

// marginal checks that a curve is at or just below another: by 10 % at most.
func marginal(low, high []Row) *finding {
	if !comparableCurves(low, high) {
		return nil
	}
	least, largest := ratios(low, high)
	return &finding{holds: least >= 0.9 && largest <= 1.02, numbers: fmt.Sprintf("%.3f to %.3f", least, largest)}
}

// gainsMost checks that debiasing lowers the error most on the sparse graphs.
func gainsMost(e evidence) (Verdict, string) {
	sparse, dense, open := math.Inf(-1), math.Inf(1), false
	var words []string
	for _, data := range e.data("figure2") {
		plain, debiased := e.curve(data, "ladies", largestPaperSize), e.curve(data, "ladies-debiased", largestPaperSize)
		if !comparableCurves(debiased, plain) {
			open = open || e.pending(data)
			continue
		}
		last := len(plain) - 1
		ratio := debiased[last].Mean / plain[last].Mean
		switch data {
		case "arxiv", "mag":
			sparse = max(sparse, ratio)
		case "reddit", "proteins", "products":
			dense = min(dense, ratio)
		default:
			continue
		}
		words = append(words, fmt.Sprintf("%s: %.2f", data, ratio))
	}
	switch {
	case math.IsInf(sparse, 0) || math.IsInf(dense, 0):
		return NotMeasured, ""
	case sparse >= min(dense, 1):
		return NotSeen, strings.Join(words, "; ")
	case open:
		return Undecided, strings.Join(words, "; ")
	}
	return Seen, strings.Join(words, "; ")
}

// times returns the ratio of two times: medians. It is NaN if one was not measured.
func (e evidence) times(experiment, data, a, b string) float64 {
	x, y := e.row(experiment, data, a, "ms "), e.row(experiment, data, b, "ms ")
	if x == nil || y == nil || !(x.Median > 0) || !(y.Median > 0) {
		return math.NaN()
	}
	return x.Median / y.Median
}

// timeRatio checks that the ratio of two times is in a range.
func (e evidence) timeRatio(experiment, data, a, b string, low, high float64) *finding {
	ratio := e.times(experiment, data, a, b)
	if math.IsNaN(ratio) {
		return nil
	}
	return &finding{holds: ratio >= low && ratio <= high, numbers: short(ratio)}
}

// near checks that a test metric is less than some points below another.
func (e evidence) near(experiment, data, a, b string, points float64) *finding {
	x, y := e.row(experiment, data, a, "test "), e.row(experiment, data, b, "test ")
	if x == nil || y == nil {
		return nil
	}
	diff, se := difference(x, y)
	return &finding{holds: diff > -points, numbers: signed(diff, se)}
}

// countAbove is allAbove for many pairs: it shows how many hold.
func (e evidence) countAbove(experiment, data string, pairs []pair) *finding {
	n := 0
	for _, p := range pairs {
		f := e.allAbove(experiment, data, "test ", []pair{p})
		if f == nil {
			return nil
		}
		if f.holds {
			n++
		}
	}
	return &finding{holds: n == len(pairs), numbers: fmt.Sprintf("%d of %d", n, len(pairs))}
}

// best checks that a method has the highest test metric.
func (e evidence) best(experiment, data, label string) *finding {
	own := e.row(experiment, data, label, "test ")
	if own == nil {
		return nil
	}
	highest, others := own, 0
	for k, row := range e[experiment] {
		if dataKey(row.Dataset) != data || !strings.HasPrefix(row.Quantity, "test ") || row.Label == label {
			continue
		}
		others++
		if row.Mean > highest.Mean {
			highest = &e[experiment][k]
		}
	}
	if others == 0 {
		return nil
	}
	return &finding{holds: highest == own, numbers: fmt.Sprintf("%s; best %s, %s", short(own.Mean), highest.labelled(), short(highest.Mean))}
}

// someAboveFull checks that a sampling method has a higher test metric than full
// batch.
func someAboveFull(e evidence, data string) *finding {
	full := e.row("table4", data, "Full-batch", "test ")
	if full == nil {
		return nil
	}
	f := &finding{numbers: "none"}
	largest, others := 0.0, 0
	for _, row := range e["table4"] {
		if dataKey(row.Dataset) != data || !strings.HasPrefix(row.Quantity, "test ") || row.Label == full.Label {
			continue
		}
		others++
		if !above(&row, full) {
			continue
		}
		if diff, se := difference(&row, full); diff > largest {
			largest, f.holds, f.numbers = diff, true, row.labelled()+" "+signed(diff, se)
		}
	}
	if others == 0 {
		return nil
	}
	return f
}

// norms checks a constant of the paper's assumption in most layers.
func norms(quantity string, holds func(float64) bool) func(e evidence, data string) *finding {
	return func(e evidence, data string) *finding {
		var words []string
		n := 0
		for layer := 1; layer <= 3; layer++ {
			row := e.row("figure5", data, fmt.Sprintf("layer %d", layer), quantity)
			if row == nil {
				return nil
			}
			if holds(row.Mean) {
				n++
			}
			words = append(words, short(row.Mean))
		}
		return &finding{holds: n >= 2, numbers: strings.Join(words, ", ")}
	}
}

// mostNegative checks that more than half of the slopes on ‖QP^[i]‖ are negative.
func mostNegative(e evidence) (Verdict, string) {
	negative, n, open := 0, 0, false
	for _, row := range e["table10"] {
		open = open || row.pending
		if strings.HasPrefix(row.Quantity, "β1") && strings.HasSuffix(row.Quantity, overTrain) {
			n++
			if row.Mean < 0 {
				negative++
			}
		}
	}
	numbers := fmt.Sprintf("%d of %d", negative, n)
	switch {
	case n == 0:
		return NotMeasured, ""
	case open:
		return Undecided, numbers
	case 2*negative > n:
		return Seen, numbers
	}
	return NotSeen, numbers
}
