# needs: scikit-learn
"""A text classifier on its embeddings: calibrated probabilities, and answers only where it is sure."""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neural_network import MLPClassifier

import stonet

# Made-up messages of three topics whose words overlap; put your texts, and embeddings of any encoder, in their place.
rng = np.random.default_rng(1)
vocabulary = np.array([f"word{i}" for i in range(300)])
topics = rng.dirichlet(np.full(300, 0.3), size=3)
labels = rng.integers(0, 3, size=3000)
own = 0.5 * topics[labels] + 0.5 * topics.mean(axis=0)
texts = [" ".join(rng.choice(vocabulary, size=12, p=p / p.sum())) for p in own]
names = np.array(["billing", "delivery", "other"])[labels]

trained, calibration, rules, test = slice(0, 600), slice(600, 1400), slice(1400, 2200), slice(2200, 3000)
encoder = TfidfVectorizer().fit(texts[trained])
svd = TruncatedSVD(40, random_state=1).fit(encoder.transform(texts[trained]))
embeddings = svd.transform(encoder.transform(texts))
network = MLPClassifier(hidden_layer_sizes=(30,), alpha=0, max_iter=200, tol=0, random_state=1).fit(embeddings[trained], names[trained])

p = network.predict_proba(embeddings).clip(1e-12)
head = stonet.PostStoNetClassifier(kind="probabilities").fit(p[calibration], names[calibration], features=embeddings[calibration])
q = head.predict_proba(p[test], features=embeddings[test])
for name, proba in {"network": p[test], "head": q}.items():
    scores = [f(names[test], proba, classes=head.classes_) for f in (stonet.metrics.nll, stonet.metrics.ece)]
    print(f"{name:8} NLL {scores[0]:.3f}  ECE {scores[1]:.3f}")

# Which messages may be answered without a person, if nine of ten answers are to be right?
rule = stonet.control(head, p[rules], names[rules], want="accuracy>=0.9", confidence=0.95, features=embeddings[rules])
answered = rule.decide(head, p[test], features=embeddings[test])
right = q.argmax(axis=1) == np.searchsorted(head.classes_, names[test])
print(f"answered {answered.mean():.2f} of the messages, {right[answered].mean():.2f} of them rightly; all: {right.mean():.2f}")
