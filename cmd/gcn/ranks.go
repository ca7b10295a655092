package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/mpi"
	"github.com/gcn-layerwise/gcn/train"
)

// sharesWork is the annotation of commands that share their work between MPI's ranks.
// Rank 0 alone runs the others.
const sharesWork = "ranks"

// shared are the annotations of such a command.
func shared() map[string]string { return map[string]string{sharesWork: "yes"} }

// defaultRankTimeout is the time after which a silent rank is lost.
const defaultRankTimeout = time.Minute

type worldKey struct{}

// worldOf returns the ranks that run this command, or nil for this process alone.
func worldOf(ctx context.Context) *mpi.World {
	w, _ := ctx.Value(worldKey{}).(*mpi.World)
	return w
}

// joinRanks joins the ranks that an MPI launcher started, and prepares cmd to run on them.
// It silences the outputs of all ranks but rank 0.
func joinRanks(cmd *cobra.Command, timeout time.Duration, stdout, stderr io.Writer) (*mpi.World, error) {
	w, err := mpi.Open(cmd.Context(), os.Getenv, timeout)
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
		say(&stream{w: stderr, closed: func() {}}, "gcn: %s", message)
		time.Sleep(time.Second / 5) // when a rank aborts, MPICH's launcher drops the output that it has not read
	}
	w.Abort(code)
	return code
}

// follows reports whether this process is a rank other than 0.
func (j *trainJob) follows() bool { return j.world != nil && j.world.Rank() > 0 }

// dealsRuns reports whether each rank trains whole runs of --runs by itself.
func (j *trainJob) dealsRuns() bool {
	return j.world != nil && j.world.Size() > 1 && j.Runs > 1 && j.Micro == 1
}

// agreeOnOptions fills in the options. Rank 0 does so as a process alone, and the others
// take its options, because only rank 0 may be able to read the run's folder.
func (j *trainJob) agreeOnOptions(ctx context.Context) error {
	if j.world == nil || j.world.Size() == 1 {
		return j.fillAndWeigh(ctx)
	}
	var text []byte
	if !j.follows() {
		if err := j.fillAndWeigh(ctx); err != nil {
			return err
		}
		options := j.severalConfig()
		options["partition"] = j.Partition
		var err error
		if j.dealsRuns() {
			if j.Out == "" {
				if j.Out, err = newRunDir(j.trainOptions, j.methodName(), time.Now()); err != nil {
					return err
				}
			}
			options["out"] = j.Out
		}
		if text, err = json.Marshal(options); err != nil {
			return err
		}
	}
	text, err := train.Broadcast(ctx, j.world, text)
	if err != nil || !j.follows() {
		return err
	}
	values, err := parseConfig(text)
	if err != nil {
		return fmt.Errorf("the options from rank 0: %w", err)
	}
	options := &config{path: "the options from rank 0", values: values}
	if err := options.apply(j.fs, "out"); err != nil {
		return err
	}
	if j.EvalEvery == autoInterval { // rank 0 may resume a run that has chosen
		if err := options.set(j.fs, "eval-every"); err != nil {
			return err
		}
	}
	j.auto, j.Auto = j.Auto, false
	return j.check(j.fs)
}

// agreeOnSamples chooses the samples if they are auto, and leaves a default method that keeps
// too much. Rank 0 does so, and the others take its method, samples and control.
func (j *trainJob) agreeOnSamples(ctx context.Context, data *datasets.Data) error {
	var chosen struct {
		Chosen        bool
		Method        string
		Samples       intList
		ExactInput    bool
		DropoutNoise  string
		ControlLinear bool
	}
	if !j.follows() {
		method := j.Method
		if j.auto {
			if err := j.adviseSamples(ctx, data); err != nil {
				return err
			}
			if err := j.fillOwnParts(j.fs); err != nil { // of the method chosen
				return err
			}
		} else if err := j.leaveHistories(data, mostHistoryBytes); err != nil {
			return err
		}
		if j.world == nil || j.world.Size() == 1 {
			return nil
		}
		chosen.Chosen, chosen.Method, chosen.Samples, chosen.ExactInput = j.auto || j.Method != method, j.Method, j.Samples, j.ExactInput
		chosen.DropoutNoise, chosen.ControlLinear = j.DropoutNoise, j.ControlLinear
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		return err
	}
	if text, err = train.Broadcast(ctx, j.world, text); err != nil || !j.follows() {
		return err
	}
	if err := json.Unmarshal(text, &chosen); err != nil {
		return fmt.Errorf("the samples from rank 0: %w", err)
	}
	if chosen.Chosen || j.auto { // rank 0 may have taken them from the run to resume
		j.Method, j.Samples, j.ExactInput = chosen.Method, chosen.Samples, chosen.ExactInput
		j.DropoutNoise, j.ControlLinear = chosen.DropoutNoise, chosen.ControlLinear
	}
	return nil
}

// follow trains with rank 0, or this rank's share of the runs.
func (j *trainJob) follow(ctx context.Context, data *datasets.Data) error {
	if j.dealsRuns() {
		return j.trainShare(ctx, data)
	}
	j.Resume, j.Overwrite = false, false
	for i := range j.Runs {
		if _, err := j.trainOnce(ctx, data, "", j.Seed+uint64(i), "", nil); err != nil {
			return err
		}
	}
	return nil
}

// trainShare trains the runs of this rank after rank 0 has prepared their folder.
func (j *trainJob) trainShare(ctx context.Context, data *datasets.Data) error {
	if err := j.world.Barrier(ctx); err != nil {
		return err
	}
	for i := j.world.Rank(); i < j.Runs; i += j.world.Size() {
		seed := j.Seed + uint64(i)
		if _, err := j.trainOnce(ctx, data, filepath.Join(j.Out, seedFolder(seed)), seed, "", nil); err != nil {
			return err
		}
	}
	return j.world.Barrier(ctx)
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
