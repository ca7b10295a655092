#!/usr/bin/python3
"""Tests the installed kernel through Jupyter, and times it.

    JUPYTER_PATH=PREFIX notebooks/kernel/test.py

The kernel runs in an empty folder with an empty PATH: it must need neither Go nor
another program.
"""
import os
import re
import statistics
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from jupyter_client.manager import KernelManager

START, IMPORT = 3.0, 1.0  # limits in seconds
HERE = Path(__file__).resolve().parent
LINKED = [line.split("#")[0].strip() for line in (HERE / "packages.txt").read_text().splitlines()]
LINKED = [path for path in LINKED if path]


class Kernel:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        bare = {k: v for k, v in os.environ.items() if not k.startswith("GO")}
        bare.update(PATH="/nonexistent", HOME=self.folder.name)
        began = time.monotonic()
        self.manager = KernelManager(kernel_name="gcn")
        self.manager.start_kernel(env=bare, cwd=self.folder.name)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.started = time.monotonic() - began

    def run(self, code, interrupt=()):
        """Runs a cell; returns its outputs as (kind, content), in order."""
        outputs = []

        def hook(message):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                if outputs and outputs[-1][0] == content["name"]:
                    content["text"] = outputs.pop()[1] + content["text"]
                outputs.append((content["name"], content["text"]))
            elif kind == "error":
                outputs.append((kind, content["evalue"]))
            elif kind in ("execute_result", "display_data", "update_display_data"):
                outputs.append((kind, content["data"]))

        timers = [threading.Timer(t, self.manager.interrupt_kernel) for t in interrupt]
        for timer in timers:
            timer.start()
        began = time.monotonic()
        self.client.execute_interactive(code, timeout=60, output_hook=hook, allow_stdin=False)
        self.took = time.monotonic() - began
        for timer in timers:
            timer.cancel()
        return outputs

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.folder.cleanup()


class KernelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        cls.kernel.run('import ("context"; "errors"; "fmt"; "time"; "math/rand/v2"\n'
                       '"github.com/gcn-layerwise/gcn/samplers"; "github.com/gcn-layerwise/gcn/datasets"\n'
                       '"github.com/gcn-layerwise/gcn/notebook"; "gonum.org/v1/plot"; "gonum.org/v1/plot/vg"\n'
                       '"gorgonia.org/gorgonia"; "gorgonia.org/tensor")')

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def shows(self, code, *want, interrupt=()):
        got = self.kernel.run(code, interrupt)
        plain = [(k, v["text/plain"] if isinstance(v, dict) else v) for k, v in got]
        self.assertEqual(plain, list(want), code)

    def test_result(self):
        self.shows("6*7", ("execute_result", "42"))
        self.shows('fmt.Println("once")', ("stdout", "once\n"))
        self.shows("var nothing error\nnothing")
        self.shows("tensor.New(tensor.WithShape(1, 2), tensor.Of(tensor.Float32))", ("execute_result", "R[0  0]"))

    def test_error_ends_the_cell_only(self):
        self.shows('kept := 3\npanic(errors.New("wrong"))', ("error", "wrong"))
        self.shows("kept", ("execute_result", "3"))
        self.shows("undefined + 1", ("error", "repl.go:1:1: undefined identifier: undefined"))

    def test_unlinked_import(self):
        [(kind, text)] = self.kernel.run('import "slices"')
        self.assertEqual(kind, "error")
        self.assertIn('import "slices": not linked into this kernel', text)
        self.assertLess(self.kernel.took, 1)

    def test_large_value(self):
        self.shows('data, err := datasets.Open(context.Background(), "synth:demo?nodes=3000", datasets.Options{})\n'
                   "if err != nil { panic(err) }\ndata.Labels", ("execute_result", "*graph.Labels (too large to print)"))

    def test_order_of_prints_and_displays(self):
        want = []
        for k in range(30):
            want += [("stdout", f"{k}\n"), ("display_data", "<b>x</b>")]
        self.shows('for k := 0; k < 30; k++ { fmt.Println(k); Display(display.HTML("<b>x</b>")) }', *want)

    def test_update(self):
        shape = "struct{ Data, Metadata, Transient map[string]interface{} }"
        cell = "map[string]interface{}"
        self.shows(f'show := func(text string, t {cell}) {{ Display({shape}{{{cell}{{"text/plain": text}}, nil, t}}) }}\n'
                   f'show("one", {cell}{{"display_id": "a"}})\n'
                   f'show("two", {cell}{{"display_id": "a", "update": true}})',
                   ("display_data", "one"), ("update_display_data", "two"))

    def test_pictures(self):
        [(kind, data)] = self.kernel.run("picture := plot.New()\nw, err := picture.WriterTo(100, 100, \"png\")\ndisplay.Auto(w)")
        self.assertEqual(kind, "execute_result")
        self.assertTrue(data["image/png"].startswith("iVBORw0KGgo"))
        [(kind, data)] = self.kernel.run("notebook.Draw(nil)")
        self.assertTrue(data["image/svg+xml"].startswith("<svg"))
        self.assertTrue(data["image/png"].startswith("iVBORw0KGgo"))
        [(kind, data)] = self.kernel.run('type dot struct{}\nfunc (d dot) SVG() string { return "<svg/>" }\ndot{}')
        self.assertEqual(data["image/svg+xml"], "<svg/>")

    def test_interpreted_sampler(self):
        self.shows("type ownSampler struct{ n int }\n"
                   "func (s *ownSampler) Layers() int { return s.n }\n"
                   "func (s *ownSampler) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, b *samplers.MiniBatch) error {\n"
                   'return fmt.Errorf("%d seeds", len(seeds)) }\n'
                   "var sampler samplers.Sampler = &ownSampler{2}\n"
                   "fmt.Println(sampler.Layers(), sampler.Sample(nil, []int32{1, 2}, nil, nil))",
                   ("stdout", "2 2 seeds\n"))

    def test_loop_variables(self):
        self.shows("var functions []func() int\n"
                   "for k := 0; k < 3; k++ { functions = append(functions, func() int { return k }) }\n"
                   "for _, f := range functions { fmt.Print(f(), \" \") }", ("stdout", "0 1 2 "))

    def test_interrupt_of_compiled_code(self):
        self.shows("stopped, interrupted := notebook.Interruptible(context.Background(), func(ctx context.Context) error {\n"
                   "<-ctx.Done()\nreturn ctx.Err() })\nfmt.Println(stopped, interrupted)", ("stdout", "true <nil>\n"), interrupt=[0.5])
        self.assertLess(self.kernel.took, 1.5)
        self.shows("stopped", ("execute_result", "true"))

    def test_interrupt_of_interpreted_code(self):
        self.shows("count := 0\nfor { count++ }", ("error", "interrupted"), interrupt=[0.5])
        self.assertLess(self.kernel.took, 4)
        self.shows("for { count++ }", ("error", "interrupted"), interrupt=[0.5, 1])
        self.assertLess(self.kernel.took, 2)
        self.shows("count > 0", ("execute_result", "true"))

    def test_interrupt_of_nothing(self):
        self.shows("alive := 1")
        self.kernel.manager.interrupt_kernel()
        time.sleep(0.3)
        self.shows("alive", ("execute_result", "1"))

    def test_completion(self):
        reply = self.kernel.client.complete("samplers.Layer", reply=True, timeout=10)
        self.assertIn("LayerWise", " ".join(reply["content"]["matches"]))

    def test_inspection(self):
        reply = self.kernel.client.inspect("samplers.ByName(", reply=True, timeout=10)
        self.assertEqual(reply["content"]["data"]["text/plain"],
                         "samplers.ByName func(string, samplers.Config) (samplers.Sampler, error)")
        self.assertEqual(self.kernel.client.comm_info(reply=True, timeout=10)["content"]["comms"], {})

    def test_every_linked_package(self):
        for path in LINKED:
            name = "as_" + re.sub(r"\W", "_", path)
            self.assertEqual(self.kernel.run(f'import {name} "{path}"'), [], path)

    def test_time(self):
        starts, imports = [], []
        cell = "import (\n" + "\n".join(f'"{path}"' for path in LINKED) + "\n)"
        for _ in range(5):
            kernel = Kernel()
            self.assertEqual(kernel.run(cell), [])
            starts.append(kernel.started)
            imports.append(kernel.took)
            kernel.close()
        for what, times, limit in (("kernel start", starts, START), ("import of all packages", imports, IMPORT)):
            print(f"{what}: median {statistics.median(times):.2f} s, worst {max(times):.2f} s of {len(times)}, allowed {limit:.0f} s", file=sys.stderr)
            self.assertLess(max(times), limit)


if __name__ == "__main__":
    unittest.main()
