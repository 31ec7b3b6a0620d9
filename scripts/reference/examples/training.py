"""Examples of trainers, callbacks, metrics, data and estimators."""

from __future__ import annotations

SETUP = """\
model = nn.Linear(2, 1)
trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)"""
STEP = """\
model = nn.Linear(2, 1)
step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)"""
HISTORY = 'history = nn.History()\nhistory.add({"loss": 0.5}, seconds=2.0, samples=100)'
CALLBACK = """\
class Told(nn.callbacks.Callback):
    def %s:
        print(%s)
trainer.fit(x, y, epochs=1, batch_size=4, progress=False, callbacks=[Told()]).epochs"""
COUNTING = """\
class Counting(nn.callbacks.Callback):
    epochs = 0

    def state_dict(self):
        return {"epochs": self.epochs}

    def load_state_dict(self, state_dict):
        self.epochs = state_dict["epochs"]
counting = Counting()
counting.load_state_dict({"epochs": 3})
counting.state_dict()"""
ERRORS = {
    "pair": "first, second = metric.pair(np.array([1.0, 2.0]), np.array([3.0, 6.0]))\nfirst.shape, second.tolist()",
    "errors": "metric.errors(np.array([[1.0], [2.0]])).tolist()",
    "means": "state = metric.measure(np.array([1.0, 2.0]), np.array([3.0, 6.0]))\n"
    "np.round(metric.means(state), 4).tolist()",
}
COUNTED = """\
class Counted(nn.TrainingStep):
    calls = 0

    def %s:
        self.calls += 1
        return super().%s
step = Counted(model, nn.MSELoss(), step.optimizer)
losses = step(x, y), step(x, y)
step.calls"""
SCALED = """\
class Doubled(nn.LossScale):
    def %s:
        return super().%s
model = nn.Linear(2, 1)
step = nn.TrainingStep(
    model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1), precision="f16", loss_scale=Doubled()
)
bool(np.isfinite(step(np.ones((8, 2), np.float32), np.ones((8, 1), np.float32))))"""
SCALE = "scale = nn.LossScale(init_scale=1024.0)"
POINTS = """\
x = np.linspace(-1, 1, 50, dtype=np.float32)[:, None]
"""
LABELS = (
    'y = np.where(x[:, 0] > 0, "above", "below")\nmodel = nn.sklearn.Classifier(epochs=20, random_state=0)'
)
LOADER = """\
data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)
loader = nn.data.DataLoader(data, batch_size=4)"""
CLASSES = {
    "nn.Trainer": (
        SETUP,
        {
            "fit": "history = trainer.fit(x, y, epochs=5, batch_size=4, validation_data=(x, y), progress=False)\n"
            'history.epochs, sorted(history), history["loss"][-1] < history["loss"][0]',
            "save": 'history = trainer.fit(x, y, epochs=2, progress=False)\ntrainer.save("run.safetensors")',
            "load": 'history = trainer.fit(x, y, epochs=2, progress=False)\ntrainer.save("run.safetensors")\n'
            'trainer.load("run.safetensors")\ntrainer.fit(x, y, epochs=3, progress=False).epochs',
            "evaluate": "sorted(trainer.evaluate(x, y))",
            "predict": "trainer.predict(x).shape",
        },
    ),
    "nn.TrainingStep": (
        STEP,
        {
            "save": 'step.save("step.o", x, y, header="step.h")\n"texpr_step_call" in open("step.h").read()',
            "reset": "step = nn.TrainingStep(model, nn.MSELoss(), step.optimizer, accumulate=2)\nloss = step(x, y)\n"
            "step.pending\nstep.reset()\nstep.pending",
            "check_labels": """\
model = nn.Linear(2, 3)
step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1))
step(x, np.zeros(8, np.int64)) > 0
step(x, np.full(8, 7))""",
            "compute": COUNTED % ("compute(self, plan)", "compute(plan)"),
            "commit": COUNTED % ("commit(self, plan)", "commit(plan)"),
            "flush": "step = nn.TrainingStep(model, nn.MSELoss(), step.optimizer, accumulate=2)\nloss = step(x, y)\n"
            "step.pending, step.flush(), step.pending",
            "plan": COUNTED % ("plan(self, *inputs)", "plan(*inputs)"),
        },
    ),
    "nn.History": (
        HISTORY,
        {
            "samples_per_second": "history.samples_per_second",
            "add": 'history.add({"loss": 0.25})\nhistory["loss"]',
            "epochs": "history.epochs",
            "save": 'history.save("history.csv")\nopen("history.csv").read().split()',
            "rows": "history.rows()",
            "plot": "type(history.plot()).__name__",
        },
    ),
    "nn.LossScale": (
        SCALE,
        {
            "get_scale": "scale.get_scale()",
            "scaled": SCALED % ("scaled(self, capture, loss)", "scaled(capture, loss * 2)"),
            "unscaled": SCALED % ("unscaled(self, capture, gradients)", "unscaled(capture, gradients)"),
            "update": "scale.update(finite=False)\nscale.get_scale(), scale.skipped",
            "state_dict": "scale.state_dict()",
            "load_state_dict": "scale.load_state_dict(nn.LossScale(init_scale=8.0).state_dict())\nscale.get_scale()",
        },
    ),
    "nn.Callback": (
        SETUP,
        {
            "on_train_begin": CALLBACK % ("on_train_begin(self, trainer)", '"begins"'),
            "on_step_end": CALLBACK % ("on_step_end(self, trainer, step, values)", "step, sorted(values)"),
            "on_epoch_end": CALLBACK
            % ("on_epoch_end(self, trainer, epoch, values)", "epoch, sorted(values)"),
            "on_train_end": CALLBACK % ("on_train_end(self, trainer)", '"ends"'),
            "key": 'nn.callbacks.EarlyStopping("loss").key()',
            "state_dict": COUNTING,
            "load_state_dict": COUNTING,
        },
    ),
    "nn.callbacks.Checkpoint": (
        "",
        {"file": 'nn.callbacks.Checkpoint("run.safetensors", keep=3).file(7).name'},
    ),
    "nn.Metric": (
        "metric = nn.metrics.MSE()\nfirst = metric.measure(np.array([1.0, 2.0]), np.array([1.0, 4.0]))",
        {
            "of": "nn.metrics.Accuracy().of(nn.BCEWithLogitsLoss())(np.array([-1.0, 2.0]), np.array([0.0, 1.0]))",
            "measure": "metric.value(first)",
            "merged": "metric.value(metric.merged(first, metric.measure(np.array([5.0]), np.array([5.0]))))",
            "value": "metric.value(first)",
        },
    ),
    "nn.metrics.MAE": ("metric = nn.metrics.MAE()", {k: ERRORS[k] for k in ("pair", "means")}),
    "nn.metrics.MSE": ("metric = nn.metrics.MSE()", ERRORS),
    "nn.metrics.RMSE": ("metric = nn.metrics.RMSE()", ERRORS),
    "nn.metrics.R2": ("metric = nn.metrics.R2()", ERRORS),
    "nn.data.BatchSampler": (
        "sampler = nn.data.BatchSampler(nn.data.SubsetRandomSampler(range(5)), 2)",
        {"batches": "[len(batch) for batch in sampler.batches(0)]"},
    ),
    "nn.data.DataLoader": (
        LOADER,
        {
            "count": "loader.count()",
            "order": "loader.order(0).tolist()",
            "state_dict": "first = next(iter(loader))\nloader.state_dict()",
            "load_state_dict": "first = next(iter(loader))\nother = nn.data.DataLoader(data, batch_size=4)\n"
            "other.load_state_dict(loader.state_dict())\nnext(iter(other))[0].tolist()",
        },
    ),
    "nn.data.Sampler": ("", {"order": "sorted(nn.data.SubsetRandomSampler([3, 5]).order(0).tolist())"}),
    "nn.data.TensorDataset": (
        "data = nn.data.TensorDataset(np.arange(10), np.arange(10) % 2)",
        {"rows": "[each.tolist() for each in data.rows(np.array([3, 4]))]"},
    ),
    "nn.sklearn.Classifier": (
        POINTS + LABELS,
        {
            "fit": "model.fit(x, y).classes_.tolist()",
            "decision_function": "model.fit(x, y).decision_function(x).shape",
            "predict": "model.fit(x, y).predict(x[:2]).tolist()",
            "predict_proba": "model.fit(x, y).predict_proba(x).shape",
        },
    ),
    "nn.sklearn.Regressor": (
        POINTS + "model = nn.sklearn.Regressor(epochs=100, random_state=0)",
        {
            "fit": "bool(model.fit(x, x[:, 0] ** 2).score(x, x[:, 0] ** 2) > 0.9)",
            "predict": "model.fit(x, x[:, 0] ** 2).predict(x[:3]).dtype",
        },
    ),
    "nn.utils.rnn.PackedSequence": (
        "packed = nn.utils.rnn.pack_sequence([np.ones((3, 2)), np.ones((1, 2))])",
        {
            "batch_sizes": "packed.batch_sizes.tolist()",
            "data": "packed.data.shape",
            "known_lengths": "packed.known_lengths().tolist()",
        },
    ),
}
