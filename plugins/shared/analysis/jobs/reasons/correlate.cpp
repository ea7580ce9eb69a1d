// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/correlate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::jobs {
namespace {

constexpr double kLeadingPart = 0.8;

// Standardises the column; false if it is constant, except for rounding errors.
bool normalise(std::vector<double> &column) {
  const auto count = static_cast<double>(column.size());
  double mean = 0, squares = 0, largest = 0;
  for (const double value : column) mean += value / count;
  for (const double value : column) {
    squares += (value - mean) * (value - mean) / count;
    largest = std::max(largest, std::abs(value));
  }
  const double deviation = std::sqrt(squares);
  if (!(deviation > largest * 1e-12)) return false;
  for (double &value : column) value = (value - mean) / deviation;
  return true;
}

}  // namespace

Table normalised(Table table) {
  Table changing;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (!normalise(table.columns[i])) continue;
    changing.names.push_back(std::move(table.names[i]));
    changing.columns.push_back(std::move(table.columns[i]));
  }
  return changing;
}

std::vector<Component> principal_components(const Table &table) {
  const auto columns = static_cast<Eigen::Index>(table.columns.size());
  const auto rows = static_cast<Eigen::Index>(table.rows());
  if (columns == 0 || rows == 0) return {};
  Eigen::MatrixXd values(rows, columns);
  for (Eigen::Index i = 0; i < columns; ++i)
    values.col(i) = Eigen::Map<const Eigen::VectorXd>(table.columns[static_cast<size_t>(i)].data(), rows);
  const Eigen::MatrixXd correlations = values.transpose() * values / static_cast<double>(rows);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(correlations);
  std::vector<Component> components;
  for (Eigen::Index i = columns; i-- > 0;) {  // eigenvalues are in ascending order
    const double variance = std::max(0.0, solver.eigenvalues()[i]);
    Component component{variance / static_cast<double>(columns), {}};
    Eigen::VectorXd loadings = solver.eigenvectors().col(i) * std::sqrt(variance);
    Eigen::Index largest = 0;
    loadings.cwiseAbs().maxCoeff(&largest);
    if (loadings[largest] < 0) loadings = -loadings;
    component.loadings.assign(loadings.data(), loadings.data() + loadings.size());
    components.push_back(std::move(component));
  }
  return components;
}

// Limits the number of columns: the cost is cubic in it, and frameworks may have thousands of counters.
Component first_component(const Table &table) {
  constexpr size_t kMaxColumns = 500;
  if (table.columns.size() <= kMaxColumns) {
    const std::vector<Component> components = principal_components(table);
    return components.empty() ? Component() : components.front();
  }
  Table part;
  part.columns.assign(table.columns.begin(), table.columns.begin() + kMaxColumns);
  Component component = principal_components(part).front();
  std::vector<double> scores(table.rows(), 0);
  for (size_t i = 0; i < kMaxColumns; ++i)
    for (size_t row = 0; row < scores.size(); ++row) scores[row] += component.loadings[i] * part.columns[i][row];
  component.loadings.clear();
  for (const std::vector<double> &column : table.columns) component.loadings.push_back(evidence::correlation(column, scores));
  return component;
}

Correlated correlate(const Table &table, const std::vector<double> &index) {
  constexpr size_t kMinRows = 3;
  Correlated found;
  std::vector<double> changing_index = index;
  if (index.size() < kMinRows || !normalise(changing_index)) return found;
  Table columns = normalised(table);
  if (columns.columns.empty()) return found;
  std::vector<std::pair<double, size_t>> order;  // columns with the largest correlation come first, in the component too
  double sum = 0;
  for (size_t i = 0; i < columns.columns.size(); ++i) {
    order.emplace_back(evidence::correlation(columns.columns[i], index), i);
    sum += std::abs(order.back().first);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return std::abs(a.first) > std::abs(b.first); });
  Table ordered;
  for (const auto &[coefficient, place] : order) {
    ordered.names.push_back(std::move(columns.names[place]));
    ordered.columns.push_back(std::move(columns.columns[place]));
  }
  const Component component = first_component(ordered);
  found.rows = index.size();
  found.explained = component.explained;
  for (size_t i = 0; i < order.size(); ++i) found.all.push_back({ordered.names[i], order[i].first, component.loadings[i]});
  for (double reached = 0; found.leading < found.all.size() && reached < sum * kLeadingPart; ++found.leading)
    reached += std::abs(found.all[found.leading].correlation);
  return found;
}

}  // namespace atalaya::jobs
