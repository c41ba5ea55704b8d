#!/usr/bin/env python3
"""Looks at every page of the built site in a browser, at the widths of a telephone and of a desk, light and dark.

    python scripts/look.py target/site [FOLDER]

Needs `pip install playwright` and a Chromium (CHROMIUM names it; /usr/bin/chromium otherwise). A page is wrong if it is wider than the
window, if a picture is missing, if a script fails, or if text and background have a contrast below 3. With FOLDER, pictures of the
pages are written there. The exit code is 1 if any page is wrong.
"""

import functools
import http.server
import os
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
# What the browser is asked: how far the page is too wide, which pictures are missing, and where text is hard to read.
ASK = """() => {
  const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.9) return c;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const e of document.querySelectorAll(".md-content p, .md-content li, .md-content td, .md-content th, .md-content h1, .md-content h2, .md-content code")) {
    if (!e.innerText || !e.innerText.trim() || !e.getClientRects().length) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 3) faint.push(`${e.tagName} "${e.innerText.trim().slice(0, 40)}" ${contrast.toFixed(1)}`);
  }
  return {
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    missing: [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.getAttribute("src")),
    faint: faint.slice(0, 3),
  };
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        pass


def main():
    site = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    # Pages of rustdoc are rustdoc's.
    pages = sorted(p.relative_to(site) for p in site.rglob("*.html") if p.relative_to(site).parts[0] != "rust")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wrong = []
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
        )
        for width in WIDTHS:
            for scheme in SCHEMES:
                context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                # The site alone: nothing else can be reached, and nothing else should be asked for.
                outside = []
                context.route(lambda url: "127.0.0.1" not in url, lambda route: (outside.append(route.request.url), route.abort()))
                view = context.new_page()
                errors = []
                view.on("pageerror", lambda e, errors=errors: errors.append(str(e)))
                for page in pages:
                    errors.clear()
                    outside.clear()
                    view.goto(f"http://127.0.0.1:{server.server_port}/{page}", wait_until="load")
                    found = view.evaluate(ASK)
                    where = f"{page} at {width}, {scheme}"
                    wrong += [f"{where}: {found['wide']} pixels too wide"] if found["wide"] > 0 else []
                    wrong += [f"{where}: picture {m} is missing" for m in found["missing"]]
                    wrong += [f"{where}: hard to read: {f}" for f in found["faint"]]
                    wrong += [f"{where}: {e.splitlines()[0]}" for e in errors]
                    wrong += [f"{where}: asks for {url}" for url in sorted(set(outside))]
                    if folder:
                        folder.mkdir(parents=True, exist_ok=True)
                        name = "-".join(page.with_suffix("").parts)
                        view.screenshot(path=folder / f"{name}.{width}.{scheme}.png")
                context.close()
        browser.close()
    print("\n".join(wrong))
    print(f"{len(pages)} pages at {len(WIDTHS)} widths, light and dark: {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
