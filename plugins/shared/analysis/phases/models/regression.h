// SPDX-License-Identifier: Apache-2.0
// Linear models of few observations of many inputs: the LASSO with a path and cross-validation, and ridge regression. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace atalaya::phases {

// Observations as rows.
struct Table {
  size_t columns = 0;
  std::vector<double> values;
  size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
  std::span<const double> row(size_t i) const { return std::span(values).subspan(i * columns, columns); }
  void add(std::span<const double> row) { values.insert(values.end(), row.begin(), row.end()); }
};

struct Linear {
  double lambda = 0, intercept = 0;
  std::vector<double> coefficients;  // in the units of the inputs
  double at(std::span<const double> inputs) const;
};

// The solutions of min 1/(2n) |y - a - X b|^2 + lambda |b|_1 for columns with a deviation of 1, as glmnet has them: coordinate
// descent, each step from the one before. Without lambdas: 100 from the least that has no coefficient down to 1e-4 of it (1e-2 if
// there are fewer rows than columns). `precision`: the largest change of a coefficient at the end, in deviations of the output.
std::vector<Linear> lasso_path(const Table &inputs, std::span<const double> output, std::span<const double> lambdas = {},
                               double precision = 1e-9);
// The same solutions with a precision of 1e-5, which is enough for cross-validation.
std::vector<Linear> fast_lasso_path(const Table &inputs, std::span<const double> output, std::span<const double> lambdas);
// min 1/(2n) |y - a - X b|^2 + lambda / 2 |b|_2^2, with columns as above.
std::vector<Linear> ridge_path(const Table &inputs, std::span<const double> output, std::span<const double> lambdas);

// The largest breach of the conditions that a solution of the LASSO fulfils (Karush, Kuhn, Tucker), relative to the largest
// gradient at b = 0.
double kkt_breach(const Table &inputs, std::span<const double> output, const Linear &solution);

struct Validated {
  Linear model;
  std::vector<double> held_out;  // for each row the prediction of a model that has not seen it
  double r2 = 0;                 // R2 of the held-out predictions; can be negative
};
using Path = std::function<std::vector<Linear>(const Table &, std::span<const double>, std::span<const double>)>;
// The lambda with the least error in `folds` parts of the rows (row i is in part i % folds): the largest one within a standard
// error of it predicts less well from the few runs that programs have.
Validated cross_validated(const Table &inputs, std::span<const double> output, size_t folds, const Path &path);

}  // namespace atalaya::phases
