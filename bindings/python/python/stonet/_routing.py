"""Metadata routing of scikit-learn by its protocol: which arguments beside X and y a pipeline or a search passes on."""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias, TypeVar

_R = TypeVar("_R", bound="Routed")

# True, False, None, or another name under which it is passed; texts mark what is not to be changed.
Request: TypeAlias = bool | str | None
UNCHANGED = "$UNCHANGED$"
METHODS = ("fit", "predict", "predict_proba", "score")


class Requests(dict[str, dict[str, Request]]):
    """Requests by method and argument, which clones of an estimator keep."""

    def __sklearn_clone__(self) -> Requests:
        return Requests({method: dict(asked) for method, asked in self.items()})


class Routed:
    """What scikit-learn asks of an estimator before it passes arguments on, without its base class."""

    def get_metadata_routing(self) -> Any:
        """Return the arguments that are asked for; scikit-learn calls this.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            Arguments beside X and y of ``fit``, ``predict``, ``predict_proba`` and ``score``.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        routing = MetadataRequest(owner=type(self).__name__)
        asked = self._requests()
        for method in METHODS:
            for name in _routable(type(self), method):
                getattr(routing, method).add_request(param=name, alias=asked.get(method, {}).get(name))
        return routing

    def _requests(self) -> Requests:
        # The name under which clones of scikit-learn take them along.
        kept: Requests | None = getattr(self, "_metadata_request", None)
        return Requests() if kept is None else kept

    def _ask(self: _R, method: str, **asked: Request) -> _R:
        """Keep requests of one method."""
        from sklearn import get_config

        if not get_config().get("enable_metadata_routing"):
            raise RuntimeError(
                f"set_{method}_request is only available when metadata routing is enabled; "
                "call sklearn.set_config(enable_metadata_routing=True) first"
            )
        # Names of clones that share it must not change.
        kept = self._requests().__sklearn_clone__()
        for name, value in asked.items():
            if value != UNCHANGED:
                kept.setdefault(method, {})[name] = value
        self._metadata_request = kept
        return self


def _routable(owner: type, method: str) -> list[str]:
    """Return the names of the arguments of a method beside X and y."""
    function = getattr(owner, method, None)
    if function is None:
        return []
    named = inspect.signature(function).parameters.values()
    return [p.name for p in named if p.kind != p.VAR_KEYWORD and p.name not in ("self", "X", "y")]
