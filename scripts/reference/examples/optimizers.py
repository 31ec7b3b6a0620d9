"""Examples of optimizers and learning-rate schedulers."""

from __future__ import annotations

SETUP = """\
w = nn.Parameter(np.float32([3.0, 4.0]))
optimizer = nn.optim.SGD([w], lr=0.5, momentum=0.9)"""
OWN = """\
text = "op r<T: float>(p: T[*S], g: T[*S], lr: f64) -> q: T[*S] { q[*s] = p[*s] - T(lr) * sign(g[*s]) }"
rule = tx.op(text)
class SignDescent(nn.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, lr=lr)

    def update(self, capture, parameter, gradient):
        %s
(w * w).sum().backward()
SignDescent([w], lr=0.5).step()
w.data"""
APPLY = OWN % "self.apply(capture, rule, parameter, gradient)"
SCHEDULER = """\
optimizer = nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=1.0)
scheduler = nn.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)"""
CLASSES = {
    "nn.optim.Optimizer": (
        SETUP,
        {
            "add_param_group": 'optimizer.add_param_group({"params": [nn.Parameter(np.zeros(1))], "lr": 0.1})\n'
            '[group["lr"] for group in optimizer.param_groups]',
            "parameters": "[p.shape for p in optimizer.parameters]",
            "lr": 'optimizer.lr = 0.25\noptimizer.param_groups[0]["lr"]',
            "update": APPLY,
            "numbers": 'optimizer.numbers(optimizer.group(w), 1)["lr"]',
            "apply": APPLY,
            "number": APPLY.replace(
                "self.apply(capture, rule, parameter, gradient)",
                'lr = self.number(capture, parameter, "lr")\n'
                "        capture.assign(parameter, rule(capture.latest(parameter), gradient, lr))",
            ),
            "group": 'optimizer.group(w)["momentum"]',
            "state_shape": 'optimizer.state_shape(w, "momentum_buffer")',
            "state": 'optimizer.state(w, "momentum_buffer").shape',
            "first_state": 'optimizer.first_state(w, "momentum_buffer")',
            "clip_grad_norm_": "(w * w).sum().backward()\noptimizer.clip_grad_norm_(1.0).step()\nw.data",
            "clip_grad_value_": "(w * w).sum().backward()\noptimizer.clip_grad_value_(1.0).step()\nw.data",
            "append_updates": """\
class Twice(nn.optim.SGD):
    def append_updates(self, capture, gradients):
        super().append_updates(capture, {p: g * 2 for p, g in gradients.items()})
(w * w).sum().backward()
Twice([w], lr=0.1).step()
w.data""",
            "zero_grad": "(w * w).sum().backward()\noptimizer.zero_grad()\nw.grad is None",
            "step": "(w * w).sum().backward()\noptimizer.step()\nw.data",
            "structure": "optimizer.structure() == nn.optim.SGD([w], lr=0.1, momentum=0.9).structure()",
            "count": "optimizer.count([w])\noptimizer.state_dict()",
            "prepare": "optimizer.prepare()",
            "state_dict": "sorted(optimizer.state_dict())",
            "load_state_dict": "other = nn.optim.SGD([nn.Parameter(np.zeros(2))], lr=0.1, momentum=0.9)\n"
            "other.load_state_dict(optimizer.state_dict())\nother.lr",
        },
    ),
    "nn.optim.AveragedModel": (
        "model = nn.Linear(2, 1)\naveraged = nn.optim.AveragedModel(model, decay=0.9)",
        {"update_parameters": "averaged.update_parameters(model)\nint(averaged.n_averaged.numpy())"},
    ),
    "nn.optim.lr_scheduler.LRScheduler": (
        SCHEDULER,
        {
            "begin": "scheduler.begin()\nscheduler.last_epoch",
            "values": 'scheduler.values("lr")',
            "get_lr": "scheduler.last_epoch = 1\nscheduler.get_lr()",
            "first_lr": "scheduler.first_lr()",
            "get_last_lr": "scheduler.step()\nscheduler.get_last_lr()",
            "step": "scheduler.step()\noptimizer.lr",
            "restart": "scheduler.step()\nscheduler.restart()\nscheduler.last_epoch",
            "set_lr": "scheduler.set_lr([0.1])\noptimizer.lr",
            "state_dict": 'scheduler.step()\nscheduler.state_dict()["last_epoch"]',
            "load_state_dict": "state = scheduler.state_dict()\nscheduler.step()\nscheduler.load_state_dict(state)\n"
            "scheduler.last_epoch",
        },
    ),
}
