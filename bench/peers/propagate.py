import torch


class Propagate(torch.autograd.Function):
    """P·H for a constant sparse P, with its transpose for the gradient."""

    @staticmethod
    def forward(ctx, p, pt, h):
        ctx.pt = pt
        return p @ h

    @staticmethod
    def backward(ctx, grad):
        return None, None, ctx.pt @ grad
