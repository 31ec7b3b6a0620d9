"""Names of NumPy, torch, JAX, TVM and Halide that are called otherwise here, and what to write.

In the code of these texts `x` is a tensor, `m` a module, `s` a schedule, `f` an operator, `k` a
kernel.
"""

from __future__ import annotations


def said(text: str, *names: str) -> dict[str, str]:
    """The same words for several names."""
    return dict.fromkeys(names, text)


def meant(code: str, *names: str) -> dict[str, str]:
    """Suggest `code` for several names of other libraries."""
    return said(f"did you mean `{code}`?", *names)


MODULE = {
    **{name: f"make it with NumPy: `tx.tensor(np.{name}(...))`" for name in ("identity", "logspace")},
    **said(
        "`nn.manual_seed(...)` seeds layers; NumPy draws numbers: `tx.tensor(np.random.default_rng(0).normal(size=(2, 3)))`",
        "random",
        "seed",
        "PRNGKey",
        "Generator",
    ),
    **meant(
        "tx.tensor(...)", "array", "asarray", "FloatTensor", "LongTensor", "Array", "ndarray", "as_array"
    ),
    **said(
        '`x.to("cuda")` moves a tensor, `m.to("cuda")` a module',
        "cuda",
        "device",
        "is_available",
        "devices",
        "mps",
    ),
    **said(
        "tensors are lazy, and compile by themselves; `tx.jit(f)` keeps the program of a function",
        "compile",
        "optimize",
        "script",
    ),
    **said(
        'an operator is made of equations: `tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")`',
        "placeholder",
        "compute",
        "te",
        "Func",
        "Var",
        "RDom",
        "Tensors",
        "tir",
        "IterVar",
        "reduce_axis",
    ),
    **meant("tx.schedule(f)", "create_schedule", "sch", "Stage"),
    **said("`tx.schedule(f).auto().compile()` makes a kernel", "lower", "build"),
    **said("`with tx.no_grad():` records nothing", "inference_mode", "stop_gradient"),
    **meant("tx.vmap", "pmap", "xmap"),
    **said(
        "`tx.grad(f)` is the gradient of an operator; `x.backward()` that of a loss",
        "value_and_grad",
        "GradientTape",
    ),
    **said(
        "operators derive their gradients, `tx.register_vjp(name, f)` is a rule of one's own, and "
        "`x + (g(x) - x).detach()` has the value of g and the gradient of x",
        "autograd",
    ),
    **said(
        "`tx.jvp(f)` and `tx.vjp(f)` multiply with Jacobians",
        "jacobian",
        "jacrev",
        "jacfwd",
        "hessian",
        "linearize",
    ),
    **meant("ops.concat(...)", "concatenate", "hstack", "vstack"),
    **said("write `x + x`, or use `ops.add(...)`", "subtract", "multiply", "divide"),
    **said(
        'dtypes have names, as text or as `tx.float32`: `tx.tensor(data, dtype="f32")`',
        "dtype",
        "float",
        "double",
        "half",
        "long",
        "int",
    ),
    **said("import it by itself: import numpy as np", "numpy", "np"),
    **said(
        "`nn.save(m, path)` saves weights, `tx.onnx.save(m, path)` a model, `k.save(path)` a kernel",
        "save",
        "export",
    ),
    **said("layers are in `texpr.nn`", "Module", "Linear", "Sequential", "Parameter"),
    **said(
        "functions of tensors are the operators of `texpr.ops`",
        "functional",
        "F",
        "linalg",
        "fft",
        "special",
        "lax",
    ),
    **said("it is a part of `texpr.nn`", "optim", "utils", "init"),
    **said("`with tx.options(threads=4):` says how many threads", "set_num_threads"),
    **meant("x.realize()", "block_until_ready"),
    **meant("tx.from_dlpack(...)", "from_torch"),
}
"""Of the package."""

