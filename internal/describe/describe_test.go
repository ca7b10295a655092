package describe_test

import (
	"testing"

	"github.com/gcn-layerwise/gcn/internal/describe"
)

type withText struct{ Hidden int }

func (withText) String() string { return "my own" }

type part struct{ Rate float64 }

type withoutText struct {
	Graph *part // data
	Sizes []int
	Part  any
	Flag  bool
	Same  part
	note  string
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{withText{3}, "my own"},
		{&withText{3}, "my own"},
		{(*withText)(nil), "_"},
		{nil, "_"},
		{withoutText{}, "withoutText{}"},
		{&withoutText{&part{}, []int{512, 1024}, part{}, true, part{0.5}, "x"}, "withoutText{Sizes:[512 1024] Part:part{} Flag:true Same:part{Rate:0.5}}"},
		{withoutText{Part: &withText{}}, "withoutText{Part:my own}"},
		{withoutText{Part: func() {}}, "withoutText{Part:_}"},
		{make([]int, 20), "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 … 20]"},
	} {
		if got := describe.Value(c.value); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
