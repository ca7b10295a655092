"""Measures the time until the validation score of our full, less 0.5 points.

    bench/peers/run --to-accuracy [SPEC]

runs this in a folder with gcn and graph.gcn. All runs have 2 threads, the default
protocol with an evaluation every 50 batches, and end at the target or at the limit.

The clock of ours starts with the process, so it includes opening a store and P·X.
PyTorch's starts after loading and normalising the graph, before P·X. Processor seconds
are of the whole process for ours, and from the same start for PyTorch.

GCN_PEERS_TARGET is the target, in place of a whole run of full to find it. GCN_PEERS_RUNS
names the runs, separated by semicolons. A run of PyTorch ends without the target when it
has taken GCN_PEERS_TIMES (20) times as long as the first run: its row is a lower bound.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time

work = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
threads, every, most = 2, 50, 2000
times = float(os.environ.get("GCN_PEERS_TIMES", 20))
runs = ["gcn ladies-cv?every=100 --samples 512", "gcn full", "gcn vrgcn --samples 2,2", "gcn neighbor --samples 5,10",
        "gcn labor --samples 5,10", "torch neighbor --samples 5,10", "torch full"]
os.environ["GOMAXPROCS"] = str(threads)


def gcn(options, batches, target=2.0):
    """Trains until the target. Returns wall and processor seconds, and the evaluations."""
    out = os.path.join(work, "run")
    command = [os.path.join(work, "gcn"), "train", "--data", "store:" + os.path.join(work, "graph.gcn"), "--method", *options.split(),
               "--eval-every", str(every), "--max-batches", str(batches), "--patience", "0", "--out", out, "--overwrite", "--quiet", "--json"]
    metrics = os.path.join(out, "metrics.jsonl")
    if os.path.exists(metrics):
        os.remove(metrics)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    curve = []
    while not curve or curve[-1]["valid"] < target:
        ended = process.poll() is not None
        if os.path.exists(metrics):
            with open(metrics) as lines:
                curve = [json.loads(line) for line in lines if line.endswith("\n")]
        if ended:
            break
        time.sleep(0.02)
    wall = time.perf_counter() - start
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    process.wait()
    if not curve:
        sys.exit(f"{' '.join(command)}: no evaluation")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, curve


def show(name, reached, batches, valid, wall, cpu, evaluation=None):
    row = {"run": name, "reached": reached, "batches": batches, "valid": round(valid, 4), "seconds": round(wall, 2), "cpu_seconds": round(cpu, 2)}
    if evaluation is not None:
        row["eval_seconds"] = round(evaluation, 2)
    print(json.dumps(row), flush=True)
    return row


def our_run(options, target):
    wall, cpu, curve = gcn(options, most, target)
    return show("gcn " + options, curve[-1]["valid"] >= target, curve[-1]["batch"], curve[-1]["valid"], wall, cpu)


def torch_run(options, target, seconds):
    command = [sys.executable, os.path.join(here, "accuracy.py"), os.path.join(work, "graph.gcn"), *options.split(), "--target", str(target),
               "--max-batches", str(most), "--eval-every", str(every), "--threads", str(threads), "--max-seconds", str(seconds)]
    r = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return show("torch " + options, r["reached"], r["batches"], r["valid"], r["seconds"], r["cpu_seconds"], r["eval_seconds"])


def main():
    gcn("ladies-cv --samples 8", 1)  # a store is checked when it is first opened
    target = float(os.environ.get("GCN_PEERS_TARGET") or max(e["valid"] for e in gcn("full", 1000)[2]) - 0.005)
    print(f"target: a validation score of {target:.4f}", flush=True)
    rows = []
    for name in os.environ.get("GCN_PEERS_RUNS", ";".join(runs)).split(";"):
        program, options = name.strip().split(" ", 1)
        if program == "gcn":
            rows.append(our_run(options, target))
        else:
            rows.append(torch_run(options, target, times * rows[0]["seconds"] if rows else float("inf")))
    best = rows[0]
    print(f"{'':50} {'batches':>7} {'valid':>7} {'wall s':>9} {'ratio':>6} {'CPU s':>9} {'ratio':>6}")
    for row in rows:
        mark = "" if row["reached"] else "  not reached"
        print(f"{row['run']:50} {row['batches']:7} {row['valid']:7.4f} {row['seconds']:9.1f} {row['seconds'] / best['seconds']:6.1f} "
              f"{row['cpu_seconds']:9.1f} {row['cpu_seconds'] / best['cpu_seconds']:6.1f}{mark}")


main()
