"""A network trained as a scikit-learn classifier."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from skorch import NeuralNetClassifier
from torch import nn

torch.manual_seed(0)
X, y = make_classification(300, 20, n_informative=10, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(nn.Module):
    def __init__(self, units=10):
        super().__init__()
        self.dense0 = nn.Linear(20, units)
        self.dropout = nn.Dropout(0.5)
        self.dense1 = nn.Linear(units, units)
        self.output = nn.Linear(units, 2)

    def forward(self, X):
        X = self.dropout(torch.relu(self.dense0(X)))
        X = torch.relu(self.dense1(X))
        return torch.softmax(self.output(X), dim=-1)


net = NeuralNetClassifier(Net, max_epochs=5, lr=0.1, iterator_train__shuffle=True, verbose=0)
net.fit(X, y)
print(*net.history[:, "train_loss"])
print(net.predict_proba(X)[:3].ravel().tolist())
