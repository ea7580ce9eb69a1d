// SPDX-License-Identifier: Apache-2.0
// Correlation of a table's columns with an index, and the principal components of the columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace atalaya::jobs {

struct Table {
  std::vector<std::string> names;            // names of the columns
  std::vector<std::vector<double>> columns;  // all of equal length
  size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
};

// Removes constant columns; normalises the others to mean 0 and standard deviation 1.
Table normalised(Table table);

struct Component {
  double explained = 0;          // share of the total variance
  std::vector<double> loadings;  // correlation of each column with the component; the largest is positive
};
// Returns the principal components of the columns, from their correlation matrix, the largest first. The table must be
// normalised.
std::vector<Component> principal_components(const Table &table);

// Returns the first component with the loadings of all columns; it is computed from the first 500 columns. Empty for an empty
// table.
Component first_component(const Table &table);

struct Coefficient {
  std::string name;
  double correlation = 0;  // correlation of the column with the index
  double loading = 0;      // loading of the column on the first principal component
};
struct Correlated {
  std::vector<Coefficient> all;  // sorted by absolute correlation
  size_t leading = 0;            // number of the first coefficients that have 80 % of the sum of all absolute values
  double explained = 0;          // share of the variance that the first component explains
  size_t rows = 0;
};
// Correlates the columns with the index. Empty with fewer than three rows or a constant index.
Correlated correlate(const Table &table, const std::vector<double> &index);

}  // namespace atalaya::jobs
