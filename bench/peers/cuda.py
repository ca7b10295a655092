"""A training step of the same model on the same blocks in plain PyTorch on a GPU.

    python3 cuda.py GRAPH BLOCKS [--hidden 256 --dropout 0.2 --discard 20 --device cuda]

GRAPH is a store (gcn datasets convert), BLOCKS the file that bench/peers/blocks wrote for
it. Prints one JSON object, times in milliseconds:

    waiting    median of steps that each end with a wait for the device, the first
               and last batches left out as "gcn bench train" does
    queued     wall clock a step of passes without waits in between
    copying    the same where blocks lie in page-locked memory and go over in each step

each of the fastest form for it; "form" names the fastest form of "waiting", "all" has
all forms. The forms are: blocks as sparse COO or CSR matrices, with indices of 64 or 32
bits, and either order of the two products of a convolution. Except for "copying" the
matrices are made on the device beforehand, and their transposes for the gradient.
Features lie on the device and rows are gathered there. float32, no TF32.
"""

import argparse
import json
import sys
import time
import warnings

import numpy as np
import torch

from propagate import Propagate
from store import open_store

warnings.filterwarnings("ignore", category=UserWarning)  # sparse CSR is "beta" in torch

parser = argparse.ArgumentParser()
parser.add_argument("graph")
parser.add_argument("blocks")
parser.add_argument("--hidden", type=int, default=256)
parser.add_argument("--dropout", type=float, default=0.2)
parser.add_argument("--discard", type=int, default=20, help="first and last batches that do not count")
parser.add_argument("--device", default="cuda", help="cpu only tries the script out")
args = parser.parse_args()
device = torch.device(args.device)
gpu = device.type == "cuda"
torch.backends.cuda.matmul.allow_tf32 = False
functional = torch.nn.functional


def wait():
    if gpu:
        torch.cuda.synchronize()


def read_blocks(path):
    raw, at = np.fromfile(path, np.uint8), 0

    def take(kind, n):
        nonlocal at
        size = np.dtype(kind).itemsize * n
        at += size
        return raw[at - size:at].view(kind)

    batches, layers = take("<i8", 2)
    for _ in range(batches):
        matrices = []
        for _ in range(layers):
            rows, cols, entries = take("<i8", 3)
            ptr, idx, val = take("<i8", rows + 1), take("<i4", entries), take("<f4", entries)
            order = np.lexsort((idx, np.repeat(np.arange(rows), np.diff(ptr))))  # torch wants columns in order
            matrices.append((rows, cols, ptr, idx[order], val[order]))
        yield matrices, take("<i4", int(take("<i8", 1)[0])), take("<i4", int(take("<i8", 1)[0]))


def parts(rows, cols, ptr, idx, val, form):
    """The tensors that one matrix is made of, on the host."""
    if form != "coo":
        index = np.int32 if form == "csr32" else np.int64
        return [torch.from_numpy(x) for x in (ptr.astype(index), idx.astype(index), val.copy())]
    places = np.stack([np.repeat(np.arange(rows), np.diff(ptr)), idx]).astype(np.int64)
    return [torch.from_numpy(places), torch.from_numpy(val.copy())]


def assemble(rows, cols, tensors, form):
    if form != "coo":
        return torch.sparse_csr_tensor(*tensors, size=(int(rows), int(cols)))
    return torch.sparse_coo_tensor(*tensors, size=(int(rows), int(cols)))._coalesced_(True)


def transposed(rows, cols, ptr, idx, val):
    row = np.repeat(np.arange(rows), np.diff(ptr))
    order = np.lexsort((row, idx))
    counts = np.bincount(idx, minlength=cols)
    return cols, rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), row[order].astype(np.int32), val[order]


class GCN(torch.nn.Module):
    def __init__(self, widths, classes, dropout, propagate_first):
        super().__init__()
        self.convs = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.classifier = torch.nn.Linear(widths[-1], classes)
        self.dropout, self.propagate_first = dropout, propagate_first

    def forward(self, blocks, h):
        for conv, (p, pt, sums) in zip(self.convs, blocks):
            if self.propagate_first:
                z = Propagate.apply(p, pt, h) @ conv.weight.T + sums * conv.bias
            else:
                z = Propagate.apply(p, pt, conv(h))
            h = functional.dropout(functional.elu(z), self.dropout, self.training)
        return self.classifier(h)


