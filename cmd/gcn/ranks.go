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

// sharesWork is the annotation of commands that share their work between MPI's ranks.
// Rank 0 alone runs the others.
const sharesWork = "ranks"

// shared are the annotations of such a command.
func shared() map[string]string { return map[string]string{sharesWork: "yes"} }

type worldKey struct{}

// worldOf returns the ranks that run this command, or nil for this process alone.
func worldOf(ctx context.Context) *mpi.World {
	w, _ := ctx.Value(worldKey{}).(*mpi.World)
	return w
}

// joinRanks joins the ranks that an MPI launcher started, and prepares cmd to run on them.
// It silences the outputs of all ranks but rank 0.
func joinRanks(cmd *cobra.Command, stdout, stderr io.Writer) (*mpi.World, error) {
	w, err := mpi.Open(cmd.Context(), os.Getenv)
	if w == nil || err != nil {
		return nil, err
	}
	cmd.SetContext(context.WithValue(cmd.Context(), worldKey{}, w))
	alone := cmd.Annotations[sharesWork] == "" && w.Size() > 1
	switch {
	case w.Rank() == 0 && alone:
		say(stderr, "%s does not share its work: rank 0 of %d runs it", cmd.CommandPath(), w.Size())
	case w.Rank() > 0:
		for _, out := range []io.Writer{stdout, stderr} {
			if s, ok := out.(*stream); ok {
				s.silence()
			}
		}
		if alone {
			cmd.RunE = func(*cobra.Command, []string) error { return nil }
		}
	}
	return w, nil
}

// leaveRanks ends this process's part in the job, after a command that ended with the
// given exit code and message. Ranks that are done wait for the others. A rank that failed
// ends all of them.
func leaveRanks(ctx context.Context, w *mpi.World, code int, message string, stderr io.Writer) int {
	if code == exitDone {
		err := w.Barrier(context.WithoutCancel(ctx)) // the work is done: a signal that comes now changes nothing
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			return exitDone
		}
		code, message = exitFailed, oneLine(err)
	}
	if w.Rank() > 0 {
		// Rank 0 tells of a failure that all ranks share, and saves its state before it
		// ends them.
		patience := time.Second / 2
		if code == exitInterrupted {
			patience = 5 * time.Second
		}
		time.Sleep(patience)
	}
	if message != "" {
		if w.Size() > 1 {
			message = fmt.Sprintf("rank %d on %s: %s", w.Rank(), w.Host(w.Rank()), message)
		}
		say(&stream{w: stderr, closed: func() {}}, "gcn: %s", message)
		time.Sleep(time.Second / 5) // MPICH's launcher drops what it has not read when a rank aborts
	}
	w.Abort(code)
	return code
}

// hosts returns the number of hosts of the ranks.
func hosts(w *mpi.World) int {
	var names []string
	for rank := range w.Size() {
		names = append(names, w.Host(rank))
	}
	slices.Sort(names)
	return len(slices.Compact(names))
}
