"""A training on ranks of a backend: bit for bit one process that accumulates."""

import sys

import numpy as np

from texpr import distributed as dist
from texpr import nn

comm = dist.init(sys.argv[1], timeout=60)
random = np.random.default_rng(0)
Y = random.integers(0, 3, 38)
X = (random.normal(size=(3, 5))[Y] * 2 + random.normal(size=(38, 5))).astype(np.float32)


def fitted(**options):
    nn.manual_seed(0)
    layers = nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3)
    model = nn.Sequential(*layers)
    optimizer = nn.optim.Adam(model.parameters(), lr=0.02).clip_grad_norm_(0.5)
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer, metrics=["accuracy"], **options)
    history = trainer.fit(X, Y, epochs=3, batch_size=4, progress=False, validation_data=(X, Y))
    own = (*model.named_parameters(), *model.named_buffers())
    state = {n: v for n, v in optimizer.state_dict().items() if isinstance(v, np.ndarray)}
    return {n: v.data.tobytes() for n, v in own} | {n: v.tobytes() for n, v in state.items()}, dict(history)


one = fitted(accumulate=comm.size)
assert fitted(comm=comm, reduction="ordered", bucket_cap_mb=1e-4) == one
values, _ = fitted(comm=comm)
assert all(each == values for each in comm.gather_object(values)), "ranks differ"
if comm.is_main:
    print(f"{comm.size} ranks are one process")