NETWORKS = {
    **meant("nn.Linear(3, 4)", "Dense"),
    **said("activations are modules: `nn.ReLU()`", "Activation"),
    **said("shapes follow from the first call; `m.summary((1, 64))` shows them", "Input"),
    **meant("nn.Module", "Model"),
    **meant("nn.MultiheadAttention", "MultiHeadAttention"),
    **meant("nn.SiLU()", "Swish"),
    **meant("nn.Hardtanh()", "Clip"),
    **said("did you mean `nn.BatchNorm1d`, `nn.BatchNorm2d` or `nn.BatchNorm3d`?", "BatchNormalization"),
    **meant("nn.LayerNorm", "LayerNormalization", "NormLayer"),
    **meant("nn.GroupNorm", "GroupNormalization"),
    **meant("nn.AdaptiveAvgPool2d(1)", "GlobalAveragePooling2D", "GlobalAvgPool2d"),
    **said("data are in `nn.data`", "DataLoader", "TensorDataset", "Dataset"),
    **said("optimizers are in `nn.optim`", "Adam", "SGD", "AdamW", "RMSprop", "Optimizer"),
    **said("tensors are made by `tx.tensor(...)`", "Tensor"),
    **meant("nn.Parameter", "Variable"),
    **said(
        "`texpr.ops` has functions, `nn` modules: `nn.ReLU()`",
        "relu",
        "gelu",
        "softmax",
        "sigmoid",
        "tanh",
        "silu",
    ),
    **said("did you mean `nn.Conv1d`, `nn.Conv2d` or `nn.Conv3d`?", "Conv"),
    **said(
        "did you mean `nn.BCELoss` or `nn.BCEWithLogitsLoss`?",
        "BinaryCrossentropy",
        "BCE",
        "BinaryCrossEntropy",
    ),
    **meant("nn.L1Loss", "MAE", "MAELoss", "MeanAbsoluteError"),
    **meant("nn.MSELoss", "MeanSquaredError", "L2Loss"),
    **meant("nn.SmoothL1Loss", "SmoothL1"),
    **meant("nn.CrossEntropyLoss", "CategoricalCrossentropy"),
    **meant("nn.Upsample", "UpSampling2D"),
}
"""Of layers."""

TENSOR = {
    **said('`x.to("cuda")` moves it', "cuda"),
    **meant("x.device", "is_cuda", "get_device", "devices"),
    **meant("x.reshape(...)", "resize"),
    **meant("x.ndim", "rank"),
    **said(
        "every tensor is a value of its own",
        "is_contiguous",
        "strides",
        "stride",
        "storage",
        "data_ptr",
        "untyped_storage",
    ),
    **meant('x.astype("f32")', "type", "cast", "view_dtype"),
    **said("`nn.functional.pad(x, (left, right))` adds elements", "pad"),
    **said("`tx.stack([x, y])` and `tx.cat([x, y])` take a list", "stack", "concat"),
    **said('`tx.einsum("ij,jk->ik", x, y)` is a function', "einsum"),
    **said("`x[mask]` has the elements where a mask is true", "masked_select"),
    **said("write `x.mean(...)` and `x.std(...)`, or `x.var(...)`", "std_mean", "var_mean"),
    **meant('x.astype("u8")', "byte"),
    **meant('x.astype("i8")', "char"),
    **said("every tensor is a value of its own; `x + 0` computes another", "copy"),
    **said(
        "`x[places] = v` assigns", "set", "put", "at", "index_put_", "scatter_", "scatter_add_", "index_fill_"
    ),
    **meant("x.fill_(...)", "fill"),
    **meant("nn.init.normal_(p)", "normal_"),
    **meant("nn.init.uniform_(p)", "uniform_"),
    **said("write `x - y`", "subtract"),
    **said("write `x * y`", "multiply"),
    **said("write `x / y`", "divide"),
    **said("write `x & y`", "logical_and"),
    **said("write `x | y`", "logical_or"),
    **said("write `-x`", "negative"),
    **said("write `~x`", "logical_not"),
    **meant("ops.concat(...)", "cat"),
    **said("`np.argwhere(x)` gives rows of places, `np.nonzero(x)` an array for each axis", "nonzero"),
    **said("`np.bincount(x)` counts", "bincount", "histc"),
    **said("`np.cov(x)` and `np.corrcoef(x)` are operators", "cov", "corrcoef"),
    **said("write `bias + x @ y`", "addmm", "addmv", "baddbmm", "addbmm"),
    **said("write `x.amax() - x.amin()`", "ptp"),
    **said(
        "`tx.zeros`, `tx.ones` and `tx.full` make tensors", "new_zeros", "new_ones", "new_full", "new_empty"
    ),
    **meant("x.numpy()", "asnumpy", "as_numpy", "array", "device_buffer"),
    **meant("x.detach()", "data"),
    **said("the graph is not shown; `x.requires_grad` and `x.is_leaf` are", "grad_fn"),
    **said("only leaves keep `x.grad`: `x = x.detach().requires_grad_()` begins anew", "retain_grad"),
    **meant("x.realize()", "block_until_ready", "wait", "eval", "compute"),
    **said("hooks are of modules: `m.register_forward_hook(hook)`", "register_hook"),
}
"""Of tensors."""

