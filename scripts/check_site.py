"""Checks every link of a built site that stays inside of it: the file is there, and so is the place in it.

    python scripts/check_site.py target/site

Pages of rustdoc (in rust/) are targets of links; what they link to is rustdoc's own business.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places of a page, and the addresses it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.places |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links |= {found[name] for name in ("href", "src") if found.get(name)}


def check(site: Path) -> tuple[int, list[str]]:
    """How many links there are, and those that lead nowhere."""
    site = site.resolve()
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in site.rglob("*.html") if "rust" not in p.relative_to(site).parts[:1]}
    count, broken = 0, []
    for path, page in pages.items():
        if path.name == "404.html":  # its addresses begin at the root of wherever the site will be
            continue
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            place = unquote(parts.fragment)
            if not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}: there is no such file")
            elif place and target in pages and place not in pages[target].places | {"__skip", "top"}:
                broken.append(f"{path.relative_to(site)}: {link}: there is no such place")
    return count, broken


if __name__ == "__main__":
    found, wrong = check(Path(sys.argv[1]))
    print("\n".join(wrong))
    print(f"{found} links, {len(wrong)} broken")
    sys.exit(1 if wrong or not found else 0)
