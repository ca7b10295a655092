package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a script that completes gcn's command lines in a shell",
		Example: `  source <(gcn completion bash)
  gcn completion zsh > "${fpath[1]}/_gcn"
  gcn completion fish > ~/.config/fish/completions/gcn.fish`,
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		Args:                  exactly(1, "completion needs one shell: %s", strings.Join(shells, ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(w)
			}
			return usageError{fmt.Errorf("unknown shell %q; there are: %s", args[0], strings.Join(shells, ", "))}
		},
	}
}
