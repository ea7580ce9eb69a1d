// SPDX-License-Identifier: Apache-2.0
// Which columns of a table go with an index: correlation with it, and the principal components of the columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace atalaya::bottleneck {

struct Table {
  std::vector<std::string> names;            // of the columns
  std::vector<std::vector<double>> columns;  // all of one length
  size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
};

// Columns that do not change are left out; the others get the mean 0 and the standard deviation 1.
Table normalised(Table table);

struct Component {
  double explained = 0;          // the part of all variance
  std::vector<double> loadings;  // the correlation of each column with it; the largest is positive
};
// Of the columns' correlation matrix, the largest first. The table is normalised.
std::vector<Component> principal_components(const Table &table);

// The first of them; of a table with very many columns that of the first 500. All columns have loadings. Empty of an empty table.
Component first_component(const Table &table);

struct Coefficient {
  std::string name;
  double correlation = 0;  // with the index
  double loading = 0;      // on the first principal component
};
struct Correlated {
  std::vector<Coefficient> all;  // by size of the correlation
  size_t leading = 0;            // so many of them have 80 % of the sum of all sizes
  double explained = 0;          // by the first component
  size_t rows = 0;
};
// Nothing where fewer than three rows or a constant index leave nothing to correlate.
Correlated correlate(const Table &table, const std::vector<double> &index);

}  // namespace atalaya::bottleneck
