"""Tables of a journal of `stonet reproduce uci`, finished or not: python3 table.py present-default.jsonl"""

import json
import math
import sys
from collections import defaultdict

# Coverage and length of post-StoNet as the paper prints them (Table tab:regression).
SETS = {
    "liver": ("Liver", 90.1, 9.49),
    "qsar": ("QSAR", 89.0, 3.13),
    "community": ("Community", 88.3, 0.466),
    "star": ("STAR", 90.9, 841),
    "abalone": ("Abalone", 90.6, 7.42),
    "parkinson": ("Parkinson", 89.4, 32.1),
    "powerplant": ("Power Plant", 91.0, 13.3),
    "bike": ("Bike", 89.8, 174),
    "protein": ("Protein", 89.4, 13.1),
}


def mean(values):
    return sum(values) / len(values)


def standard_error(values):
    m = mean(values)
    return math.sqrt(sum((v - m) ** 2 for v in values) / (len(values) - 1) / len(values))


def geometric(values):
    return math.exp(mean([math.log(v) for v in values]))


def digits(v):
    return f"{v:.3g}" if v < 100 else f"{v:.0f}"


splits = defaultdict(list)
for line in open(sys.argv[1]):
    record = json.loads(line)
    if "set" in record:
        splits[record["set"].split(" at ")[0]].append(record["split"]["methods"])

ratios = defaultdict(lambda: ([], [], []))
for key, (name, paper_coverage, paper_length) in SETS.items():
    runs = splits[key]

    def of(method, number):
        return [run[method][number] for run in runs]

    base_length, base_score = mean(of("split-conformal", "mean_length")), mean(of("split-conformal", "winkler"))
    for method in runs[0]:
        coverage, length, score = ratios[method]
        coverage.append(100 * mean(of(method, "coverage")))
        length.append(mean(of(method, "mean_length")) / base_length)
        score.append(mean(of(method, "winkler")) / base_score)
    coverage, length = of("stack", "coverage"), mean(of("stack", "mean_length"))
    print(
        f"| {name} | {len(runs)} | {100 * mean(coverage):.1f} ({100 * standard_error(coverage):.1f}) | {digits(length)} "
        f"| {paper_coverage}, {digits(paper_length)} | {length / paper_length:.3f} | {length / base_length:.3f} "
        f"| {mean(of('stack', 'winkler')) / base_score:.3f} |"
    )
print()
for method, (coverage, length, score) in sorted(ratios.items(), key=lambda m: geometric(m[1][2])):
    print(f"| {method} | {mean(coverage):.1f} | {min(coverage):.1f} | {geometric(length):.3f} | {geometric(score):.3f} |")
