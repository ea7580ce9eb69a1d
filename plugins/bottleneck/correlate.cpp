// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/correlate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/bottleneck/statistics.h"

namespace atalaya::bottleneck {
namespace {

constexpr double kLeadingPart = 0.8;

// False: constant, but for rounding.
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
  for (Eigen::Index i = columns; i-- > 0;) {  // it has them in ascending order
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

Correlated correlate(const Table &table, const std::vector<double> &index) {
  constexpr size_t kFewestRows = 3;
  Correlated found;
  std::vector<double> changing_index = index;
  if (index.size() < kFewestRows || !normalise(changing_index)) return found;
  const Table columns = normalised(table);
  const std::vector<Component> components = principal_components(columns);
  if (components.empty()) return found;
  found.rows = index.size();
  found.explained = components.front().explained;
  double sum = 0;
  for (size_t i = 0; i < columns.columns.size(); ++i) {
    const double coefficient = correlation(columns.columns[i], index);
    found.all.push_back({columns.names[i], coefficient, components.front().loadings[i]});
    sum += std::abs(coefficient);
  }
  std::stable_sort(found.all.begin(), found.all.end(),
                   [](const Coefficient &a, const Coefficient &b) { return std::abs(a.correlation) > std::abs(b.correlation); });
  for (double reached = 0; found.leading < found.all.size() && reached < sum * kLeadingPart; ++found.leading)
    reached += std::abs(found.all[found.leading].correlation);
  return found;
}

}  // namespace atalaya::bottleneck