load = open_store(args.graph)
feat = torch.from_numpy(np.asarray(load("feat"), dtype=np.float32)).to(device)
labels = torch.from_numpy(np.asarray(load("labels")).astype(np.int64)).to(device)
classes = int(labels.max()) + 1
batches = list(read_blocks(args.blocks))
depth = len(batches[0][0])
widths = [feat.shape[1]] + [args.hidden] * depth


def prepare(form, pinned):
    """Each batch's tensors, on the host."""
    keep = (lambda x: x.pin_memory()) if pinned and gpu else (lambda x: x)
    ready = []
    for matrices, inputs, outputs in batches:
        layers = []
        for m in matrices:
            sums = np.add.reduceat(np.append(m[4], np.float32(0)), np.minimum(m[2][:-1], len(m[4]))) * (np.diff(m[2]) > 0)
            t = transposed(*m)
            layers.append((m[:2], [keep(x) for x in parts(*m, form)], t[:2], [keep(x) for x in parts(*t, form)],
                           keep(torch.from_numpy(sums.astype(np.float32)).unsqueeze(1))))
        ready.append((layers, keep(torch.from_numpy(inputs.astype(np.int64))), keep(torch.from_numpy(outputs.astype(np.int64)))))
    return ready


def send(batch, form):
    """The batch on the device, its matrices made."""
    layers, inputs, outputs = batch
    blocks = []
    for size, m, tsize, t, sums in layers:
        m, t = ([x.to(device, non_blocking=True) for x in tensors] for tensors in (m, t))
        blocks.append((assemble(*size, m, form), assemble(*tsize, t, form), sums.to(device, non_blocking=True)))
    return blocks, inputs.to(device, non_blocking=True), outputs.to(device, non_blocking=True)


def measure(form, propagate_first, pinned):
    torch.manual_seed(1)
    model = GCN(widths, classes, args.dropout, propagate_first).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=gpu)
    ready = prepare(form, pinned)
    if not pinned:
        ready = [send(batch, form) for batch in ready]

    def step(batch):
        blocks, inputs, outputs = send(batch, form) if pinned else batch
        optimiser.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(blocks, feat[inputs]), labels[outputs])
        loss.backward()
        optimiser.step()
        return loss

    for batch in ready:  # warm up
        first = step(batch)
    wait()
    waiting = []
    for batch in ready:
        start = time.perf_counter()
        step(batch)
        wait()
        waiting.append(1000 * (time.perf_counter() - start))
    start = time.perf_counter()
    for _ in range(3):
        for batch in ready:
            loss = step(batch)
    wait()
    queued = 1000 * (time.perf_counter() - start) / (3 * len(ready))
    assert float(loss) < float(first) + 1, "it does not learn"
    return float(np.median(waiting[args.discard:len(waiting) - args.discard])), queued


results, copying = {}, {}
for form in ("coo", "csr", "csr32"):
    for propagate_first in (False, True):
        name = f"{form}, {'(PH)W' if propagate_first else 'P(HW)'}"
        try:
            results[name] = measure(form, propagate_first, False)
            copying[name] = measure(form, propagate_first, True)[1]
        except RuntimeError as error:  # a form that this version cannot do
            print(f"{name}: {error}", file=sys.stderr)
best = min(results, key=lambda name: results[name][0])
print(json.dumps({
    "device": torch.cuda.get_device_name() if gpu else "cpu", "torch": torch.__version__, "form": best,
    "waiting": round(results[best][0], 4), "queued": round(min(q for _, q in results.values()), 4),
    "copying": round(min(copying.values(), default=float("nan")), 4), "all": {k: [round(x, 4) for x in v] for k, v in results.items()},
    "batches": len(batches), "sizes": [[int(x) for x in m[:2]] for m in batches[0][0]],
    "parameters": sum(p.numel() for p in GCN(widths, classes, 0, False).parameters()), "device_bytes": torch.cuda.max_memory_allocated() if gpu else 0,
}))
