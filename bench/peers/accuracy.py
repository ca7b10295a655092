"""Trains a GCN in PyTorch until a validation score, to be timed beside ours.

Reads a graph from a store ("gcn datasets convert"; symmetric, no self-loops) and prints one
JSON object:

    python3 accuracy.py STORE full --target 0.74
    python3 accuracy.py STORE neighbor --samples 5,10 --target 0.74

full      each step is a pass over the whole graph; the loss is of all training nodes
neighbor  each step is of 512 training nodes; each node draws neighbours uniformly,
          without replacement, with weights degree/k, and reads its own row exactly

The model is ours: two convolutions P(HW + b) of 256, ELU, dropout 0.2, and a classifier
after another dropout of 0.2; Adam at 0.001. P·X is computed once for full and for the
validation scores, since features have no dropout. Seconds count from before P·X until
the first score at the target; loading and normalising the graph are not counted.
"""

import argparse
import json
import os
import time
import warnings

parser = argparse.ArgumentParser()
parser.add_argument("store")
parser.add_argument("method", choices=["full", "neighbor"])
parser.add_argument("--samples", default="5,10", help="neighbours a node, the layer next to the output first")
parser.add_argument("--target", type=float, default=1.0, help="stop at this validation accuracy")
parser.add_argument("--max-batches", type=int, default=1000)
parser.add_argument("--max-seconds", type=float, default=float("inf"), help="end with an evaluation after this wall clock")
parser.add_argument("--eval-every", type=int, default=50)
parser.add_argument("--batch", type=int, default=512)
parser.add_argument("--hidden", type=int, default=256)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)

warnings.filterwarnings("ignore", category=UserWarning)  # sparse CSR is "beta" in torch

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F

from laplacian import laplacian
from propagate import Propagate
from store import open_store

torch.set_num_threads(args.threads)


load = open_store(args.store)


def to_torch(m):
    # 32-bit indices: twice as fast as 64-bit ones in PyTorch's own product.
    return torch.sparse_csr_tensor(
        torch.from_numpy(m.indptr.astype(np.int32)), torch.from_numpy(m.indices.astype(np.int32)),
        torch.from_numpy(m.data.astype(np.float32)), size=m.shape)


