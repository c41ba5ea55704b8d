"""The scripts of docs/howto print what their pages show: words exactly, numbers roughly."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "howto"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+")
MODULES = {"scikit-learn": "sklearn"}


def compared(found: str, wanted: str) -> None:
    """Words and whole numbers must be equal; fractions may differ as fits on other versions and processors do."""
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", wanted).split(), found
    for a, b in zip(map(float, NUMBER.findall(found)), map(float, NUMBER.findall(wanted)), strict=True):
        assert abs(a - b) <= 0.05 + 0.2 * abs(b), f"{a} for {b}: {found}"


def needs(script: Path) -> list[str]:
    first = script.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# needs: "), f"{script.name}: the first line names the packages"
    return [name.strip() for name in first.removeprefix("# needs: ").split(",")]


def is_here(name: str) -> bool:
    if name == "java":
        return shutil.which("java") is not None or "JAVA_HOME" in os.environ
    return importlib.util.find_spec(MODULES.get(name, name)) is not None


@pytest.mark.parametrize("name", sorted(p.stem for p in FOLDER.glob("*.py")))
def test_script(name: str, tmp_path: Path) -> None:
    script = FOLDER / f"{name}.py"
    absent = [n for n in needs(script) if not is_here(n)]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed: {script.name} was not run")
    ran = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    compared(ran.stdout, script.with_suffix(".txt").read_text(encoding="utf-8"))


def test_every_page_has_its_script_and_output() -> None:
    for page in FOLDER.glob("*.md"):
        if page.stem != "index":
            text = page.read_text(encoding="utf-8")
            assert f'howto/{page.stem}.py"' in text and f'howto/{page.stem}.txt"' in text, page.name
            assert (FOLDER / f"{page.stem}.py").exists() and (FOLDER / f"{page.stem}.txt").exists(), page.name


def test_other_numbers_are_found() -> None:
    compared("coverage 0.91\n", "coverage 0.90\n")
    for found in ("coverage 0.60\n", "length 0.90\n", "coverage 0.90 0.90\n"):
        with pytest.raises(AssertionError):
            compared(found, "coverage 0.90\n")
