"""What every estimator has: parameters, a name, and the protocols by which scikit-learn knows it, without importing scikit-learn."""

from __future__ import annotations

import inspect
import json
from typing import Any, ClassVar, TypeVar

from ._compat import not_fitted

_E = TypeVar("_E", bound="Estimator")


class Estimator:
    """Parameters are the arguments of the constructor, kept under their names and looked at when fitting."""

    _type: ClassVar[str] = ""
    _multi_output: ClassVar[bool] = False
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
            classifier_tags=ClassifierTags() if classifier else None,
            regressor_tags=None if classifier else RegressorTags(),
            input_tags=InputTags(sparse=False, allow_nan=False),
        )

    def _fitted(self) -> Any:
        """Return the fitted core."""
        if not hasattr(self, "_head"):
            raise not_fitted(self)
        return self._head


def to_json(value: Any) -> str:
    """Return JSON, numbers and arrays of numpy included."""

    def plain(other: Any) -> Any:
        if hasattr(other, "tolist"):
            return other.tolist()
        raise TypeError(f"{other!r} is no setting: settings are numbers, texts, lists and dicts")

    return json.dumps(value, default=plain)


def seed_of(random_state: Any) -> int:
    """Return the seed that a random_state stands for; None is the command's default, so that results can always be repeated."""
    if random_state is None:
        return 1
    if hasattr(random_state, "randint"):
        return int(random_state.randint(0, 2**31 - 1))
    if hasattr(random_state, "integers"):
        return int(random_state.integers(0, 2**63 - 1))
    seed = int(random_state)
    if seed < 0:
        raise ValueError(f"random_state is {seed}; it must not be negative")
    return seed
