"""Estimators of scikit-learn that train a network.

The base classes are scikit-learn's, so this module is imported when an estimator is first named.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.lazy.random_numbers import seeded
from texpr.nn.core.module import Module
from texpr.nn.losses import BCEWithLogitsLoss, CrossEntropyLoss, Loss, MSELoss, NLLLoss
from texpr.nn.modules.containers import Sequential
from texpr.nn.modules.linear import Linear
from texpr.nn.modules.rectifiers import ReLU
from texpr.nn.optim import Adam, Optimizer
from texpr.nn.training.trainer import Trainer
from texpr.support.errors import CallError
from texpr.support.extras import needs

with needs("sklearn", "nn.sklearn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

Builder = Callable[..., Module]
MakeOptimizer = Callable[..., Optimizer]
_SEEDS = 2**31 - 1


def perceptron(inputs: int, outputs: int, hidden: Sequence[int] = (64,)) -> Module:
    """The network of an estimator without a module: linear layers with ReLU between them.

    Args:
        inputs, outputs: features of an example, and numbers of its result.
        hidden: features in between.
    """
    sizes = [inputs, *hidden]
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (Linear(a, b), ReLU())]
    return Sequential(*layers, Linear(sizes[-1], outputs))


class _Estimator(BaseEstimator):
    """Parameters, training and predictions of both estimators."""

    def __init__(
        self,
        module: Module | Builder | None = None,
        *,
        module_args: Mapping[str, object] | None = None,
        loss: Loss | None = None,
        optimizer: MakeOptimizer | None = None,
        lr: float = 0.01,
        epochs: int = 50,
        batch_size: int = 32,
        callbacks: Sequence[Any] = (),
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.module, self.module_args, self.loss, self.optimizer = module, module_args, loss, optimizer
        self.lr, self.epochs, self.batch_size, self.callbacks = lr, epochs, batch_size, callbacks
        self.random_state, self.verbose = random_state, verbose

    def _train(
        self, x: Any, y: np.ndarray, outputs: int, loss: Loss, sample_weight: np.ndarray | None
    ) -> None:
        """Train a new network, or a copy of the one that was given."""
        seeds = check_random_state(self.random_state).randint(_SEEDS, size=2)
        with seeded(int(seeds[0])):
            self.module_ = self._built(x.shape[1], outputs)
        make = Adam if self.optimizer is None else self.optimizer
        optimizer = make(self.module_.parameters(), lr=self.lr)
        self.trainer_ = Trainer(self.module_, loss, optimizer, seed=int(seeds[1]))
        self.history_ = self.trainer_.fit(
            x,
            y,
            epochs=self.epochs,
            batch_size=self.batch_size,
            progress=self.verbose,
            callbacks=self.callbacks,
            sample_weight=sample_weight,
        )

    def _built(self, inputs: int, outputs: int) -> Module:
        module, options = self.module, dict(self.module_args or {})
        if isinstance(module, Module):
            if options:
                raise CallError(
                    "module_args are for a builder, and `module` is a module",
                    code="arguments",
                    help="give module=lambda inputs, outputs, ...: nn.Sequential(...)",
                )
            return copy.deepcopy(module)
        builder: Builder = perceptron if module is None else module
        try:
            inspect.signature(builder).bind(inputs, outputs, **options)
        except TypeError as error:
            raise CallError(
                f"the builder of the network does not take the numbers of features and outputs: {error}",
                code="arguments",
                help="module=lambda features, outputs: nn.Sequential(...), or give a module",
            ) from None
        built = builder(inputs, outputs, **options)
        if not isinstance(built, Module):
            raise CallError(
                f"`module` gave a {type(built).__name__}, expected a module",
                code="arguments",
                help="a builder takes the numbers of features and of outputs, and gives a module",
            )
        return built

    def _predicted(self, X: Any) -> np.ndarray:
        """The outputs of the network, in evaluation mode."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float32, allow_nd=True, reset=False)
        return self.trainer_.predict(x)


