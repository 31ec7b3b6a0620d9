"""Examples of modules, parameters and containers."""

from __future__ import annotations

PAIRS = 'both = nn.ParameterDict({"a": np.ones(2), "b": np.zeros(3)})'
HEADS = 'heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.ReLU()})'
CLASSES = {
    "nn.Module": (
        "net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))",
        {
            "register_parameter": 'net.register_parameter("scale", nn.Parameter(np.float32([2.0])))\n'
            "net.scale.shape, len(list(net.parameters()))",
            "register_buffer": 'net.register_buffer("mean", np.zeros(3))\n"mean" in net.state_dict()',
            "add_module": 'net.add_module("head", nn.Linear(2, 1))\ntype(net.head).__name__',
            "register_module": 'net.register_module("head", nn.Linear(2, 1))\ntype(net.head).__name__',
            "register_forward_hook": "handle = net.register_forward_hook(lambda module, inputs, output: output * 0)\n"
            "net(tx.ones(4, 3)).tolist()[0]\nhandle.remove()",
            "register_forward_pre_hook": "handle = net.register_forward_pre_hook(lambda module, inputs: (inputs[0][:2],))\n"
            "net(tx.ones(4, 3)).shape\nhandle.remove()",
            "dtype": "net.dtype, net.double().dtype",
            "device": "net.device",
            "cpu": "net.cpu().device",
            "to": 'net.to("bf16").dtype',
            "double": "net.double().dtype",
            "float": "net.double().float().dtype",
            "half": "net.half().dtype",
            "bfloat16": "net.bfloat16().dtype",
            "children": "[type(each).__name__ for each in net.children()]",
            "named_children": "[(name, type(each).__name__) for name, each in net.named_children()]",
            "get_submodule": 'net.get_submodule("1").num_features',
            "get_parameter": 'net.get_parameter("0.weight").shape',
            "get_buffer": 'net.get_buffer("1.running_mean").shape',
            "zero_grad": "net(tx.ones(4, 3)).sum().backward()\nnet.zero_grad()\nnet[0].weight.grad is None",
            "named_modules": "[name for name, each in net.named_modules()]",
            "modules": "[type(each).__name__ for each in net.modules()]",
            "named_parameters": "[(name, p.shape) for name, p in net.named_parameters()]",
            "named_buffers": "[name for name, buffer in net.named_buffers()]",
            "buffers": "len(list(net.buffers()))",
            "parameters": "sum(p.size for p in net.parameters())",
            "train": "net.eval().training, net.train().training",
            "eval": "net.eval()[1].training",
            "apply": "names = []\nlast = net.apply(lambda each: names.append(type(each).__name__))\nnames",
            "requires_grad_": "{p.requires_grad for p in net.requires_grad_(False).parameters()}",
            "state_dict": "sorted(net.state_dict())",
            "load_state_dict": 'net.load_state_dict({"0.bias": np.float32([1, 2])}, strict=False)[0][:2]\n'
            'net.load_state_dict({"bias": np.zeros(2)})',
            "summary": "print(net.summary((8, 3)))",
        },
    ),
    "nn.Parameter": (
        "w = nn.Parameter(np.float32([1.0, 2.0]))\n(w * w).sum().backward()",
        {"grad": "w.grad", "forget_gradient": "w.forget_gradient()\nw.grad is None"},
    ),
    "nn.Sequential": (
        "net = nn.Sequential(nn.Linear(3, 2))",
        {
            "append": "len(net.append(nn.ReLU()))",
            "extend": "len(net.extend([nn.ReLU(), nn.Linear(2, 1)]))",
            "insert": "net.insert(0, nn.ReLU())\ntype(net[0]).__name__",
        },
    ),
    "nn.ModuleList": (
        "layers = nn.ModuleList([nn.Linear(3, 2)])",
        {
            "append": "len(layers.append(nn.ReLU()))",
            "extend": "len(layers.extend([nn.ReLU(), nn.Linear(2, 1)]))",
            "insert": "layers.insert(0, nn.ReLU())\ntype(layers[0]).__name__",
        },
    ),
    "nn.ParameterList": (
        "weights = nn.ParameterList([np.ones(2)])",
        {
            "append": "len(weights.append(np.zeros(3)))",
            "extend": "len(weights.extend([np.zeros(3), np.zeros(4)]))",
            "insert": "weights.insert(0, np.zeros(3))\nweights[0].shape",
        },
    ),
    "nn.ModuleDict": (
        HEADS,
        {
            "update": 'heads.update({"c": nn.Linear(3, 2)})\nlen(heads)',
            "keys": "list(heads.keys())",
            "values": "[type(each).__name__ for each in heads.values()]",
            "items": "[(name, type(each).__name__) for name, each in heads.items()]",
            "pop": 'type(heads.pop("b")).__name__, len(heads)',
        },
    ),
    "nn.ParameterDict": (
        PAIRS,
        {
            "update": 'both.update({"c": np.zeros(4)})\nlen(both)',
            "keys": "list(both.keys())",
            "values": "[p.shape for p in both.values()]",
            "items": "[(name, p.shape) for name, p in both.items()]",
            "pop": 'both.pop("a").shape, len(both)',
        },
    ),
}