LAYER = {
    **said('`m.to("cuda")` moves it', "cuda"),
    **said(
        "`nn.Trainer(m, loss=..., optimizer=...)` trains: `nn.Trainer.fit`, `nn.Trainer.evaluate`, "
        "`nn.Trainer.predict`",
        "fit",
        "compile",
        "evaluate",
        "predict",
        "train_on_batch",
    ),
    **meant("nn.save(m, path)", "save", "save_weights", "save_pretrained"),
    **meant("nn.load(m, path)", "load", "load_weights", "from_pretrained"),
    **said("did you mean `m.half()`, `m.bfloat16()` or `m.double()`?", "type", "bfloat", "float16"),
    **meant("m.requires_grad_(False)", "freeze", "trainable"),
    **said(
        "did you mean `m.parameters()` or `m.named_parameters()`?",
        "weights",
        "trainable_variables",
        "variables",
        "params",
        "get_weights",
        "init",
        "named_params",
    ),
    **meant("m.summary()", "count_params"),
    **meant("tx.onnx.save(m, path)", "export"),
    **meant("m.register_forward_hook(hook)", "register_full_backward_hook"),
    **meant("m.named_parameters()", "named_weights"),
    **said("the loss has gradients: `x.backward()`", "backward"),
}
"""Of modules."""

SCHEDULE = {
    **meant("s.parallel(loop)", "parallelize"),
    **meant('s.bind(loop, "block.x")', "gpu_blocks"),
    **meant('s.bind(loop, "thread.x")', "gpu_threads"),
    **said('did you mean `s.tile("i", "j", sizes=(8, 8))` and `s.bind(...)`?', "gpu_tile"),
    **said(
        "every tensor is computed at the root until `s.compute_at(tensor, loop)` moves it",
        "compute_root",
        "store_root",
    ),
    **meant("s.inline(tensor)", "compute_inline", "inline_into"),
    **meant("s.fold_storage(tensor, dim)", "store_at"),
    **said(
        "did you mean `s.cache_read(tensor, loop)` or `s.cache_write(tensor, loop)`?", "cache", "cache_block"
    ),
    **said("loops are named as they are: `s.loops` lists them", "blockize", "decompose_reduction", "block"),
    **meant("s.loops", "get_loops", "get_block", "loop", "vars", "leaf_iter_vars", "op", "axis"),
    **meant('s.set_scope(tensor, "stack")', "storage_scope", "store_in"),
    **meant("s.kernel", "bound", "mod"),
    **said(
        "did you mean `s.layout(...)` or `s.pad(...)`?",
        "transform_layout",
        "reorder_storage",
        "align_storage",
        "storage_align",
    ),
    **meant("s.annotate(loop)", "pragma"),
    **meant("s.pipeline(tensor)", "double_buffer", "software_pipeline"),
    **meant("print(s)", "show"),
    **meant("s.compile()", "build", "lower", "realize", "run"),
    **meant("s.reorder(...)", "interchange"),
    **meant("s.split(loop, 8)", "strip_mine"),
    **meant("s.vectorize(loop)", "simd"),
    **meant("s.prefetch(tensor, loop, 8)", "prefetch_read"),
    **meant("s.fission(loop)", "distribute"),
    **meant("s.partition(loop)", "loop_partition"),
    **meant("s.merge(first, second)", "loop_fusion"),
}
"""Of schedules."""

OPERATOR = {
    **said("`tx.schedule(f).auto().compile()` makes a kernel", "compile", "kernel", "build"),
    **meant("tx.schedule(f)", "schedule"),
    **meant("tx.grad(f)", "grad", "backward"),
    **meant("tx.vjp(f)", "vjp"),
    **meant("tx.jvp(f)", "jvp"),
    **meant("tx.interpret(f)", "interpret"),
    **meant("f.__name__", "name"),
    **said("operators compile by themselves, when they are called", "jit"),
}
"""Of operators."""

