# SPDX-License-Identifier: Apache-2.0
"""Other predictions of a phase's next value. From its values in earlier runs: naive (as in the run before), ARIMA
(python3-statsmodels) and a small recurrent network (python3-torch). From the true input, which no agent knows: LASSO
(python3-sklearn). From the time and resources of the two phases before, as ours: ridge, SVR, SGD and logistic regression
(python3-sklearn). A method whose package is not installed gives None.

predict(past, future, learn=True) returns one value for each run of future. A run is predicted from those before it; with learn
= False from those of the past only, so that a faulty run does not become the expectation of the next one."""

import math
import warnings


class Series:
    """Values of a phase's metric in runs: (position of the run, input, value, numbers of the two phases before) each."""

    def __init__(self, points):
        self.points = points
        self.runs = [run for run, _, _, _ in points]
        self.inputs = [size for _, size, _, _ in points]
        self.values = [value for _, _, value, _ in points]
        self.before = [before for _, _, _, before in points]

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


def of_phases_before(make, past, future):
    """Predictions of a model of scikit-learn; make() returns it. None where no phase comes before."""
    try:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        model = make()
    except ImportError:
        return None
    if not any(any(before) for before in past.before) or not future.values:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = make_pipeline(StandardScaler(), model)
        scaled = pipeline if hasattr(model, "classes") else TransformedTargetRegressor(pipeline, transformer=StandardScaler())
        scaled.fit(past.before, past.values)
        return [float(value) for value in scaled.predict(future.before)]


def ridge(past, future, learn=True):
    del learn

    def make():
        from sklearn.linear_model import RidgeCV
        return RidgeCV(alphas=[10 ** power for power in range(-3, 4)])
    return of_phases_before(make, past, future)


def svr(past, future, learn=True):
    del learn

    def make():
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVR
        return GridSearchCV(SVR(), {"C": [1, 10, 100], "epsilon": [0.01, 0.1], "kernel": ["linear", "rbf"]}, cv=3)
    return of_phases_before(make, past, future)


def sgd(past, future, learn=True):
    del learn

    def make():
        from sklearn.linear_model import SGDRegressor
        return SGDRegressor(penalty="l1", random_state=1, max_iter=5000)
    return of_phases_before(make, past, future)


def logistic(past, future, learn=True):
    """Of values it chooses one of four classes, quarters of the training values, and predicts the mean of the class."""
    del learn
    ranked = sorted(past.values)
    limits = [ranked[len(ranked) * part // 4] for part in (1, 2, 3)]
    class_of = lambda value: sum(value >= limit for limit in limits)
    classes = [class_of(value) for value in past.values]
    if len(set(classes)) < 2:
        return None

    def make():
        from sklearn.linear_model import LogisticRegression
        model = LogisticRegression(max_iter=5000)
        model.classes = True
        return model
    labelled = Series([(run, size, label, before) for (run, size, _, before), label in zip(past.points, classes)])
    chosen = of_phases_before(make, labelled, future)
    means = {label: sum(value for value, one in zip(past.values, classes) if one == label) / classes.count(label) for label in classes}
    return None if chosen is None else [means[int(label)] for label in chosen]


BASELINES = {"naive": naive, "ARIMA": arima, "RNN": rnn, "input": true_input}
ALGORITHMS = {"ridge": ridge, "SVR": svr, "SGD": sgd, "logist": logistic}
