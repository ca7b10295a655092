"""The same job in NumPy, SciPy and PyTorch, to be timed beside ours.

Reads a graph from a store ("gcn datasets convert"; symmetric, no self-loops) and prints one
JSON object with medians in milliseconds:

    python3 peer.py STORE [--batch 512 --samples 512,512 --hidden 256 --threads 1 --batches 150]

sampling_numpy   ladies-flat-debiased, one layer: row slice, compaction to the
                 candidates, exponential clocks with argpartition, closed-form weights
sampling_scipy   the paper's algorithm in SciPy: choice without replacement over
                 the candidates, the O(s^2) weight loop with its inner loop a slice
step             forward, backward and Adam of the 2-layer GCN on sampled blocks,
                 stock PyTorch, sampling and gathering not counted
step_no_dropout  the same without dropout
pipeline         sampling, gathering and step one after the other
inference        full-graph forward pass
"""

import argparse
import json
import os
import time
import warnings

parser = argparse.ArgumentParser()
parser.add_argument("store")
parser.add_argument("--batch", type=int, default=512)
parser.add_argument("--samples", default="512,512")
parser.add_argument("--hidden", type=int, default=256)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--batches", type=int, default=150)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)

warnings.filterwarnings("ignore", category=UserWarning)  # sparse CSR is "beta" in torch

import numpy as np
import scipy.sparse as sp
import torch

from laplacian import laplacian
from propagate import Propagate
from store import open_store

torch.set_num_threads(args.threads)


load = open_store(args.store)


def debiased_weights(w, total, m):
    """Closed form of the debiased weights; w in order of draw."""
    s = len(w)
    if s == m:
        return np.ones(s)
    j = np.arange(1, s + 1)
    left = (total - w.sum()) + np.cumsum(w[::-1])[::-1]
    return m / (s * (m - j)) * ((s - j) + (m - s) / (m - j + 1) * left / w)


def debiased_loop(p, m):
    """Algorithm 1 of the paper, its inner loop a slice; p in order of draw."""
    beta, drawn = np.zeros(len(p)), 0.0
    for k in range(len(p)):
        alpha = m / ((m - k) * (k + 1))
        beta[k] = alpha * (1 - drawn) / p[k]
        beta[:k] = (1 - alpha) * beta[:k] + alpha
        drawn += p[k]
    return beta


def sample_numpy(P, rows, s, rng):
    q = P[rows]
    nodes, local = np.unique(q.indices, return_inverse=True)
    w = np.sqrt(np.bincount(local, q.data.astype(np.float64) ** 2))
    m = len(nodes)
    s = min(s, m)
    keys = rng.exponential(size=m) / w
    pick = np.argpartition(keys, s - 1)[:s] if s < m else np.arange(m)
    pick = pick[np.argsort(keys[pick])]
    beta = debiased_weights(w[pick], w.sum(), m)
    column = np.full(m, -1)
    column[pick] = np.arange(s)
    keep = column[local] >= 0
    cols = column[local][keep]
    kept = np.concatenate([[0], np.cumsum(keep)])[q.indptr]
    block = sp.csr_matrix((q.data[keep] * beta[cols].astype(np.float32), cols, kept), shape=(len(rows), s))
    return nodes[pick], block


def sample_scipy(P, rows, s, rng):
    q = P[rows]
    nodes = np.unique(q.indices)
    p = np.sqrt(np.asarray(q[:, nodes].power(2).sum(axis=0)).ravel())
    p /= p.sum()
    s = min(s, len(nodes))
    pick = rng.choice(len(nodes), s, replace=False, p=p)
    beta = debiased_loop(p[pick], len(nodes))
    return nodes[pick], q[:, nodes[pick]] @ sp.diags(beta.astype(np.float32))


def to_torch(block):
    block.sort_indices()
    return torch.sparse_csr_tensor(
        torch.from_numpy(block.indptr.astype(np.int64)), torch.from_numpy(block.indices.astype(np.int64)),
        torch.from_numpy(block.data.astype(np.float32)), size=block.shape)


class GCN(torch.nn.Module):
    def __init__(self, widths, classes, dropout):
        super().__init__()
        self.convs = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.classifier = torch.nn.Linear(widths[-1], classes)
        self.dropout = dropout

    def forward(self, blocks, h):
        for conv, (p, pt) in zip(self.convs, blocks):
            h = torch.nn.functional.elu(Propagate.apply(p, pt, conv(h)))
            h = torch.nn.functional.dropout(h, self.dropout, self.training)
        return self.classifier(h)


def median(times):
    return round(1000 * float(np.median(times)), 4)


def main():
    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    P, _ = laplacian(np.asarray(load("indptr")), np.asarray(load("indices")))
    feat = np.asarray(load("feat"), dtype=np.float32)
    labels = np.asarray(load("labels")).astype(np.int64)
    train = np.asarray(load("train"))
    sizes = [int(s) for s in args.samples.split(",")]
    classes = int(labels.max()) + 1
    seeds = [rng.choice(train, min(args.batch, len(train)), replace=False) for _ in range(args.batches)]
    result = {"threads": args.threads, "torch": torch.__version__, "numpy": np.__version__}

    for name, sampler in (("sampling_numpy", sample_numpy), ("sampling_scipy", sample_scipy)):
        times = []
        for rows in seeds:
            start = time.perf_counter()
            sampler(P, rows, sizes[0], rng)
            times.append(time.perf_counter() - start)
        result[name] = median(times[20:])

    def draw(rows):
        blocks, outputs = [], rows
        for s in sizes:
            rows, block = sample_numpy(P, rows, s, rng)
            blocks.insert(0, (to_torch(block), to_torch(block.T.tocsr())))
        return blocks, torch.from_numpy(feat[rows]), torch.from_numpy(labels[outputs])

    widths = [feat.shape[1]] + [args.hidden] * len(sizes)
    for name, dropout in (("step", 0.2), ("step_no_dropout", 0.0)):
        model = GCN(widths, classes, dropout)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

        def step(blocks, x, y):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(blocks, x), y).backward()
            optimiser.step()

        times, whole = [], []
        for rows in seeds:
            begin = time.perf_counter()
            batch = draw(rows)
            start = time.perf_counter()
            step(*batch)
            end = time.perf_counter()
            times.append(end - start)
            whole.append(end - begin)
        result[name] = median(times[20:])
        if dropout > 0:
            result["pipeline"] = median(whole[20:])

    model.eval()
    full, x, times = to_torch(P), torch.from_numpy(feat), []
    with torch.no_grad():
        for _ in range(3):
            start = time.perf_counter()
            model([(full, None)] * len(sizes), x)
            times.append(time.perf_counter() - start)
    result["inference"] = median(times)
    print(json.dumps(result))


main()
