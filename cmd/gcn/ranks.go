package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/mpi"
)

// sharing are the commands that share their work between MPI's ranks. Rank 0 alone runs the
// others.
var sharing = []string{"gcn", "gcn train", "gcn eval", "gcn predict", "gcn reproduce", "gcn serve"}

// joinRanks joins the ranks that an MPI launcher started, and prepares cmd to run on them.
// It silences the outputs of all ranks but rank 0.
func joinRanks(cmd *cobra.Command, timeout time.Duration, stdout, stderr io.Writer) (*mpi.World, error) {
	w, err := mpi.Open(cmd.Context(), os.Getenv, timeout)
	if w == nil || err != nil {
		return nil, err
	}
	alone := w.Size() > 1 && !slices.Contains(sharing, cmd.CommandPath())
	switch {
	case w.Rank() == 0 && alone:
		say(stderr, "%s does not share its work: rank 0 of %d runs it", cmd.CommandPath(), w.Size())
	case w.Rank() > 0:
		for _, out := range []io.Writer{stdout, stderr} {
			if s, ok := out.(*stream); ok {
				s.w = io.Discard // nothing is written yet
			}
		}
		if alone {
			cmd.RunE = func(*cobra.Command, []string) error { return nil }
		}
	}
	return w, nil
}

// leaveRanks ends this process, a rank of a job, after a command that ended with the given
// exit code and message. Ranks that are done wait for the others. A rank that failed ends all
// of them. all reports whether all ranks failed, with the same message. leaveRanks does not
// return; its result is only for run.
func leaveRanks(ctx context.Context, w *mpi.World, code int, message string, all bool, stderr io.Writer) int {
	if code == exitDone {
		err := w.Close() // the work is done: a signal that comes now changes nothing
		if err == nil {
			w.Exit(exitDone)
		}
		code, message, all = exitFailed, oneLine(err), false
	}
	if w.Rank() > 0 {
		// Rank 0 tells of a failure that all ranks share, and saves its state before it
		// ends them. Open MPI's launcher then sends SIGTERM, and a second later kills.
		// On a busy machine that takes longer than half a second.
		ended, patience := ctx.Done(), 3*time.Second
		if code == exitInterrupted || all {
			ended, patience = nil, 5*time.Second
		}
		select {
		case <-time.After(patience):
		case <-ended:
			message = "" // another rank has told why
			time.Sleep(5 * time.Second)
		}
	}
	if message != "" {
		if w.Size() > 1 {
			message = fmt.Sprintf("rank %d on %s: %s", w.Rank(), w.Host(w.Rank()), message)
		}
		say(stderr, "gcn: %s", message)
		time.Sleep(time.Second / 5) // when a rank aborts, MPICH's launcher drops the output that it has not read
	}
	w.Abort(code)
	return code
}
