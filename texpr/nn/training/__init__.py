"""Training: the loop of epochs, callbacks, metrics, resuming. Optimizers stand in `nn.optim`."""
