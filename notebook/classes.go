package notebook

// Classes returns the class of highest score of each row of logits, (rows,
// classes), the first of equal ones: what a model predicts. A rest of fewer than
// classes values is left out; no classes give nil.
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

// Agreement returns the share of nodes at which two classifications, each with a
// class for every node of the graph, agree; 0 for no nodes. They do not agree at
// a node that one of them does not have.
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
