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

func newDatasetsListCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use: "list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			entries := datasets.List()
			return result(cmd, map[string]any{"datasets": entries}, func(w io.Writer) {
				var t table
				for k, e := range entries {
					t.row(e.Spec, e.Summary)
					// The data sets from one source have the same keys.
					if last := k == len(entries)-1 || entries[k+1].Keys != e.Keys; last && e.Keys != "" {
						t.row("", "?key=value&…: "+e.Keys)
					}
				}
				t.print(w)
				say(w, "keys are for the data sets above them; docs/data.md explains them, and gcn datasets info SPEC says how files were read")
			})
		},
	}, new(resultOptions))
}

func newDatasetsInfoCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use:  "info SPEC",
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSpec(args[0]); err != nil {
				return err
			}
			options := dataOptions(cmd.Context())
			options.Unlabelled = true
			data, err := datasets.Open(cmd.Context(), args[0], options)
			if err != nil {
				return err
			}
			info := datasets.Describe(data)
			return result(cmd, info, func(w io.Writer) {
				notes := info.Preprocessing
				info.ClassNames, info.Preprocessing = nil, nil // the notes name the classes
				_ = printText(w, info)                         // the stream keeps its error
				for _, note := range notes {
					say(w, "note: %s", escape(note, ""))
				}
			})
		},
	}, new(resultOptions))
}

func newDatasetsVerifyCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use:  "verify SPEC",
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := verify(cmd.Context(), args[0])
			if err == nil {
				err = result(cmd, v, nil)
			}
			if err == nil && v.Original != nil && !*v.Original {
				err = fmt.Errorf("%s: not the original %s: these figures differ: %s", v.Spec, v.Name, strings.Join(v.differ(), ", "))
			}
			return err
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
}

// verify verifies the data, and compares them with the published figures if there are any.
func verify(ctx context.Context, spec string) (*verification, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	start, options := time.Now(), dataOptions(ctx)
	options.Verify = true
	data, err := datasets.Open(ctx, spec, options)
	if err != nil {
		return nil, err
	}
	defer data.Close() // it was only read
	v := &verification{Spec: spec, Valid: true}
	if published, twin := datasets.FindPublished(spec); published != nil {
		v.Name, v.Published = published.Name, published.Compare(data)
		if original := len(v.differ()) == 0; !twin { // there is no verdict about a twin
			v.Original = &original
		}
	}
	v.WallS = finite.Measured(time.Since(start).Seconds())
	return v, nil
}

// differ lists the figures that differ from the published ones.
func (v *verification) differ() (names []string) {
	for _, c := range v.Published {
		if !c.Agrees {
			names = append(names, c.Name)
		}
	}
	return names
}

// openData opens the data set that --data names. A SPEC that cannot be
// understood is a usage error, unlike data that cannot be read.
func openData(ctx context.Context, spec string) (*datasets.Data, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	return datasets.Open(ctx, spec, dataOptions(ctx))
}

// checkSpec reports a SPEC that cannot be understood.
func checkSpec(spec string) error {
	if err := datasets.CheckSpec(spec, datasets.Options{Schemes: schemes()}); err != nil {
		return usageError{err}
	}
	return nil
}