class GCN(torch.nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first, self.second = torch.nn.Linear(features, hidden), torch.nn.Linear(hidden, hidden)
        self.classifier = torch.nn.Linear(hidden, classes)

    def forward(self, px, px_sums, p, pt, p_sums):
        """px = P·X of the lower layer, p of the upper one; sums are the matrices' row sums."""
        h = F.elu(F.linear(px, self.first.weight) + px_sums * self.first.bias)
        h = Propagate.apply(p, pt, F.dropout(h, 0.2, self.training))
        h = F.elu(F.linear(h, self.second.weight) + p_sums * self.second.bias)
        return self.classifier(F.dropout(h, 1 - 0.8 * 0.8, self.training))  # two dropouts of 0.2


class NeighborSampler:
    def __init__(self, indptr, indices, scale):
        self.indptr, self.indices, self.scale = indptr.astype(np.int64), indices, scale
        self.degree = np.diff(self.indptr)
        self.seen = np.zeros(len(self.degree), bool)
        self.number = np.zeros(len(self.degree), np.int32)

    def layer(self, rows, k, rng):
        degree = self.degree[rows]
        few = degree <= k
        # All neighbours of the rows of few.
        count = np.where(few, degree, 0)
        row = np.repeat(np.arange(len(rows)), count)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        col = self.indices[self.indptr[rows[row]] + offset]
        # Robert Floyd's k of d without replacement, for all other rows at once.
        many = np.flatnonzero(~few)
        d = degree[many]
        pick = np.empty((len(many), k), np.int64)
        for i in range(k):
            last = d - k + i
            j = rng.integers(0, last + 1)
            pick[:, i] = np.where((pick[:, :i] == j[:, None]).any(axis=1), last, j)
        drawn = self.indices[self.indptr[rows[many]][:, None] + pick]
        # Entries of P, times d/k where k of d were drawn; and the diagonal.
        s = self.scale
        entry = s[rows[row]] * s[col]
        weighed = s[rows[many]][:, None] * s[drawn] * (d / k).astype(np.float32)[:, None]
        cols = np.concatenate([rows, col, drawn.ravel()])
        where = np.concatenate([np.arange(len(rows)), row, np.repeat(many, k)])
        values = np.concatenate([s[rows] ** 2, entry, weighed.ravel()]).astype(np.float32)
        # Input nodes: the rows, then the others.
        self.seen[cols] = True
        self.seen[rows] = False
        nodes = np.concatenate([rows, np.flatnonzero(self.seen)])
        self.seen[nodes] = False
        self.number[nodes] = np.arange(len(nodes), dtype=np.int32)
        block = sp.csr_matrix((values, (where, self.number[cols])), shape=(len(rows), len(nodes)))
        return nodes, block


def main():
    rng = np.random.default_rng(args.seed)
    torch.manual_seed(args.seed)
    indptr, indices = load("indptr"), load("indices")
    P, scale = laplacian(indptr, indices)
    x = torch.from_numpy(load("feat").astype(np.float32))
    y = torch.from_numpy(load("labels").astype(np.int64))
    train, valid = load("train"), load("valid")
    model = GCN(x.shape[1], args.hidden, int(y.max()) + 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    sizes = [int(s) for s in args.samples.split(",")]
    sums = torch.from_numpy(np.asarray(P.sum(axis=1), np.float32))
    p, p_valid, p_train = to_torch(P), to_torch(P[valid]), to_torch(P[train])
    p_train_t = to_torch(P[train].T.tocsr())
    sampler = NeighborSampler(indptr, indices, scale)

    start, cpu = time.perf_counter(), time.process_time()
    px = p @ x

    def full():
        return model(px, sums, p_train, p_train_t, sums[train]), y[train]

    def neighbor():
        seeds = rng.choice(train, min(args.batch, len(train)), replace=False)
        middle, upper = sampler.layer(seeds, sizes[0], rng)
        inputs, lower = sampler.layer(middle, sizes[-1], rng)
        rows = torch.from_numpy(np.asarray(lower.sum(axis=1)))
        top = torch.from_numpy(np.asarray(upper.sum(axis=1)))
        below = to_torch(lower) @ x[inputs]
        return model(below, rows, to_torch(upper), to_torch(upper.T.tocsr()), top), y[seeds]

    batch = {"full": full, "neighbor": neighbor}[args.method]
    result = {"method": args.method, "samples": sizes if args.method == "neighbor" else [], "threads": args.threads,
              "torch": torch.__version__, "target": args.target, "curve": [], "reached": False}
    evaluation = evaluation_cpu = 0.0
    for k in range(1, args.max_batches + 1):
        model.train()
        optimiser.zero_grad()
        scores, labels = batch()
        F.cross_entropy(scores, labels).backward()
        optimiser.step()
        late = time.perf_counter() - start > args.max_seconds
        if k % args.eval_every and k < args.max_batches and not late:
            continue
        before, cpu_before = time.perf_counter(), time.process_time()
        model.eval()
        with torch.no_grad():
            scores = model(px, sums, p_valid, None, sums[valid])
            accuracy = float((scores.argmax(dim=1) == y[valid]).float().mean())
        now = time.perf_counter()
        evaluation += now - before
        evaluation_cpu += time.process_time() - cpu_before
        result["curve"].append([k, round(accuracy, 4)])
        result.update(batches=k, valid=accuracy, seconds=round(now - start, 3),
                      cpu_seconds=round(time.process_time() - cpu, 3), eval_seconds=round(evaluation, 3), eval_cpu_seconds=round(evaluation_cpu, 3))
        if accuracy >= args.target:
            result["reached"] = True
        if result["reached"] or late:
            break
    print(json.dumps(result))


main()
