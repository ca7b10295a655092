package layers

import "sync"

// inferenceProgress counts the rows that inference has computed. nil counts nothing.
type inferenceProgress struct {
	report func(done, total int)
	total  int

	mutex sync.Mutex
	done  int
}

func newInferenceProgress(report func(done, total int), rows [][]int32) *inferenceProgress {
	p := &inferenceProgress{report: report}
	for _, layer := range rows {
		p.total += len(layer)
	}
	p.report(0, p.total)
	return p
}

// add counts n rows. Calls may be concurrent; calls of report are not.
func (p *inferenceProgress) add(n int) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done += n
	p.report(p.done, p.total)
}
