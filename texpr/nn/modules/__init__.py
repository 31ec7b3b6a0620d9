"""Modules: layers with parameters, and containers of them. Their base class stands in `nn.core`,
losses in `nn.losses`.
"""
