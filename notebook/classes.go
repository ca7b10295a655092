package notebook

// Classes returns the predicted class of each row of logits, (rows, classes): the
// class with the highest score, the first of equal ones. It ignores an incomplete
// last row. Without classes it returns nil.
func Classes(logits []float32, classes int) []int32 {
	if classes <= 0 {
		return nil
	}
	best := make([]int32, len(logits)/classes)
	for i := range best {
		row := logits[i*classes : (i+1)*classes]
		for c, v := range row {
			if v > row[best[i]] {
				best[i] = int32(c)
			}
		}
	}
	return best
}

// Agreement returns the share of nodes with the same class in a and b, which hold a
// class for every node of the graph; 0 without nodes. A node outside a or b does
// not agree.
func Agreement(a, b, nodes []int32) float64 {
	if len(nodes) == 0 {
		return 0
	}
	same := 0
	for _, i := range nodes {
		if i >= 0 && int(i) < len(a) && int(i) < len(b) && a[i] == b[i] {
			same++
		}
	}
	return float64(same) / float64(len(nodes))
}
