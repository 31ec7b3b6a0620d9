"""What torch.nn.utils has: sequences of several lengths, gradients made smaller, parameters as one vector, weights that are computed."""

from texpr.nn.utils import rnn

__all__ = ["rnn"]
