#!/usr/bin/python3
"""Interrupts a training in the installed kernel, as Jupyter's stop button does, and
resumes it.

    JUPYTER_PATH=PREFIX notebooks/interrupt_test.py
"""
import threading
import time
import unittest

from jupyter_client.manager import start_new_kernel

SETUP = """
import (
	"context"
	"fmt"
	"time"
	G "gorgonia.org/gorgonia"
	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/notebook"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)
ctx := context.Background()
data, err := datasets.Open(ctx, "synth:demo?nodes=3000&edges=20000", datasets.Options{})
notebook.Must(err)
newRun := func(batches int, slow bool) *notebook.Run {
	sampler, err := samplers.ByName("ladies-flat-debiased", samplers.Config{
		Laplacian: data.Laplacian(), Layers: 2, Sizes: []int{128},
	})
	notebook.Must(err)
	batch := layers.NewBatch(G.NewGraph(), sampler)
	gcn, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 16, Seed: 1})
	notebook.Must(err)
	options := train.Options{Seed: 1, MaxBatches: batches, Patience: train.Unlimited}
	if slow { // else thousands of batches are done before the interrupt
		options.Progress = func(train.Progress) { time.Sleep(10 * time.Millisecond) }
	}
	return notebook.NewRun(gcn, data, options)
}
"""


class InterruptTest(unittest.TestCase):
    def setUp(self):
        self.manager, self.client = start_new_kernel(kernel_name="gcn")
        self.addCleanup(self.manager.shutdown_kernel, now=True)
        self.addCleanup(self.client.stop_channels)
        self.run_cell(SETUP)

    def run_cell(self, code, interrupt_after=None):
        """Runs a cell; returns its printed text, and the messages with displays."""
        printed, shown = [], []

        def hook(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                printed.append(content["text"])
            elif kind == "error":
                self.fail(f"the cell failed: {content['evalue']}")
            elif kind in ("display_data", "update_display_data", "execute_result"):
                shown.append((kind, content))

        timer = None
        if interrupt_after:
            timer = threading.Timer(interrupt_after, self.manager.interrupt_kernel)
            timer.start()
        began = time.monotonic()
        self.client.execute_interactive(code, timeout=120, output_hook=hook, allow_stdin=False)
        self.took = time.monotonic() - began
        return "".join(printed), shown

    def test_training(self):
        printed, shown = self.run_cell(
            "run := newRun(2000, true)\nrun.Live = Display\nnotebook.Must(run.Fit(ctx))\n"
            "fmt.Println(run.Interrupted())", interrupt_after=4)
        self.assertEqual(printed, "true\n")
        self.assertLess(self.took, 6, "the cell went on after the interrupt")
        kinds = [kind for kind, _ in shown]
        self.assertEqual(kinds[0], "display_data")
        self.assertGreater(len(kinds), 2, "the curves did not grow")
        self.assertEqual(set(kinds[1:]), {"update_display_data"})
        self.assertEqual(len({content["transient"]["display_id"] for _, content in shown}), 1)
        self.assertTrue(shown[-1][1]["data"]["image/svg+xml"].startswith("<svg"))
        self.assertIn(", interrupted;", shown[-1][1]["data"]["text/plain"])

        # The next cells have the result and the model, and can resume.
        printed, _ = self.run_cell(
            "done := run.Result().Batches\n"
            "evaluations := len(run.Result().Evaluations)\n"
            # The interrupt may come between the tenth batch and its evaluation.
            "fmt.Println(done > 50 && done < 2000, evaluations == done/10 || evaluations == (done-1)/10)")
        self.assertEqual(printed, "true true\n")
        _, shown = self.run_cell("run.Curves()")
        self.assertIn("image/svg+xml", shown[0][1]["data"])
        printed, _ = self.run_cell(
            "run.Options.Progress = nil\nrun.Options.MaxBatches = done + 100\nnotebook.Must(run.Fit(ctx))\n"
            "fmt.Println(run.Interrupted(), run.Result().Resumed == done, run.Result().Batches == done+100)")
        self.assertEqual(printed, "false true true\n")

        # The result is the same as without an interrupt.
        printed, _ = self.run_cell(
            "alone := newRun(done+100, false)\nalone.Live = func(notebook.Data) error { return nil }\n"
            "notebook.Must(alone.Fit(ctx))\n"
            "fmt.Println(alone.Result().Test == run.Result().Test, alone.Result().Best == run.Result().Best)")
        self.assertEqual(printed, "true true\n")
        self.run_cell("notebook.Must(run.Close())\nnotebook.Must(alone.Close())")


if __name__ == "__main__":
    unittest.main()
