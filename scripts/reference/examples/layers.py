"""Examples of layers and losses."""

from __future__ import annotations

RESET = """\
before = layer.state_dict()
layer.reset_parameters()
[name for name, value in layer.state_dict().items() if (value != before[name]).any()]"""
DRAWN = {
    "Bilinear": "2, 3, 4",
    "Conv1d": "2, 4, 3",
    "Conv2d": "2, 4, 3",
    "Conv3d": "2, 4, 3",
    "ConvTranspose1d": "2, 4, 3",
    "ConvTranspose2d": "2, 4, 3",
    "ConvTranspose3d": "2, 4, 3",
    "GRU": "3, 5",
    "GRUCell": "3, 5",
    "LSTM": "3, 5",
    "LSTMCell": "3, 5",
    "Linear": "3, 2",
    "MultiheadAttention": "8, 2",
    "RNN": "3, 5",
    "RNNCell": "3, 5",
}
"""Layers whose weights are drawn, with arguments."""
STATISTICS = (
    "loaded = layer.load_state_dict({name: value + 3 for name, value in layer.state_dict().items()})\n"
)
NORMS = {
    "reset_running_stats": f'{STATISTICS}layer.reset_running_stats()\nlayer.state_dict()["running_mean"]',
    "reset_parameters": f'{STATISTICS}layer.reset_parameters()\nlayer.state_dict()["weight"]',
}
NORMALIZING = {
    **{f"BatchNorm{n}d": "2" for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": "2, affine=True, track_running_stats=True" for n in (1, 2, 3)},
    "SyncBatchNorm": "2",
}
ROWS = "rows = np.float32([[1, 2], [3, 4], [5, 6]])"
CLASSES = {
    **{
        f"nn.{name}": (f"layer = nn.{name}({given})", {"reset_parameters": RESET})
        for name, given in DRAWN.items()
    },
    **{f"nn.{name}": (f"layer = nn.{name}({given})", NORMS) for name, given in NORMALIZING.items()},
    "nn.LSTM": ("layer = nn.LSTM(3, 5)", {"operator": "layer.operator", "reset_parameters": RESET}),
    "nn.Embedding": (
        "layer = nn.Embedding(3, 2)",
        {
            "reset_parameters": RESET,
            "from_pretrained": f"{ROWS}\nnn.Embedding.from_pretrained(rows)(np.array([2, 0]))",
        },
    ),
    "nn.EmbeddingBag": (
        "layer = nn.EmbeddingBag(3, 2)",
        {
            "reset_parameters": RESET,
            "from_pretrained": f"{ROWS}\n"
            'nn.EmbeddingBag.from_pretrained(rows, mode="sum")(np.array([[2, 0]]))',
        },
    ),
    "nn.Seeded": (
        "layer = nn.Dropout(0.5)",
        {
            "reseed": "before = int(layer.seed.data)\nlayer.reseed()\nint(layer.seed.data) != before",
            "next_seed": """\
class Noise(nn.Seeded):
    def forward(self, x):
        return tx.ops.dropout(x, self.next_seed(x.capture), p=0.5)
sorted(set(Noise()(tx.ones(100)).tolist()))""",
        },
    ),
    "nn.Transformer": (
        "",
        {"generate_square_subsequent_mask": "nn.Transformer.generate_square_subsequent_mask(3)"},
    ),
    "nn.Loss": (
        "loss = nn.MSELoss()\nx, y = tx.tensor([[1.0, 2.0]]), tx.tensor([[1.0, 4.0]])",
        {
            "classes": "nn.CrossEntropyLoss().classes((32, 10))",
            "weighed": "loss.weighed(x, y, tx.tensor([2.0]))",
            "each_counted": "each, counted = loss.each_counted(x, y)\neach.tolist(), counted",
            "each": "loss.each(x, y)",
            "reduced": "loss.reduced(loss.each(x, y))",
        },
    ),
}
