package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/mpi"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/serve"
	"github.com/gcn-layerwise/gcn/train"
)

const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// usagef returns an error in the command line or in a --config file, not in the work itself.
func usagef(format string, args ...any) error {
	return &run.OptionError{Err: fmt.Errorf(format, args...)}
}

// job is the work that a command line starts.
type job struct {
	started bool             // the command line is valid, and its command began
	world   *mpi.World       // the ranks of a launcher; nil: this process alone
	data    datasets.Options // of every command that opens data
}

type jobKey struct{}

// jobOf returns the job of a command with the context ctx.
func jobOf(ctx context.Context) *job {
	j, _ := ctx.Value(jobKey{}).(*job)
	return cmp.Or(j, new(job))
}

// execute runs one command line and returns the process's exit code. Results go
// to stdout; progress and the error, one line, go to stderr. When ctx ends, or
// the reader of an output pipe closes it, training saves a checkpoint and execute
// returns exitInterrupted. Of several MPI ranks only rank 0 prints more than errors.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	messages := &stream{w: stderr, closed: stop}
	output := &stream{w: stdout, closed: stop, beside: messages}
	root, job := newRoot(output, messages)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(context.WithValue(ctx, jobKey{}, job))
	messages.clear()
	failed := output.err
	err = cmp.Or(err, failed) // such as the error of printing a help text
	code, message := ending(ctx, command, err, failed, job.started)
	if code == exitUsage && !job.started {
		// All ranks of a launcher may have this command line: together they print one message.
		// A rank that cannot join prints its own.
		job.world, _ = mpi.Open(ctx, os.Getenv, time.Minute)
	}
	if job.world != nil {
		return leaveRanks(ctx, job.world, code, message, errors.As(err, new(*train.RanksError)), stderr)
	}
	if message != "" {
		say(messages, "gcn: %s", message)
	}
	return code
}

// ending returns the exit code and the message of a command that ended with err. failed is
// the error of writing to standard output.
func ending(ctx context.Context, command *cobra.Command, err, failed error, started bool) (code int, message string) {
	switch option, is := errors.AsType[*run.OptionError](err); {
	case err == nil:
		return exitDone, ""
	case errors.Is(err, failed) && errors.Is(failed, syscall.EPIPE):
		return exitFailed, "" // the reader closed the pipe
	case errors.Is(err, failed):
		return exitFailed, oneLine(fmt.Errorf("standard output: %w", failed))
	case is && !option.Saved || errors.As(err, new(datasets.SpecError)) || !started:
		return exitUsage, oneLine(fmt.Errorf("%w (see %s --help)", err, command.CommandPath()))
	case errors.Is(err, ctx.Err()) && errors.As(err, new(run.Interrupted)):
		return exitInterrupted, oneLine(err)
	case errors.Is(err, ctx.Err()):
		return exitInterrupted, "interrupted"
	}
	return exitFailed, oneLine(err)
}

// oneLine renders an error on a single line. Joined errors and errors of
// libraries may span several.
func oneLine(err error) string {
	return regexp.MustCompile(`\s*\n\s*`).ReplaceAllString(strings.TrimSpace(err.Error()), "; ")
}

// globalOptions say where named data sets are kept and downloaded from, and how long to wait
// for a rank.
type globalOptions struct {
	Cache       string        `json:"cache" arg:"FOLDER" help:"FOLDER of downloaded data sets (default $GCN_DATA, or gcn in the user's cache folder)"`
	Mirror      string        `json:"mirror" arg:"URL" help:"download URL/NAME/FILE instead of the data sets' own addresses (default $GCN_MIRROR)"`
	Offline     bool          `json:"offline" help:"never download: a named data set must be in the cache"`
	RankTimeout time.Duration `json:"rank_timeout" default:"1m" range:"[0," arg:"TIME" help:"with an MPI launcher: end the job, and name the rank, if a rank gives no sign of life for TIME; 0: wait forever"`
}

// newRoot returns the command tree, and the job that it starts when it is executed.
func newRoot(stdout, stderr io.Writer) (*cobra.Command, *job) {
	j := new(job)
	root := &cobra.Command{Use: "gcn [COMMAND]", Version: programVersion(), SilenceErrors: true, SilenceUsage: true, Args: arguments}
	var global globalOptions
	run.AddFlags(root.PersistentFlags(), &global)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		j.started = true
		if u, err := url.Parse(global.Mirror); global.Mirror != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return usagef("--mirror %s: want an address, such as https://example.org/data", global.Mirror)
		}
		j.data = datasets.Options{
			Schemes:  []datasets.Scheme{serve.Scheme()}, // package datasets has the others
			Cache:    global.Cache,
			Mirror:   global.Mirror,
			Offline:  global.Offline,
			Progress: dataMeter(stderr),
		}
		j.world, err = joinRanks(cmd, global.RankTimeout, stdout, stderr)
		return err
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", terminal(stdout).width())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableNoDescFlag = true
	train := newTrainCommand()
	root.RunE = func(*cobra.Command, []string) error {
		train.SetContext(root.Context())
		return train.RunE(train, nil)
	}
	root.AddCommand(
		train, newTuneCommand(), newEvalCommand(), newPredictCommand(), newExportCommand(), newImportCommand(),
		newGroup("datasets", newDatasetsListCommand(), newDatasetsInfoCommand(), newDatasetsFetchCommand(), newDatasetsConvertCommand(), newDatasetsVerifyCommand()),
		newMethodsCommand(), newRecipesCommand(), newVersionCommand(),
		newGroup("bench", newBenchSamplingCommand(), newBenchTrainCommand(), newBenchInferCommand()),
		newGroup("study", newStudyErrorCommand(), newStudyAssumptionCommand(), newStudyNormsCommand(), newStudyVarianceCommand(), newStudyTheoremCommand(),
			newStudyFeaturesCommand(), newStudyAdviseCommand()),
		newReproduceCommand(), newReportCommand(), newServeCommand(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	describe(root)
	return root, j
}
