"""Prepare a release: one version in all files, a section of the change log, a commit and a tag.

usage: release.py VERSION           write the version, commit, tag; nothing is pushed
       release.py --check VERSION   fail unless all files have this version
       release.py --notes VERSION   print the section of the change log
"""

import datetime
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CARGO, CHANGES, CITATION = (ROOT / name for name in ("Cargo.toml", "CHANGELOG.md", "CITATION.cff"))
UNRELEASED = re.compile(r"^## Unreleased.*$", re.MULTILINE)
# The version of the workspace, and what its crates ask of each other.
OWN = re.compile(r'^(version = |stonet[a-z-]* = \{ path = "[^"]*", version = )"([^"]+)"', re.MULTILINE)


def fail(why: str) -> None:
    """End with a message."""
    sys.exit(f"release.py: {why}")


def versions() -> dict[str, str]:
    """Return the version that each place has."""
    found = {f"Cargo.toml, `{m[1].split('=')[0].strip()}`": m[2] for m in OWN.finditer(CARGO.read_text())}
    cited = re.search(r"^version: (.+)$", CITATION.read_text(), re.MULTILINE)
    found["CITATION.cff"] = cited[1].strip('"') if cited else "none"
    return found


def check(version: str) -> None:
    """Fail unless all files have this version."""
    for place, found in versions().items():
        if found != version:
            fail(f"{place} has version {found}, not {version}; run `python3 scripts/release.py {version}`")


def notes(version: str) -> str:
    """Return the section of the change log: that of the version, or what is not released yet where it names it."""
    sections = re.split(r"^## ", CHANGES.read_text(), flags=re.MULTILINE)[1:]
    for section in sections:
        title, _, text = section.partition("\n")
        if title.split()[0] == version or (title.startswith("Unreleased") and version in title):
            return text.strip() + "\n"
    fail(f"CHANGELOG.md has no section for {version}")
    return ""


def git(*words: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def release(version: str) -> None:
    """Write the version to all files, commit them, and tag the commit."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?", version):
        fail(f"{version} is no version such as 0.2.0")
    if git("status", "--porcelain"):
        fail("there are changes that are not committed; commit or stash them first")
    if git("tag", "--list", f"v{version}"):
        fail(f"the tag v{version} is there already")
    if not UNRELEASED.search(CHANGES.read_text()):
        fail("CHANGELOG.md has no section `## Unreleased`; write what has changed first")
    today = datetime.date.today().isoformat()
    CARGO.write_text(OWN.sub(rf'\g<1>"{version}"', CARGO.read_text()))
    CHANGES.write_text(UNRELEASED.sub(f"## {version} ({today})", CHANGES.read_text(), count=1))
    cited = re.sub(r"^version: .+$", f"version: {version}", CITATION.read_text(), flags=re.MULTILINE)
    CITATION.write_text(re.sub(r"^date-released: .+$", f"date-released: {today}", cited, flags=re.MULTILINE))
    # The lock file has the versions of our own crates too.
    subprocess.run(["cargo", "update", "--workspace", "--quiet"], cwd=ROOT, check=True)
    check(version)
    git("commit", "--all", "--quiet", "--message", f"Release {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"StoNet {version}")
    print(f"Committed and tagged v{version}. To publish it: git push origin HEAD v{version}")


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["--check", version]:
            check(version)
        case ["--notes", version]:
            print(notes(version), end="")
        case [version] if not version.startswith("-"):
            release(version)
        case _:
            fail((__doc__ or "").partition("\n\n")[2].strip())


if __name__ == "__main__":
    main()
