"""Records models of PyTorch with their logits, for the test of ImportParameters.

    /usr/bin/python3 record.py     # Debian: python3-torch, python3-numpy

The layers are those of the graph libraries, written out: P(XW)+b with the symmetric P of GCN,
and with the mean over a node and its neighbours.
"""
import numpy as np
import torch
from torch import nn

N, FEATURES, HIDDEN, CLASSES = 30, 5, 4, 3


class Conv(nn.Module):
    """The parameters of PyTorch Geometric's GCNConv: lin.weight and bias."""

    def __init__(self, p, inputs, outputs):
        super().__init__()
        self.p = p
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return self.p @ self.lin(x) + self.bias


class Sage(nn.Module):
    """The parameters of DGL's SAGEConv with the aggregator "gcn"."""

    def __init__(self, p, inputs, outputs):
        super().__init__()
        self.p = p
        self.fc_neigh = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return self.fc_neigh(self.p @ x) + self.bias


class Model(nn.Module):
    def __init__(self, layer, p, classifier):
        super().__init__()
        self.conv1 = layer(p, FEATURES, HIDDEN)
        self.conv2 = layer(p, HIDDEN, HIDDEN if classifier else CLASSES)
        if classifier:
            self.out = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = self.conv2(x)
        return self.out(torch.relu(x)) if hasattr(self, "out") else x


class Deep(nn.Module):
    """Convolutions in a list: as texts, convs.10 is before convs.2."""

    def __init__(self, layer, p, depth):
        super().__init__()
        self.convs = nn.ModuleList(layer(p, HIDDEN if l else FEATURES, HIDDEN) for l in range(depth))
        self.lin = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        for conv in self.convs:
            x = torch.relu(conv(x))
        return self.lin(x)


torch.manual_seed(1)
rng = np.random.default_rng(1)
edges = np.unique(np.sort(rng.integers(0, N, (70, 2)), axis=1), axis=0)
edges = edges[edges[:, 0] != edges[:, 1]]
a = np.eye(N)
a[edges[:, 0], edges[:, 1]] = a[edges[:, 1], edges[:, 0]] = 1
d = a.sum(1)
symmetric = torch.tensor(a / np.sqrt(d[:, None] * d[None, :]), dtype=torch.float32)
mean = torch.tensor(a / d[:, None], dtype=torch.float32)
x = torch.randn(N, FEATURES)
arrays = {"edges": edges.astype(np.int64), "features": x.numpy()}
for name, model in {
    "gcn": Model(Conv, symmetric, False), "classifier": Model(Conv, symmetric, True), "sage": Model(Sage, mean, False),
    "deep": Deep(Conv, symmetric, 12),
}.items():
    torch.save(model.state_dict(), name + ".pt")
    with torch.no_grad():
        arrays[name] = model(x).numpy()
np.savez("recorded.npz", **arrays)
