import numpy as np
import scipy.sparse as sp


def laplacian(indptr, indices):
    """Returns P = D^-1/2 (A + I) D^-1/2 and the diagonal of D^-1/2, of a symmetric A without self-loops."""
    n = len(indptr) - 1
    a = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(n, n))
    a = (a + sp.identity(n, dtype=np.float32, format="csr")).tocsr()
    scale = (1 / np.sqrt(np.asarray(a.sum(axis=1)).ravel())).astype(np.float32)
    d = sp.diags(scale)
    return (d @ a @ d).tocsr(), scale
