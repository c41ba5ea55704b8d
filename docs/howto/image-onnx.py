# needs: onnx, scikit-learn
"""Calibrated probabilities and sets for an image network in an ONNX file."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import stonet

# Stands for your network: 1 × 8 × 8 pixels, a convolution, two dense layers, ten logits. 400 noisy images make it too sure.
images, digits = load_digits(return_X_y=True)
images = images.reshape(-1, 1, 8, 8)
order = np.random.default_rng(1).permutation(len(digits))
images, digits = images[order] + np.random.default_rng(3).normal(0, 6, images.shape), digits[order]
kernels = np.random.default_rng(2).normal(size=(6, 1, 3, 3)).astype(np.float32)


def convolved(x):
    patches = np.lib.stride_tricks.sliding_window_view(x[:, 0] / 16, (3, 3), axis=(1, 2))
    return np.maximum(np.einsum("nijkl,ckl->ncij", patches, kernels[:, 0]), 0).reshape(len(x), -1)


dense = MLPClassifier(hidden_layer_sizes=(32,), alpha=0, max_iter=250, tol=0, random_state=1).fit(convolved(images[:400]), digits[:400])
(w0, w1), (b0, b1) = dense.coefs_, dense.intercepts_
weights = {"k": kernels, "w0": w0, "b0": b0, "w1": w1, "b1": b1}
graph = helper.make_graph(
    [
        helper.make_node("Conv", ["image", "k"], ["conv"], strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0]),
        helper.make_node("Relu", ["conv"], ["r0"]),
        helper.make_node("Flatten", ["r0"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w0", "b0"], ["h"]),
        helper.make_node("Relu", ["h"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "w1", "b1"], ["logits"]),
    ],
    "digits",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 10])],
    [numpy_helper.from_array(np.asarray(v, dtype=np.float32), k) for k, v in weights.items()],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "digits.onnx")

# The four lines: pixels from 0 to 16 are scaled as in training, and images that the network has not seen calibrate.
network = stonet.OnnxNetwork("digits.onnx", scale=1 / 16)
features, logits, _ = network(images)
calibration, test = slice(400, 1000), slice(1000, None)
head = stonet.PostStoNetClassifier(sets="cv+").fit(logits[calibration], digits[calibration])

own = np.exp(logits - logits.max(axis=1, keepdims=True))
own /= own.sum(axis=1, keepdims=True)
for name, p in {"network": own[test], "head": head.predict_proba(logits[test])}.items():
    m = stonet.metrics
    print(f"{name:8} accuracy {m.accuracy(digits[test], p):.3f}  NLL {m.nll(digits[test], p):.3f}  ECE {m.ece(digits[test], p):.3f}")
classes, sets = head.predict_set(logits[test], confidence_level=0.9)
inside = sets[np.arange(len(sets)), digits[test], 0]
print(f"sets at 90 %: coverage {inside.mean():.3f}, mean size {sets[:, :, 0].sum(axis=1).mean():.2f}")
head.to_onnx("sure.onnx", network="digits.onnx")  # from scaled pixels to calibrated probabilities
print("sure.onnx gives", ", ".join(o.name for o in onnx.load("sure.onnx").graph.output))
