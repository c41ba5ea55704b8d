"""Makes the notebooks of docs/notebooks from their scripts and runs them: cells of code, with what they print and draw.

    python scripts/notebooks.py            # writes docs/notebooks/*.ipynb
    python scripts/notebooks.py --check    # runs them, writes nothing, and fails where a notebook is not that of its script

Needs nbclient, ipykernel, matplotlib, scikit-learn, pandas, mapie and the package stonet in the same environment.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+")


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a script: what kind each is, and its text."""
    found = []
    for block in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        markdown = head.strip() == "[markdown]"
        body = re.sub(r"^# ?", "", body, flags=re.MULTILINE) if markdown else body
        found.append(("markdown" if markdown else "code", body.strip()))
    return found


def executed(script: Path) -> dict:
    """The notebook of a script after a run in a folder of its own."""
    import nbformat
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    made = []
    for i, (kind, text) in enumerate(cells(script.read_text(encoding="utf-8"))):
        make = new_markdown_cell if kind == "markdown" else new_code_cell
        made.append(make(text, id=f"cell-{i}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=made, metadata={"kernelspec": kernel})
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        # What other versions print otherwise, such as the address of an object.
        cell.pop("execution_count", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            # Warnings of other packages name files of this machine.
            stays = [o for o in cell.outputs if o.output_type != "execute_result" and o.get("name") != "stderr"]
            cell.outputs = stays
    nbformat.validate(notebook)
    return notebook


def printed(notebook: dict) -> list[str]:
    """What each cell of a notebook prints; a kernel may send it in one piece or in several."""
    found = []
    for cell in notebook["cells"]:
        streams = [o for o in cell.get("outputs", []) if o["output_type"] == "stream" and o["name"] == "stdout"]
        found.append("".join("".join(o["text"]) for o in streams))
    return found


def same(found: dict, kept: dict, name: str) -> None:
    """Fail unless two notebooks have the same cells, print the same words, and numbers that are about the same."""
    sources = [[(c["cell_type"], "".join(c["source"])) for c in notebook["cells"]] for notebook in (found, kept)]
    if sources[0] != sources[1]:
        sys.exit(f"{name}.ipynb is not that of {name}.py: run python scripts/notebooks.py")
    for a, b in zip(printed(found), printed(kept), strict=True):
        if NUMBER.sub("#", a).split() != NUMBER.sub("#", b).split():
            sys.exit(f"{name}.ipynb prints other words:\n{a}\nkept:\n{b}")
        for x, y in zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)), strict=True):
            if abs(x - y) > 0.05 + 0.2 * abs(y):
                sys.exit(f"{name}.ipynb prints {x} for {y}:\n{a}")


def main() -> None:
    """Make or check all notebooks."""
    for script in sorted(FOLDER.glob("*.py")):
        notebook, path = executed(script), script.with_suffix(".ipynb")
        if "--check" in sys.argv[1:]:
            same(notebook, json.loads(path.read_text(encoding="utf-8")), script.stem)
        else:
            import nbformat

            path.write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")
        print(f"{script.stem}: {len(notebook.cells)} cells")


if __name__ == "__main__":
    main()
