# SPDX-License-Identifier: Apache-2.0
"""Other predictions of a phase's next value, from its values in earlier runs: naive (as in the run before), ARIMA
(python3-statsmodels), a small recurrent network (python3-torch), and LASSO of the true input, which no agent knows
(python3-sklearn). A method whose package is not installed gives None.

predict(past, future, learn=True) returns one value for each run of future. A run is predicted from those before it; with learn
= False from those of the past only, so that a faulty run does not become the expectation of the next one."""

import math
import warnings


class Series:
    """Values of a phase's metric in runs: (position of the run, input, value) each."""

    def __init__(self, points):
        self.points = points
        self.runs = [run for run, _, _ in points]
        self.inputs = [size for _, size, _ in points]
        self.values = [value for _, _, value in points]

    def part(self, begin, end):
        return Series(self.points[begin:end])


def naive(past, future, learn=True):
    if not learn:
        return [past.values[-1]] * len(future.values)
    return [past.values[-1], *future.values[:-1]] if future.values else []


def arima(past, future, learn=True):
    try:
        from statsmodels.tsa.arima.model import ARIMA
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = ARIMA(past.values, order=(1, 0, 1)).fit()
        values = []
        for value in future.values:
            values.append(float(fitted.forecast(1)[0]))
            if learn:
                fitted = fitted.append([value])
    return values


def rnn(past, future, learn=True):
    try:
        import torch
    except ImportError:
        return None
    torch.manual_seed(1)
    torch.set_num_threads(1)
    mean = sum(past.values) / len(past.values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in past.values) / len(past.values)) or 1
    scaled = torch.tensor([(value - mean) / spread for value in past.values], dtype=torch.float32)
    network, last = torch.nn.RNN(1, 8, batch_first=True), torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*network.parameters(), *last.parameters()], lr=0.01)
    for _ in range(300):
        optimizer.zero_grad()
        hidden, _ = network(scaled[:-1].reshape(1, -1, 1))
        torch.nn.functional.mse_loss(last(hidden).reshape(-1), scaled[1:]).backward()
        optimizer.step()
    seen, values = list(scaled), []
    with torch.no_grad():
        for value in future.values:
            hidden, _ = network(torch.stack(seen).reshape(1, -1, 1))
            values.append(float(last(hidden[0, -1])) * spread + mean)
            if learn:
                seen.append(torch.tensor((value - mean) / spread, dtype=torch.float32))
    return values


def true_input(past, future, learn=True):
    del learn  # a run is predicted from its own input
    try:
        from sklearn.linear_model import LassoCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return None
    features = lambda sizes: [[size, size * size, size * math.log(size)] for size in sizes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), LassoCV(cv=min(5, len(past.values)), max_iter=20_000))
        model.fit(features(past.inputs), past.values)
        return [float(value) for value in model.predict(features(future.inputs))] if future.values else []


BASELINES = {"naive": naive, "ARIMA": arima, "RNN": rnn, "input": true_input}
