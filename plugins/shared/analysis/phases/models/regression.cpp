// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/regression.h"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace atalaya::phases {
namespace {

// Standardised data: inputs have mean 0 and deviation 1, the output has mean 0. Constant columns are 0 and keep the coefficient 0.
struct Scaled {
  Eigen::MatrixXd inputs;
  Eigen::VectorXd output, means, deviations;
  double mean = 0;

  Scaled(const Table &table, std::span<const double> values) {
    const auto rows = static_cast<Eigen::Index>(values.size()), columns = static_cast<Eigen::Index>(table.columns);
    inputs.resize(rows, columns);
    for (Eigen::Index i = 0; i < rows; ++i)
      for (Eigen::Index j = 0; j < columns; ++j) inputs(i, j) = table.values[static_cast<size_t>(i * columns + j)];
    output = Eigen::Map<const Eigen::VectorXd>(values.data(), rows);
    mean = output.mean();
    output.array() -= mean;
    means = inputs.colwise().mean();
    deviations.resize(columns);
    for (Eigen::Index j = 0; j < columns; ++j) {
      inputs.col(j).array() -= means(j);
      deviations(j) = std::sqrt(inputs.col(j).squaredNorm() / static_cast<double>(rows));
      const bool is_constant = deviations(j) <= 1e-10 * std::abs(means(j)) || deviations(j) == 0;
      if (is_constant) deviations(j) = 0;
      inputs.col(j) = is_constant ? Eigen::VectorXd::Zero(rows) : Eigen::VectorXd(inputs.col(j) / deviations(j));
    }
  }

  double rows() const { return static_cast<double>(output.size()); }
  Eigen::VectorXd gradient(const Eigen::VectorXd &rest) const { return inputs.transpose() * rest / rows(); }
  double highest_lambda() const { return output.size() == 0 || inputs.cols() == 0 ? 0 : gradient(output).cwiseAbs().maxCoeff(); }