class Classifier(ClassifierMixin, _Estimator):
    """A network that classifies, as an estimator of scikit-learn: for pipelines, cross-validation and
    searches of parameters.

    Args:
        module: a module, which every `fit` copies, first values included; or a builder
            `f(features, classes, **module_args)`, such as a function that gives an `nn.Sequential`;
            else linear layers with ReLU between them, `hidden` in `module_args` (64,).
        module_args: further arguments of the builder.
        loss: of outputs and labels from 0 on; `CrossEntropyLoss()` unless given.
            `BCEWithLogitsLoss()` is for two classes and one output.
        optimizer: `f(parameters, lr=lr)`, such as `nn.optim.SGD`; `nn.optim.Adam` unless given.
        lr, epochs, batch_size, callbacks: of the optimizer, and of `nn.Trainer.fit`.
        random_state: of initial values and of the order of examples, as scikit-learn takes it.
        verbose: show a line per epoch.
    Attributes:
        classes_: the labels, ordered.
        module_: the network that was trained.
        history_: means over each epoch.
        trainer_: what has trained it.
        n_features_in_, feature_names_in_: of the data, as scikit-learn has them.
    Raises:
        CallError: when fitted, if the module and the data do not fit.
    Example:
        >>> x = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
        >>> y = np.where(x.sum(axis=1) > 0, "above", "below")
        >>> model = nn.sklearn.Classifier(epochs=20, random_state=0).fit(x, y)
        >>> bool(model.score(x, y) > 0.9), model.classes_.tolist()
        (True, ['above', 'below'])
        >>> model.predict_proba(x).shape
        (60, 2)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        """Train.

        Args:
            X: examples along axis 0; more axes than 2 are the module's matter.
            y: labels of any kind that can be ordered.
            sample_weight: how much each example counts.
        Raises:
            ValueError: data that scikit-learn refuses.
        """
        x, y = validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float32)
        loss = CrossEntropyLoss() if self.loss is None else self.loss
        outputs, targets = len(self.classes_), labels.astype(np.int64)
        if isinstance(loss, BCEWithLogitsLoss):
            self._refuse_many(loss)
            outputs, targets = 1, labels[:, None].astype(np.float32)
        self._train(x, targets, outputs, loss, weights)
        return self

    def _refuse_many(self, loss: Loss) -> None:
        if len(self.classes_) > 2:
            raise CallError(
                f"{loss!r} is for two classes; y has {len(self.classes_)}",
                code="arguments",
                help="loss=nn.CrossEntropyLoss()",
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """The outputs of the network: one per class; of two classes one number, which is above 0 for
        the second one.
        """
        found = self._predicted(X)
        if found.shape[1] == 1:
            return found[:, 0]
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 and len(self.classes_) <= 2 else found

    def predict(self, X: Any) -> np.ndarray:
        """The label of the class with the largest output."""
        found = self._predicted(X)
        one = found.shape[1] == 1
        chosen = (found[:, 0] > 0).astype(np.int64) if one else found.argmax(axis=1)
        return self.classes_[np.minimum(chosen, len(self.classes_) - 1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class.

        Raises:
            CallError: the loss is none whose outputs are known to mean probabilities.
        """
        found = self._predicted(X)
        match self.trainer_.loss:
            case CrossEntropyLoss():
                return ops.softmax(found)  # type: ignore[return-value]
            case NLLLoss():
                return np.exp(found)
            case BCEWithLogitsLoss():
                second = np.asarray(ops.sigmoid(found))
                return np.concatenate([1 - second, second], axis=1)[:, : len(self.classes_)]
            case loss:
                raise CallError(
                    f"outputs that {loss!r} has trained mean no probabilities",
                    code="arguments",
                    help="decision_function gives the outputs; CrossEntropyLoss, NLLLoss and "
                    "BCEWithLogitsLoss train probabilities",
                )


class Regressor(RegressorMixin, _Estimator):
    """A network that predicts numbers, as an estimator of scikit-learn.

    Args:
        module, module_args, optimizer, lr, epochs, batch_size, callbacks, random_state, verbose: as
            of `Classifier`; a builder is `f(features, numbers, **module_args)`.
        loss: of outputs and targets of the shape (examples, numbers); `MSELoss()` unless given.
    Attributes:
        module_, history_, trainer_, n_features_in_, feature_names_in_: as of `Classifier`.
    Raises:
        CallError: when fitted, if the module and the data do not fit.
    Example:
        >>> x = np.linspace(-1, 1, 50, dtype=np.float32)[:, None]
        >>> model = nn.sklearn.Regressor(epochs=100, random_state=0).fit(x, x[:, 0] ** 2)
        >>> bool(model.score(x, x[:, 0] ** 2) > 0.9)
        True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Train.

        Args:
            X: examples along axis 0; more axes than 2 are the module's matter.
            y: a number, or several, of each example.
            sample_weight: how much each example counts.
        Raises:
            ValueError: data that scikit-learn refuses.
        """
        x, y = validate_data(self, X, y, dtype=np.float32, allow_nd=True, multi_output=True, y_numeric=True)
        self._one_number = y.ndim == 1
        targets = y.astype(np.float32).reshape(len(y), -1)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, x, dtype=np.float32)
        loss = MSELoss() if self.loss is None else self.loss
        self._train(x, targets, targets.shape[1], loss, weights)
        return self

    def __sklearn_tags__(self) -> Any:
        """The tags of scikit-learn: targets may be several numbers."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """The numbers of each example, in the shape of the targets of `fit` and in f64, as other
        regressors of scikit-learn give them; they were computed in f32.
        """
        found = self._predicted(X).astype(np.float64)
        return found[:, 0] if self._one_number else found
