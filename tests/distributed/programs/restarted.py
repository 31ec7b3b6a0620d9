"""A training that fails once in its middle and goes on from the file that it wrote."""

import os
import sys

import numpy as np

from texpr import distributed as dist
from texpr import nn

comm = dist.init(timeout=60)
path = sys.argv[1]
x = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
y = x[:, :1] * 2


def trainer():
    nn.manual_seed(0)
    model = nn.Linear(3, 1)
    return nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))


first = int(os.environ["TEXPR_RESTART"]) == 0
if comm.is_main:
    training = trainer()
    training.fit(x, y, epochs=2 if first else 4, batch_size=4, progress=False, resume=path)
    training.save(path)
    print("epochs 1 to 2" if first else "epochs 3 to 4", flush=True)
comm.barrier()
if first:
    raise ValueError("a fault that does not come again")
if comm.is_main:
    whole = trainer()
    whole.fit(x, y, epochs=4, batch_size=4, progress=False)
    assert whole.model.weight.data.tobytes() == training.model.weight.data.tobytes()
    print("as if never stopped")
