# %% [markdown]
# # Calibrated probabilities for a ResNet on CIFAR-10, by ONNX
# The network is an ONNX file and the images are CIFAR-10's binary file of test images, which the network was not
# trained on:      python cifar10_onnx.py resnet.onnx cifar-10-batches-bin/test_batch.bin  Nothing but numpy and stonet
# is needed: the wheel brings what runs the network.

# %%
import sys

import numpy as np

import stonet

network = stonet.OnnxNetwork(sys.argv[1], scale=1 / 255, mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])

# %% The logits of all images; a record of the file is a label and three planes of 32 × 32.
records = np.fromfile(sys.argv[2], dtype=np.uint8).reshape(-1, 1 + 3 * 32 * 32)
labels = records[:, 0].astype(int)
logits = network(records[:, 1:].reshape(-1, 3, 32, 32)).output

# %% Half of the images calibrate, half judge.
half = len(labels) // 2
head = stonet.PostStoNetClassifier(progress=True).fit(logits[:half], labels[:half])
temperature = stonet.TemperatureScaling().fit(logits[:half], labels[:half])

# %%
own = np.exp(logits - logits.max(axis=1, keepdims=True))
own /= own.sum(axis=1, keepdims=True)
for name, p in {
    "network": own[half:],
    "temperature": temperature.predict_proba(logits[half:]),
    "post-StoNet": head.predict_proba(logits[half:]),
}.items():
    scores = [f(labels[half:], p) for f in (stonet.metrics.accuracy, stonet.metrics.nll, stonet.metrics.ece)]
    print(f"{name:12} accuracy {scores[0]:.4f}  NLL {scores[1]:.4f}  ECE {scores[2]:.4f}")
for member in head.members_:
    print(f"  {member['method']:12} weight {member['weight']:.2f}")
stonet.report(head, logits[half:], labels[half:], "cifar10.html")
