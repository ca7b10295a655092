"""Arrays of a store, which "gcn datasets convert" writes."""
import json

import numpy as np


def open_store(path):
    """Returns a function that gives an array by its name, mapped into memory; None if there is none."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        start = f.tell()
    types = {"I64": "<i8", "I32": "<i4", "F32": "<f4", "F16": "<f2", "U8": "u1"}

    def load(name):
        a = header.get(name)
        return a and np.memmap(path, types[a["dtype"]], "r", start + a["data_offsets"][0], tuple(a["shape"]))

    return load
