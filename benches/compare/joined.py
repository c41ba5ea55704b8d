"""Run a joined network in onnxruntime and compare it with what `stonet predict` wrote for the same rows.

    python -m venv joined-env && joined-env/bin/pip install onnxruntime numpy
    stonet train rows.csv --task regression --target y -o net.onnx --hold-out held.csv=0.4 --hold-out new.csv=0.2
    stonet features net.onnx held.csv --keep y -o val.csv
    stonet features net.onnx new.csv --keep y -o test.csv
    stonet fit val.csv --task regression --inputs 'f*' --prediction prediction -o head.stonet
    stonet predict head.stonet test.csv -o predicted.csv
    stonet export head.stonet -o joined.onnx --network net.onnx
    joined-env/bin/python benches/compare/joined.py joined.onnx new.csv predicted.csv --inputs x1,x2,x3

For classes, add --task classification and leave --prediction out; inputs are then 'z*'. Columns of the rows go into the
network in the order of --inputs, which is that of the file it was trained on. Ends the program with 1 where numbers
differ by more than --tolerance, relative to the larger of 1 and the number, or where an interval of the graph is
narrower than the one that was predicted.
"""

import argparse
import csv
import sys

import numpy as np
import onnxruntime

def columns(path):
    """A CSV file as a dictionary of lists of text."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def numbers(table, name):
    return np.array(table[name], dtype=np.float64)


def apart(wanted, found):
    return np.max(np.abs(wanted - found) / np.maximum(1, np.abs(wanted)))


def intervals(outputs, predicted, tolerance):
    """The largest difference of predictions, and how much narrower and wider the graph's intervals are."""
    lower, upper = (next(n for n in predicted if n.startswith(end)) for end in ("lower_", "upper_"))
    point = apart(numbers(predicted, "prediction"), outputs["prediction"][:, 0])
    wider = np.stack([
        numbers(predicted, lower) - outputs["lower"][:, 0],
        outputs["upper"][:, 0] - numbers(predicted, upper),
    ])
    length = np.mean(numbers(predicted, upper) - numbers(predicted, lower))
    print(f"predictions differ by at most {point:.1e}")
    print(f"ends are {wider.min():.1e} to {wider.max():.1e} further out, where intervals are {length:.3g} long on average")
    return point <= tolerance and wider.min() >= -tolerance


def classes(outputs, predicted, tolerance):
    """The largest difference of probabilities, and how many classes are others."""
    names = [n for n in predicted if n.startswith("p_")]
    wanted = np.stack([numbers(predicted, n) for n in names], axis=1)
    far = apart(wanted, outputs["probabilities"])
    same = [names[k] == f"p_{name}" for k, name in zip(outputs["class"], predicted["class"])]
    print(f"probabilities differ by at most {far:.1e}; {len(same) - sum(same)} of {len(same)} classes differ")
    return far <= tolerance


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("joined", help="made by stonet export --network")
    parser.add_argument("rows", help="CSV with the network's inputs")
    parser.add_argument("predicted", help="CSV made by stonet predict, same rows, one level")
    parser.add_argument("--inputs", required=True, help="columns of the rows, in the network's order")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    flags = parser.parse_args()
    rows, predicted = columns(flags.rows), columns(flags.predicted)
    x = np.stack([numbers(rows, name) for name in flags.inputs.split(",")], axis=1).astype(np.float32)
    session = onnxruntime.InferenceSession(flags.joined, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    outputs = dict(zip(names, session.run(names, {session.get_inputs()[0].name: x})))
    print(f"{flags.joined}: {len(x)} rows in onnxruntime {onnxruntime.__version__}: {', '.join(names)}")
    compare = classes if "probabilities" in outputs else intervals
    sys.exit(0 if compare(outputs, predicted, flags.tolerance) else 1)


if __name__ == "__main__":
    main()
