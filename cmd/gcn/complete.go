package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
)

// complete lets a shell complete the values of a flag, also the last value of a
// comma-separated list.
func complete(cmd *cobra.Command, flag string, values func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, given string) ([]string, cobra.ShellCompDirective) {
		before := given[:strings.LastIndexByte(given, ',')+1]
		var list []string
		for _, v := range values() {
			list = append(list, before+v)
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not there: a mistake in this program
	}
}

// dataSpecs lists the data sets that need no path, and the schemes that do.
func dataSpecs() []string {
	var specs []string
	for _, e := range datasets.List() {
		spec, path, found := strings.Cut(e.Spec, ":")
		if !found {
			specs = append(specs, spec)
			continue
		}
		if strings.ToLower(path) == path {
			spec += ":" + path
		} else {
			spec += ":"
		}
		specs = append(specs, spec)
	}
	return specs
}
