"""Rules of answers as the text of their files, which is how they cross into Rust."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any


def rule_text(rule: Any) -> str | None:
    """Return the text of a `Rule` or of its file; None for None."""
    if rule is None:
        return None
    if isinstance(rule, str | PathLike):
        return Path(rule).read_text(encoding="utf-8")
    text = getattr(rule, "_text", None)
    if isinstance(text, str):
        return text
    raise TypeError(f"rule is a {type(rule).__name__}; give a Rule or the path of its file")
