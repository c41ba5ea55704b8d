#!/usr/bin/env python3
"""Every command under every fault of the system: no half file, no lost record, the resumed result equal.

    python3 scripts/faults/faults.py [--program FILE] [--commands NAMES] [--faults NAMES] [--quick] [--out FOLDER]

Needs Linux, a C compiler and the program (`cargo build --release -p stonet-cli --features serve,reproduce`). With --out the table is
written there. The exit code is 1 if any cell is red. --quick is what CI runs: the quick commands, and few moments.
"""

import argparse
import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
# Times differ from run to run, and so does the folder that a report's command line names; nothing else does.
TIMES = re.compile(rb'"[a-z_]*seconds[a-z_]*": ?[0-9.e-]+|(?<=\|) +[0-9.]+ \|$|out[0-9]+/|[0-9.]+ (?:s|ms)\b', re.MULTILINE)


class Command:
    """A command, its journal in the folder that it writes to, and the script that starts it, where that is not done here."""

    def __init__(self, name, arguments, journal=None, driver=()):
        self.name, self.arguments, self.journal, self.driver = name, arguments, journal, driver


def commands(base):
    v, t = base / "v.parquet", base / "t.parquet"
    columns = ["--prediction", "prediction", "--inputs", "f*"]
    rows = base / "rows.csv"
    return [
        Command("train", ["train", rows, "--task", "regression", "-o", "{out}/network.onnx", "--hidden", "8",
                          "--epochs", "20", "--hold-out", "{out}/v.csv=0.4", "--hold-out", "{out}/t.csv=0.3"]),
        Command("features", ["features", base / "network.onnx", base / "v.csv", "-o", "{out}/v.parquet", "--keep", "y"]),
        Command("fit", ["fit", v, "--task", "regression", "--interval", "split", "-o", "{out}/head.stonet", *columns]),
        Command("predict", ["predict", base / "head.stonet", t, "-o", "{out}/predictions.parquet"]),
        Command("predict csv.gz", ["predict", base / "head.stonet", t, "-o", "{out}/predictions.csv.gz"]),
        Command("predict --explain", ["predict", base / "head.stonet", t, "-o", "{out}/why.csv", "--explain"]),
        Command("monitor", ["monitor", base / "head.stonet", t, "--report", "{out}/watch.html"]),
        Command("monitor --state", ["monitor", base / "head.stonet", t, "--state", "{out}/state.json"]),
        Command("serve --state", ["serve", base / "head.stonet", "--monitor", "--state", "{out}/state.json", "--port", "0"],
                driver=(sys.executable, HERE / "serve.py", base / "body.json")),
        Command("control", ["control", base / "head.stonet", t, "--want", "wrong<=0.5", "-o", "{out}/rule.json"]),
        Command("evaluate", ["evaluate", base / "head.stonet", t, "--report", "{out}/report.html"]),
        Command("update", ["update", base / "head.stonet", t, "-o", "{out}/updated.stonet", "--window", "50"]),
        Command("export", ["export", base / "head.stonet", "-o", "{out}/head.onnx"]),
        Command("adapt", ["adapt", base / "head.stonet", t, "--rows", v, "-o", "{out}/adapted.stonet"]),
        Command("compare", ["compare", v, t, "--task", "regression", "--methods", "split,split-conformal", "--out",
                            "{out}/compare", *columns]),
        Command("benchmark", ["benchmark", base / "few.csv", "--target", "y", "--splits", "2", "--epochs", "1", "--out",
                              "{out}/benchmark"], journal="benchmark/benchmark.jsonl"),
        Command("reproduce", ["reproduce", "simulation", "--models", "1", "--settings", "ii", "--replicates", "1", "--out",
                              "{out}/simulation"], journal="simulation/simulation.jsonl"),
    ]  # fmt: skip


