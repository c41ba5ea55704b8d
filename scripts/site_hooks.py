"""Joins documents at the top of the repository to the site, and turns links of the repository into links of the site.

A document is written once, where readers of the repository look for it: README.md is the site's first page, and PAPER.md,
CHANGELOG.md, CONTRIBUTING.md and SECURITY.md are pages. Links to files that the site does not have lose their address and
keep their text.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

TOP = Path(__file__).resolve().parent.parent
# Documents of the repository and their names in the site.
JOINED = {
    "README.md": "index.md",
    "PAPER.md": "PAPER.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
# Pages without others in their tab: an empty column of navigation helps nobody.
ALONE = ("index.md", "start.md", "choose.md", "results/README.md")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ {0,3}(```|~~~)")


def on_files(files, config):
    """Add the documents that stand outside of docs/."""
    for source, name in JOINED.items():
        files.append(File(name, src_dir=None, dest_dir=config.site_dir, use_directory_urls=True))
        file = files.get_file_from_path(name)
        file.abs_src_path, file.src_dir = str(TOP / source), str(TOP)
        file.inclusion = file.inclusion.__class__.INCLUDED
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links of the repository into links of the site, outside of code."""
    name = page.file.src_uri
    if name in ALONE:
        page.meta["hide"] = ["navigation"]
    if name.startswith("howto/") and name != "howto/index.md":
        page.meta["hide"] = ["toc"]  # one heading; the room is for code
    place = {v: k for k, v in JOINED.items()}.get(name) or f"docs/{name}"
    lines, fenced = [], False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        lines.append(line if fenced else LINK.sub(lambda m: _moved(m, name, place, files), line))
    return "\n".join(lines)


def _moved(match, name, place, files):
    image, text, address = match.groups()
    if re.match(r"[a-z]+:|#", address) or address.startswith("/"):
        return match.group()
    path, _, anchor = address.partition("#")
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    if not (TOP / wanted).exists():
        return match.group()  # mkdocs says that there is no such file
    target = JOINED.get(wanted) or (wanted.removeprefix("docs/") if wanted.startswith("docs/") else None)
    if target and (TOP / wanted).is_dir():
        target = f"{target}/README.md"
    if target is None or files.get_file_from_path(target) is None:
        return text if not image else match.group()
    relative = posixpath.relpath(target, posixpath.dirname(name) or ".")
    return f"{image}[{text}]({relative}{'#' + anchor if anchor else ''})"
