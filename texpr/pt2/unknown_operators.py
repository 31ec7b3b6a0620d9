"""The error of archives whose graphs need operators that texpr does not read."""

from __future__ import annotations

from texpr.support.errors import CheckpointError


class UnknownOperators(CheckpointError):
    """A program needs operators, overloads of them or dtypes that texpr does not read. All of them
    are listed.

    Example:
        >>> import torch
        >>> class Bessel(torch.nn.Module):
        ...     def forward(self, x):
        ...         return torch.special.bessel_j1(x)
        >>> torch.export.save(torch.export.export(Bessel(), (torch.ones(4),)), "bessel.pt2")
        >>> try:
        ...     tx.pt2.load("bessel.pt2")
        ... except tx.pt2.UnknownOperators as error:
        ...     print(error.notes)
        ('special_bessel_j1.default: 1 node',)
    """
