"""MLflow: heads as models of the flavour ``python_function``, with all that they predict in one frame.

>>> import stonet.mlflow                                        # doctest: +SKIP
>>> stonet.mlflow.save_model(head, "model", level=[0.8, 0.95])  # doctest: +SKIP
>>> mlflow.pyfunc.load_model("model").predict(frame)            # doctest: +SKIP

MLflow is imported when a function is called; ``mlflow-skinny`` is enough, beside pandas and pyarrow.
"""

from __future__ import annotations

import json
import tempfile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import __version__
from ._files import load as load_head
from ._rule_text import rule_text
from ._score import head_bytes, score

# What a request may ask for, as `stonet.score` calls it.
ASKED = ("level", "side", "joint", "quantiles", "below", "sets", "accuracy")


def _mlflow() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as e:
        raise ImportError("stonet.mlflow needs MLflow: pip install mlflow-skinny pandas pyarrow") from e
    return mlflow


def _flavour() -> Any:
    """Return an object that MLflow can load and call; its class needs MLflow to exist."""
    from mlflow.pyfunc import PythonModel

    class Head(PythonModel):  # type: ignore[misc]
        """A head, what is asked of it, and perhaps a rule and a network."""

        def load_context(self, context: Any) -> None:
            """Read the files of the model."""
            files = context.artifacts
            self.head = Path(files["head"]).read_bytes()
            self.asked = json.loads(Path(files["asked"]).read_text(encoding="utf-8"))
            self.rule = files.get("rule")
            self.network = files.get("network")

        def predict(self, context: Any, model_input: Any, params: Any = None) -> Any:
            """Return the columns of ``stonet predict`` for a frame with the head's columns."""
            import pandas

            rows = model_input if isinstance(model_input, pandas.DataFrame) else pandas.DataFrame(model_input)
            wanted = {**self.asked, **{k: v for k, v in (params or {}).items() if v is not None}}
            unknown = sorted(set(wanted) - set(ASKED))
            if unknown:
                raise ValueError(f"params has {', '.join(unknown)}; there are {', '.join(ASKED)}")
            found = score(rows, self.head, rule=self.rule, network=self.network, **wanted)
            answer = found if isinstance(found, pandas.DataFrame) else found.to_pandas()
            return answer.set_axis(rows.index, axis=0)

    return Head()


def _parts(head: Any, network: Any, rule: Any, asked: dict[str, Any], folder: Path) -> dict[str, str]:
    """Write the files of a model, and return where they are."""
    unknown = sorted(set(asked) - set(ASKED))
    if unknown:
        raise TypeError(
            f"there is no {', '.join(unknown)}; give {', '.join(ASKED)}, or an argument of MLflow in mlflow={{}}"
        )
    data, own = head_bytes(head)
    if own is not None and network is None:
        raise ValueError(
            "this head brings its network along, which MLflow cannot keep; give network= the path of an ONNX file"
        )
    files = {"head": folder / "head.stonet", "asked": folder / "asked.json"}
    files["head"].write_bytes(data.data)
    files["asked"].write_text(json.dumps(asked), encoding="utf-8")
    if rule is not None:
        files["rule"] = folder / "rule.json"
        files["rule"].write_text(rule_text(rule) or "", encoding="utf-8")
    found = {name: fspath(path) for name, path in files.items()}
    if network is not None:
        found["network"] = fspath(network)
    return found


def _arguments(settings: dict[str, Any] | None) -> dict[str, Any]:
    needed = [f"stonet=={__version__}", "pandas", "pyarrow"]
    return {"pip_requirements": needed, **(settings or {})}


def save_model(
    head: Any,
    path: str | PathLike[str],
    *,
    network: str | PathLike[str] | None = None,
    rule: Any = None,
    mlflow: dict[str, Any] | None = None,
    **asked: Any,
) -> None:
    """Write a head as an MLflow model.

    Parameters
    ----------
    head : estimator, path or bytes
        A fitted head or its ``.stonet`` file.
    path : path-like
        The folder of the model, which must not exist.
    network : path-like, optional
        An ONNX network in front of the head: rows then hold the network's own inputs.
    rule : Rule or path-like, optional
        A rule of answers: predictions then have a column ``decision``.
    mlflow : dict, optional
        Arguments of ``mlflow.pyfunc.save_model``, such as ``signature`` and ``input_example``.
    **asked
        ``level``, ``side``, ``joint``, ``quantiles``, ``below``, ``sets`` and ``accuracy``, as of `stonet.score`: what
        is predicted where ``params`` of a request says nothing else.
    """
    library = _mlflow()
    with tempfile.TemporaryDirectory() as folder:
        files = _parts(head, network, rule, asked, Path(folder))
        library.pyfunc.save_model(fspath(path), python_model=_flavour(), artifacts=files, **_arguments(mlflow))


def log_model(
    head: Any,
    name: str = "model",
    *,
    network: str | PathLike[str] | None = None,
    rule: Any = None,
    mlflow: dict[str, Any] | None = None,
    **asked: Any,
) -> Any:
    """Log a head as an MLflow model of the run that is active.

    Parameters
    ----------
    head, network, rule, **asked
        As for `save_model`.
    name : str
        Of the model within the run.
    mlflow : dict, optional
        Arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        What MLflow says of the model.
    """
    import inspect

    library = _mlflow()
    # MLflow 2 calls the name artifact_path.
    known = inspect.signature(library.pyfunc.log_model).parameters
    place = {"name": name} if "name" in known else {"artifact_path": name}
    with tempfile.TemporaryDirectory() as folder:
        files = _parts(head, network, rule, asked, Path(folder))
        return library.pyfunc.log_model(**place, python_model=_flavour(), artifacts=files, **_arguments(mlflow))


def load(uri: str | PathLike[str]) -> Any:
    """Return the estimator in an MLflow model of this module; ``mlflow.pyfunc.load_model`` gives its flavour instead.

    Parameters
    ----------
    uri : str or path-like
        Of the model: a folder, or ``runs:/…`` and ``models:/…``.

    Returns
    -------
    estimator
        As `stonet.load` returns it.
    """
    library = _mlflow()
    folder = Path(library.artifacts.download_artifacts(artifact_uri=fspath(uri)))
    place = folder / "artifacts" / "head.stonet"
    if not place.exists():
        raise ValueError(f"{fspath(uri)}: there is no head in this model; load it by mlflow.pyfunc.load_model")
    return load_head(place)