FUNCTION = {
    **{
        name: f"did you mean `tx.{name}(...)`?"
        for name in ("zeros", "ones", "empty", "zeros_like", "ones_like")
    },
    **meant("ops.batched_matmul", "bmm", "batch_matmul"),
    **meant("ops.matmul", "mm"),
    **meant("ops.concat", "cat", "concatenate", "hstack", "vstack"),
    **meant("ops.attention", "scaled_dot_product_attention", "sdpa", "flash_attention"),
    **meant("ops.select", "where"),
    **meant("ops.reduce_mean", "mean"),
    **meant("ops.reduce_sum", "sum"),
    **meant("ops.reduce_max", "max"),
    **meant("ops.reduce_min", "min"),
    **meant("ops.reduce_prod", "prod"),
    **meant("ops.reduce_std", "std"),
    **meant("ops.reduce_var", "var"),
    **meant("ops.reduce_argmax", "argmax"),
    **meant("ops.reduce_argmin", "argmin"),
    **meant("ops.reduce_any", "any"),
    **meant("ops.reduce_all", "all"),
    **meant("ops.divide", "div"),
    **meant("ops.subtract", "sub"),
    **meant("ops.multiply", "mul"),
    **meant("ops.negative", "neg"),
    **said("did you mean `ops.swap_axes` or `ops.transpose`?", "permute"),
    **meant("x.reshape(...)", "reshape", "view"),
    **said("it is a method, whose result has no fixed shape: `x.unique()`", "unique"),
    **meant("ops.clip", "clamp"),
    **meant("ops.norm2", "norm"),
    **meant("ops.bce_loss", "binary_cross_entropy"),
    **meant("ops.bce_with_logits", "binary_cross_entropy_with_logits"),
    **said("did you mean `nn.MSELoss` or `ops.squared_error`?", "mse_loss"),
    **meant("ops.cross_entropy", "softmax_cross_entropy"),
    **meant("nn.Upsample", "interpolate"),
}
"""Of the library of operators."""

_ARGUMENTS = {
    "dim": ("axis",),
    "dims": ("axis",),
    "axes": ("axis",),
    "keepdim": ("keepdims",),
    "keep_dims": ("keepdims",),
    "axis": ("dim",),
    "learning_rate": ("lr",),
    "eta": ("lr",),
    "use_bias": ("bias",),
    "epsilon": ("eps",),
    "rate": ("p",),
    "drop": ("p",),
    "prob": ("p",),
    "kernel": ("kernel_size",),
    "filter_size": ("kernel_size",),
    "strides": ("stride",),
    "pad": ("padding",),
    "pads": ("padding",),
    "dilations": ("dilation",),
    "filters": ("out_channels",),
    "units": ("out_features",),
    "layers": ("num_layers",),
    "heads": ("num_heads",),
    "beta": ("betas", "beta"),
    "beta_1": ("betas",),
    "beta1": ("betas",),
    "label_smooth": ("label_smoothing",),
    "decay": ("weight_decay",),
    "l2": ("weight_decay",),
    "batchsize": ("batch_size",),
    "batch": ("batch_size",),
    "epoch": ("epochs",),
    "criterion": ("loss",),
    "vocab_size": ("num_embeddings",),
    "dim_model": ("d_model",),
    "tails": ("tail",),
    "factor": ("factor",),
    "type": ("dtype",),
    "argnums": ("wrt",),
    "step": ("step_size",),
    "input_dim": ("in_features", "num_embeddings"),
    "output_dim": ("out_features", "embedding_dim"),
    "input": ("X",),
    "x": ("X",),
    "other": ("B",),
    "mask": ("mask", "attn_mask"),
    "requires_grads": ("requires_grad",),
}


def argument(name: str, known: frozenset[str]) -> dict[str, str]:
    """Suggest this function's name for an argument of another library, where the function has that."""
    found = next((k for k in _ARGUMENTS.get(name, ()) if k in known), None)
    return {name: f"did you mean `{found}`?"} if found else {}
