package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
)

func newDatasetsVerifyCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use:  "verify SPEC",
		Args: exactly(1, "datasets verify needs one SPEC, such as store:FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := verification{Spec: args[0]}
			if err := checkSpec(v.Spec); err != nil {
				return err
			}
			if err := v.check(cmd.Context()); err != nil {
				return err
			}
			if err := result(cmd, v, v.print); err != nil {
				return err
			}
			return v.difference()
		},
	}, new(resultOptions))
}

// verification is the result of "gcn datasets verify".
type verification struct {
	Spec  string `json:"spec"`
	Valid bool   `json:"valid"`
	WallS number `json:"wall_s"`

	// Of a data set with published figures.
	Name      string                `json:"name,omitempty"` // of the original
	Published []datasets.Comparison `json:"published,omitempty"`
	Original  *bool                 `json:"original,omitempty"` // absent for a twin

	differ []string // names of the figures that differ
}

// check verifies the data, and compares them with the published figures if there are any.
func (v *verification) check(ctx context.Context) error {
	start := time.Now()
	published, twin := datasets.FindPublished(v.Spec)
	if !twin { // a twin is generated, and opening it checks all
		if err := datasets.Verify(ctx, v.Spec, dataOptions(ctx)); err != nil {
			return err
		}
	}
	if published != nil {
		data, err := openData(ctx, v.Spec)
		if err != nil {
			return err
		}
		defer data.Close() // it was only read
		if v.Published, err = published.Compare(ctx, data); err != nil {
			return err
		}
		v.judge(published.Name, twin)
	}
	v.Valid, v.WallS = true, finite.Measured(time.Since(start).Seconds())
	return nil
}

// judge decides whether the data are the original of that name. There is no verdict about
// a twin.
func (v *verification) judge(name string, twin bool) {
	v.Name, v.differ = name, nil
	for _, c := range v.Published {
		if !c.Agrees {
			v.differ = append(v.differ, c.Name)
		}
	}
	if original := len(v.differ) == 0; !twin {
		v.Original = &original
	}
}

// difference is the error about data that are not the original.
func (v *verification) difference() error {
	if v.Original == nil || *v.Original {
		return nil
	}
	return fmt.Errorf("%s: not the original %s: these figures differ: %s", v.Spec, v.Name, strings.Join(v.differ, ", "))
}

func (v *verification) print(w io.Writer) {
	say(w, "%s: valid (%.1f s)", v.Spec, float64(v.WallS))
	if len(v.Published) == 0 {
		return
	}
	t := newTable(false)
	t.row(v.Name, "published", "found", "", "source")
	for _, c := range v.Published {
		mark := ""
		if !c.Agrees {
			mark = "differs"
		}
		t.row(c.Name, figureText(c.Published), figureText(c.Found), mark, c.Source)
	}
	t.print(w)
	if v.Original != nil && *v.Original {
		say(w, "this is the original %s", v.Name)
	}
}

// figureText writes counts in full and other numbers with four digits.
func figureText(x float64) string {
	if x == float64(int64(x)) {
		return thousands(int64(x))
	}
	return fmt.Sprintf("%.4g", x)
}
