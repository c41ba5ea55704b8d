"""What every estimator has: parameters, a name, and the protocols by which scikit-learn knows it, without importing scikit-learn."""

from __future__ import annotations

import html
import inspect
import json
import math
from typing import Any, ClassVar, TypeVar

from . import _arguments as arguments
from ._compat import not_fitted
from ._routing import Routed

_E = TypeVar("_E", bound="Estimator")


class Estimator(Routed):
    """Parameters are the arguments of the constructor, kept under their names and looked at when fitting."""

    _type: ClassVar[str] = ""
    _multi_output: ClassVar[bool] = False
    # Whether predictions are only as good as the columns of X already are.
    _own_score: ClassVar[bool] = False
    _head: Any

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        return {n: p for n, p in inspect.signature(cls.__init__).parameters.items() if n != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Of no effect: there are no estimators inside.

        Returns
        -------
        dict
            Names and values.
        """
        return {name: getattr(self, name) for name in sorted(self._parameters())}

    def set_params(self: _E, **params: Any) -> _E:
        """Change parameters.

        Parameters
        ----------
        **params
            Names and values.

        Returns
        -------
        Estimator
            Itself.
        """
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {sorted(known)!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = []
        for name, parameter in self._parameters().items():
            value = getattr(self, name)
            if repr(value) != repr(parameter.default):
                changed.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        return page(type(self).__name__, self.get_params(), "fitted" if hasattr(self, "_head") else "not fitted")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_head")

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn asks for these.
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        classifier = self._type == "classifier"
        return Tags(
            estimator_type=self._type,
            target_tags=TargetTags(required=True, multi_output=self._multi_output),
            transformer_tags=None,
            classifier_tags=ClassifierTags(poor_score=self._own_score) if classifier else None,
            regressor_tags=None if classifier else RegressorTags(poor_score=self._own_score),
            input_tags=InputTags(sparse=False, allow_nan=False),
        )

    def _fitted(self) -> Any:
        """Return the fitted core."""
        if not hasattr(self, "_head"):
            raise not_fitted(self)
        return self._head


def page(name: str, params: dict[str, Any], state: str) -> str:
    """Return a small piece of HTML for notebooks: the name, the state, and the parameters that fold out."""
    rows = "".join(
        f"<tr><td style='text-align:left'>{html.escape(n)}</td><td style='text-align:left'><code>{html.escape(_short(v))}</code></td></tr>"
        for n, v in params.items()
    )
    return (
        f"<details><summary><b>{html.escape(name)}</b> <span style='opacity:.6'>{html.escape(state)}</span></summary>"
        f"<table>{rows}</table></details>"
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def to_json(value: Any, name: str = "settings") -> str:
    """Return JSON, numbers and arrays of numpy included; what JSON cannot hold is an error that names its place."""
    return json.dumps(_plain(value, name))


def _plain(value: Any, place: str) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v, f"{place}[{k!r}]") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, f"{place}[{i}]") for i, v in enumerate(value)]
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), place)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place} is {value}; it must be a finite number")
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{place} is {value!r}; settings are numbers, texts, lists and dicts")


def seed_of(random_state: Any) -> int:
    """Return the seed that a random_state stands for; None is the command's default, so that results can always be repeated."""
    if random_state is None:
        return 1
    if hasattr(random_state, "randint"):
        return int(random_state.randint(0, 2**31 - 1))
    if hasattr(random_state, "integers"):
        return int(random_state.integers(0, 2**63 - 1))
    return arguments.whole("random_state", random_state, 0)
