"""Docstrings as Python shows them: examples are code, and what a decorator adds to a docstring is part of it."""

import ast
import re

import griffe


class Docstrings(griffe.Extension):
    """Reads `@_documented(…)` of baselines and calibration maps, and gives bare examples a heading."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Look at every module, class and function once it is read."""
        if obj.docstring is None:
            return
        text = obj.docstring.value
        for decorator in getattr(obj, "decorators", []):
            called = str(decorator.value)
            if called.startswith("_documented"):
                settings = ast.literal_eval(called.removeprefix("_documented") or "''")
                text = text.rstrip() + _constant(obj.module, "_PARAMETERS").replace("{settings}", settings)
        if ">>>" in text and not re.search(r"^\s*Examples\s*\n\s*-+\s*$", text, re.MULTILINE):
            text = _examples_last(text)
        obj.docstring.value = text


def _constant(module: griffe.Object, name: str) -> str:
    """The text of a constant, with the indentation of the source taken away."""
    value = ast.literal_eval(str(module.members[name].value))
    return re.sub(r"^    ", "", value, flags=re.MULTILINE)


def _examples_last(text: str) -> str:
    """The blocks that begin with >>> under a heading of their own, behind everything else."""
    blocks = re.split(r"\n\s*\n", text)
    examples = [b for b in blocks if b.lstrip().startswith(">>>")]
    others = [b for b in blocks if b not in examples]
    return "\n\n".join([*others, "Examples\n--------\n" + "\n\n".join(examples)])