  Linear unscaled(const Eigen::VectorXd &coefficients, double lambda) const {
    Linear model{lambda, mean, std::vector<double>(static_cast<size_t>(coefficients.size()), 0)};
    for (Eigen::Index j = 0; j < coefficients.size(); ++j) {
      if (deviations(j) <= 0) continue;
      model.coefficients[static_cast<size_t>(j)] = coefficients(j) / deviations(j);
      model.intercept -= coefficients(j) / deviations(j) * means(j);
    }
    return model;
  }
};

double shrunk(double value, double by) {
  return value > by ? value - by : value < -by ? value + by : 0;
}

// One round of coordinate descent over these columns; returns the largest change.
template <class Columns>
double descend(const Scaled &data, double lambda, const Columns &columns, Eigen::VectorXd &coefficients, Eigen::VectorXd &rest) {
  double maximum = 0;
  for (const Eigen::Index j : columns) {
    if (data.deviations(j) <= 0) continue;
    const double before = coefficients(j);
    const double after = shrunk(data.inputs.col(j).dot(rest) / data.rows() + before, lambda);
    if (after == before) continue;
    rest -= data.inputs.col(j) * (after - before);
    coefficients(j) = after;
    maximum = std::max(maximum, std::abs(after - before));
  }
  return maximum;
}

void solve(const Scaled &data, double lambda, double precision, Eigen::VectorXd &coefficients, Eigen::VectorXd &rest) {
  constexpr int kMostRounds = 20'000;
  const double precise = precision * std::sqrt(data.output.squaredNorm() / data.rows());
  std::vector<Eigen::Index> all(static_cast<size_t>(coefficients.size())), active;
  std::iota(all.begin(), all.end(), Eigen::Index{0});
  for (int round = 0; round < kMostRounds; ++round) {
    if (descend(data, lambda, all, coefficients, rest) <= precise) return;
    active.clear();
    for (const Eigen::Index j : all)
      if (coefficients(j) != 0) active.push_back(j);
    while (round++ < kMostRounds && descend(data, lambda, active, coefficients, rest) > precise) {
    }
  }
}

std::vector<double> usual_lambdas(const Scaled &data) {
  constexpr size_t kSteps = 100;
  const double highest = data.highest_lambda(), ratio = data.output.size() < data.inputs.cols() ? 1e-2 : 1e-4;
  std::vector<double> lambdas;
  for (size_t i = 0; i < kSteps; ++i)
    lambdas.push_back(highest * std::pow(ratio, static_cast<double>(i) / static_cast<double>(kSteps - 1)));
  return lambdas;
}

double variance(std::span<const double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

}  // namespace

double Linear::at(std::span<const double> inputs) const {
  return std::inner_product(inputs.begin(), inputs.end(), coefficients.begin(), intercept);
}

std::vector<Linear> lasso_path(const Table &inputs, std::span<const double> output, std::span<const double> lambdas,
                               double precision) {
  const Scaled data(inputs, output);
  const std::vector<double> steps = lambdas.empty() ? usual_lambdas(data) : std::vector<double>(lambdas.begin(), lambdas.end());
  Eigen::VectorXd coefficients = Eigen::VectorXd::Zero(data.inputs.cols()), rest = data.output;
  std::vector<Linear> path;
  for (const double lambda : steps) {
    if (data.highest_lambda() > 0) solve(data, lambda, precision, coefficients, rest);
    path.push_back(data.unscaled(coefficients, lambda));
  }
  return path;
}

std::vector<Linear> ridge_path(const Table &inputs, std::span<const double> output, std::span<const double> lambdas) {
  const Scaled data(inputs, output);
  const Eigen::MatrixXd products = data.inputs.transpose() * data.inputs / data.rows();
  const Eigen::VectorXd gradient = data.gradient(data.output);
  std::vector<Linear> path;
  for (const double lambda : lambdas) {
    const Eigen::MatrixXd sum = products + lambda * Eigen::MatrixXd::Identity(products.rows(), products.cols());
    path.push_back(data.unscaled(sum.ldlt().solve(gradient), lambda));
  }
  return path;
}

double kkt_breach(const Table &inputs, std::span<const double> output, const Linear &solution) {
  const Scaled data(inputs, output);
  Eigen::VectorXd coefficients(data.inputs.cols());
  for (Eigen::Index j = 0; j < coefficients.size(); ++j)
    coefficients(j) = solution.coefficients[static_cast<size_t>(j)] * data.deviations(j);
  const Eigen::VectorXd gradient = data.gradient(data.output - data.inputs * coefficients);
  double breach = 0;
  for (Eigen::Index j = 0; j < coefficients.size(); ++j) {
    const double sign = coefficients(j) > 0 ? 1 : -1;
    const double off = coefficients(j) != 0 ? std::abs(gradient(j) - sign * solution.lambda)
                                            : std::max(std::abs(gradient(j)) - solution.lambda, 0.0);
    breach = std::max(breach, data.deviations(j) > 0 ? off : 0.0);
  }
  const double highest = data.highest_lambda();
  return highest > 0 ? breach / highest : breach;
}

Validated cross_validated(const Table &inputs, std::span<const double> output, size_t folds, const Path &path) {
  const size_t rows = output.size();
  const std::vector<double> lambdas = usual_lambdas(Scaled(inputs, output));
  std::vector<std::vector<double>> predictions(lambdas.size(), std::vector<double>(rows, 0));
  std::vector<std::vector<double>> fold_errors(lambdas.size());
  for (size_t fold = 0; fold < folds; ++fold) {
    Table seen{inputs.columns, {}};
    std::vector<double> known;
    for (size_t i = 0; i < rows; ++i)
      if (i % folds != fold) seen.add(inputs.row(i)), known.push_back(output[i]);
    const std::vector<Linear> models = path(seen, known, lambdas);
    for (size_t step = 0; step < lambdas.size(); ++step) {
      double error = 0, count = 0;
      for (size_t i = fold; i < rows; i += folds) {
        predictions[step][i] = models[step].at(inputs.row(i));
        error += (predictions[step][i] - output[i]) * (predictions[step][i] - output[i]);
        count += 1;
      }
      if (count > 0) fold_errors[step].push_back(error / count);
    }
  }
  std::vector<double> errors;
  for (const auto &one : fold_errors)
    errors.push_back(std::accumulate(one.begin(), one.end(), 0.0) / static_cast<double>(one.size()));
  const auto chosen = static_cast<size_t>(std::min_element(errors.begin(), errors.end()) - errors.begin());
  const double spread = variance(output);
  double squares = 0;
  for (size_t i = 0; i < rows; ++i) squares += std::pow(predictions[chosen][i] - output[i], 2) / static_cast<double>(rows);
  return {path(inputs, output, lambdas)[chosen], predictions[chosen], spread > 0 ? 1 - squares / spread : 0};
}

std::vector<Linear> fast_lasso_path(const Table &inputs, std::span<const double> output, std::span<const double> lambdas) {
  constexpr double kPrecision = 1e-5;
  return lasso_path(inputs, output, lambdas, kPrecision);
}

}  // namespace atalaya::phases