class Bench:
    """Runs commands with and without faults, and compares what they leave."""

    def __init__(self, program, work, quick):
        self.program, self.work, self.quick = Path(program).resolve(), work, quick
        self.shim = work / "shim.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.shim, HERE / "shim.c", "-ldl"], check=True)
        self.base = work / "base"
        self.base.mkdir()
        self.random = random.Random(21)
        self.runs = 0
        self.reference = {}

    def prepare(self):
        noise = random.Random(1)
        for name, count in (("rows.csv", 150), ("few.csv", 40)):
            lines = ["x1,x2,x3,y"]
            for _ in range(count):
                x = [noise.gauss(0, 1) for _ in range(3)]
                lines.append(",".join(f"{v:.5f}" for v in [*x, x[0] + x[1] ** 2 + noise.gauss(0, 0.3)]))
            (self.base / name).write_text("\n".join(lines) + "\n")
        b = self.base
        for arguments in (
            ["train", b / "rows.csv", "--task", "regression", "-o", b / "network.onnx", "--hidden", "8", "--epochs", "20",
             "--hold-out", f"{b}/v.csv=0.4", "--hold-out", f"{b}/t.csv=0.3"],
            ["features", b / "network.onnx", b / "v.csv", "-o", b / "v.parquet", "--keep", "y"],
            ["features", b / "network.onnx", b / "t.csv", "-o", b / "t.parquet", "--keep", "y"],
            ["fit", b / "v.parquet", "--task", "regression", "--interval", "split", "-o", b / "head.stonet",
             "--prediction", "prediction", "--inputs", "f*"],
        ):  # fmt: skip
            subprocess.run([self.program, *arguments, "-q"], check=True, capture_output=True)
        # Bodies of requests: the rows of t.parquet as numbers of JSON, without the target.
        subprocess.run([self.program, "features", b / "network.onnx", b / "t.csv", "-o", b / "features.csv", "-q"], check=True,
                       capture_output=True)  # fmt: skip
        with (b / "features.csv").open(newline="") as file:
            rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
        (b / "body.json").write_text(json.dumps({"rows": rows}))

    def folder(self, command, full=False):
        """A new folder to write to; with the journal of all records, where that is asked for."""
        self.runs += 1
        out = self.work / f"out{self.runs}"
        out.mkdir()
        if full and command.journal:
            place = out / command.journal
            place.parent.mkdir(parents=True)
            place.write_bytes(self.reference[command.name][1][command.journal])
        return out

    def start(self, command, out, **fault):
        environment = dict(os.environ)
        if fault:
            faulty = {"LD_PRELOAD": str(self.shim)} | {f"FAULT_{k.upper()}": str(v) for k, v in fault.items()}
            environment |= {"STONET_FAULT": json.dumps(faulty)} if command.driver else faulty
        arguments = [str(a).replace("{out}", str(out)) for a in command.arguments]
        # A group of its own, so that a script dies with what it has started.
        return subprocess.Popen([*command.driver, self.program, *arguments, "-q"], env=environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip

    def run(self, command, out, **fault):
        child = self.start(command, out, **fault)
        try:
            said = child.communicate(timeout=600)[1]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return None, "it hangs"
        return child.returncode, said

    def measure(self, command):
        out = self.folder(command)
        begin = time.monotonic()
        code, said = self.run(command, out)
        assert code == 0, (command.name, said)
        took, first = time.monotonic() - begin, contents(out)
        # A command with a state goes on with it: after a run that came to its end, the next one leaves other files.
        code, said = self.run(command, out)
        assert code == 0, (command.name, said)
        self.reference[command.name] = (took, first, contents(out))

    # What may be wrong after a fault, and after the command has run again.

    def left(self, command, out, killed):
        """Faults in what is there now: half files, lines that are no records, unfinished files."""
        reference = self.reference[command.name][1]
        wrong = []
        for name, held in contents(out).items():
            if Path(name).name.startswith("."):
                # A killed process cannot remove its unfinished file; the next run does.
                if not killed:
                    wrong.append(f"unfinished file {name} is left")
            elif name == command.journal:
                lines = held.split(b"\n")
                wrong += [f"line of {name} is no record" for line in lines[:-1] if not is_json(line)]
                if lines[-1] and not killed:
                    wrong.append(f"half a line in {name}")
            elif without_times(held) != without_times(reference.get(name, b"")):
                wrong.append(f"half file {name}")
        return wrong

    def ended(self, command, out):
        """Whether all files of an undisturbed run are there."""
        reference, now = self.reference[command.name][1], contents(out)
        return all(without_times(held) == without_times(now.get(name, b"")) for name, held in reference.items())

    def resumed(self, command, out):
        """Faults after the same command has run to its end."""
        before, ended = records(out, command), self.ended(command, out)
        code, said = self.run(command, out)
        if code != 0:
            return [f"the next run fails: {said.strip()[-200:]}"]
        reference, now = self.reference[command.name][2 if ended else 1], contents(out)
        wrong = [f"record lost: {r[:60]!r}" for r in before if r not in records(out, command)]
        for name in sorted(reference.keys() | now.keys()):
            a, b = (without_times(x.get(name, b"")) for x in (reference, now))
            if name == command.journal:
                a, b = sorted(a.split(b"\n")), sorted(b.split(b"\n"))
            if a != b:
                wrong.append(f"{name} differs after the next run")
        return wrong

    def judge(self, command, out, killed=False):
        wrong = self.left(command, out, killed) + self.resumed(command, out)
        shutil.rmtree(out)
        return wrong

    # The faults.

    def kill(self, command):
        """Killed at random moments; a journal goes on through all of them."""
        moments, took = (4 if self.quick else 20), self.reference[command.name][0]
        wrong, out = [], None
        for _ in range(moments):
            if out is None or not command.journal:
                out = self.folder(command)
            child = self.start(command, out)
            # A journal is shorter work each time.
            time.sleep(self.random.uniform(0, took / (6 if command.journal else 1)))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if command.journal:
                wrong += self.left(command, out, True)
            else:
                wrong += self.judge(command, out, True)
        if command.journal:
            wrong += self.judge(command, out, True)
        return moments, wrong

    def at_calls(self, command, op, **fault):
        """A fault at every call of one kind, or at 24 of them evenly."""
        count = self.work / "count"
        out = self.folder(command, full=True)
        under = self.base if op == "read" else self.work / "out"
        self.run(command, out, op=op, at=0, under=under, count=count)
        shutil.rmtree(out)
        total, most = int(count.read_text()), (5 if self.quick else 24)
        places = range(1, total + 1) if total <= most else sorted({1 + i * (total - 1) // (most - 1) for i in range(most)})
        wrong = []
        for place in places:
            out = self.folder(command, full=command.name == "reproduce")
            code, said = self.run(command, out, op=op, at=place, under=under, **fault)
            if code != 2 or not said.startswith(("error:", "warning:", "note:")) or "panicked" in said:
                wrong.append(f"call {place}: exit code {code}, {said.strip()[-160:]!r}")
            wrong += [f"call {place}: {w}" for w in self.judge(command, out)]
        return len(places), wrong

    def full(self, command):
        """The disk is full from the k-th call on."""
        return self.at_calls(command, "write", errno=28, stay=1)

    def once(self, command):
        """The k-th call that writes fails, and no other."""
        return self.at_calls(command, "write", errno=5, stay=0)

    def read(self, command):
        """The k-th read of an input fails."""
        return self.at_calls(command, "read", errno=5, stay=0)

    def second(self, command):
        """Two processes write to the same place at once."""
        out = self.folder(command)
        both = [self.start(command, out) for _ in range(2)]
        ends = [(child.communicate(timeout=600)[1], child.returncode) for child in both]
        state = command.name.endswith("--state")
        refused = [code == 2 and (command.journal or state) and "another process" in said for said, code in ends]
        wrong = [f"exit code {code}: {said[-160:]}" for (said, code), no in zip(ends, refused, strict=True) if code != 0 and not no]
        if all(code != 0 for _, code in ends):
            wrong.append("both are refused")
        if state and not any(refused):
            # The second one began after the end of the first, and went on.
            both, now = self.reference[command.name][2], contents(out)
            wrong += [f"{n} is not that of two runs" for n in sorted(both.keys() | now.keys()) if both.get(n) != now.get(n)]
            shutil.rmtree(out)
            return 1, wrong
        return 1, wrong + self.judge(command, out)

    def clock(self, command):
        """Every look at the clock shows an earlier time; of a server at the time of day alone, since its time limits rest on a clock that the
        system promises never to set back."""
        out = self.folder(command, full=command.name == "reproduce")
        code, said = self.run(command, out, op="date" if command.driver else "clock")
        return 1, [f"exit code {code}: {said[-160:]}" for _ in [0] if code != 0] + self.judge(command, out)


def without_times(held):
    return TIMES.sub(b"", held)


def is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def records(out, command):
    held = contents(out).get(command.journal, b"")
    return held.split(b"\n")[:-1]


FAULTS = {
    "kill": "killed (SIGKILL) at random moments",
    "full": "disk full (ENOSPC) from the k-th call that writes on, the first one by half",
    "once": "input/output error (EIO) at the k-th call that writes, and at no other",
    "read": "input/output error (EIO) at the k-th read of an input",
    "second": "a second process with the same command at once",
    "clock": "a clock that goes back at every look",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=TOP / "target/release/stonet")
    parser.add_argument("--commands", help="names with commas between them; all if not given")
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    faults = asked.faults.split(",")
    red = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked.program, Path(folder), asked.quick)
        bench.prepare()
        chosen = [c for c in commands(bench.base) if c.name in (asked.commands or c.name).split(",")]
        if asked.quick and not asked.commands:
            chosen = [c for c in chosen if c.name != "reproduce"]
        lines = [f"| command | {' | '.join(faults)} |", f"|---|{'---|' * len(faults)}"]
        for command in chosen:
            bench.measure(command)
            cells = []
            for fault in faults:
                # A journal of one replicate takes all its time in one record: it is not read from a file of rows.
                if fault == "read" and command.name == "reproduce":
                    cells.append("no input")
                    continue
                runs, wrong = getattr(bench, fault)(command)
                red += bool(wrong)
                cells.append(f"RED {len(wrong)} of {runs}" if wrong else f"{runs} ok")
                print(f"{command.name}, {fault}: {cells[-1]}", *wrong[:6], sep="\n    ", flush=True)
            lines.append(f"| {command.name} | {' | '.join(cells)} |")
        text = "\n".join(lines) + "\n"
    print(text)
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "matrix.md").write_text(text)
    return int(red > 0)


if __name__ == "__main__":
    sys.exit(main())
