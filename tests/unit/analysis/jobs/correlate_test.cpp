// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/correlate.h"
#include "plugins/shared/analysis/jobs/reasons/explain.h"

namespace atalaya::bottleneck {
namespace {

constexpr size_t kRows = 64;

// Columns without any correlation among them: waves of different lengths.
std::vector<double> wave(size_t number) {
  std::vector<double> column;
  for (size_t i = 0; i < kRows; ++i)
    column.push_back(std::cos(2 * std::numbers::pi * static_cast<double>(number) * (static_cast<double>(i) + 0.5) / kRows));
  return column;
}

// Exactly this correlation with the first wave, and none with any other number in the residual.
std::vector<double> column_with(double coefficient, size_t number) {
  const std::vector<double> index = wave(1), rest = wave(number);
  std::vector<double> column;
  for (size_t i = 0; i < kRows; ++i) column.push_back(coefficient * index[i] + std::sqrt(1 - coefficient * coefficient) * rest[i]);
  return column;
}

TEST_CASE("medians, deviations and Student's distribution") {
  CHECK(evidence::median({3, 1, 2}) == 2);
  CHECK(evidence::median({4, 1, 2, 3}) == 2.5);
  CHECK(std::isnan(evidence::median({})));
  CHECK(evidence::robust_deviation({1, 2, 3, 4, 100}, 3) == doctest::Approx(1.4826));
  // Of printed tables.
  CHECK(evidence::student_tail(12.706, 1) == doctest::Approx(0.025).epsilon(1e-3));
  CHECK(evidence::student_tail(2.228, 10) == doctest::Approx(0.025).epsilon(1e-3));
  CHECK(evidence::student_tail(1.812, 10) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(evidence::student_tail(3.169, 10) == doctest::Approx(0.005).epsilon(1e-3));
  CHECK(evidence::student_tail(-1.812, 10) == doctest::Approx(0.95).epsilon(1e-3));
  CHECK(evidence::student_tail(0, 5) == doctest::Approx(0.5));
  // With two degrees it is 1/2 - t / (2 sqrt(2 + t^2)).
  for (const double t : {0.5, 3.0, 40.0})
    CHECK(evidence::student_tail(t, 2) == doctest::Approx(0.5 - t / (2 * std::sqrt(2 + t * t))));
  CHECK(evidence::student_tail(8, 1e6) < 1e-14);
}

TEST_CASE("correlation is Pearson's") {
  // By hand: means 3 and 4, sum of products 8, of squares 10 and 10.
  const std::vector<double> a = {1, 2, 3, 4, 5}, b = {2, 4, 3, 5, 6};
  CHECK(evidence::correlation(a, b) == doctest::Approx(0.9));
  CHECK(evidence::correlation(a, std::vector<double>{5, 4, 3, 2, 1}) == doctest::Approx(-1));
  CHECK(std::isnan(evidence::correlation(a, std::vector<double>{7, 7, 7, 7, 7})));
}

TEST_CASE("thousands of columns have loadings in no time") {
  constexpr size_t kMany = 4000, kFew = 200;
  jobs::Table table;
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise;
  std::vector<double> index;
  for (size_t row = 0; row < kFew; ++row) index.push_back(noise(random));
  for (size_t i = 0; i < kMany; ++i) {
    table.names.push_back("c" + std::to_string(i));
    std::vector<double> &column = table.columns.emplace_back();
    for (size_t row = 0; row < kFew; ++row) column.push_back((i % 2 == 0 ? index[row] : -index[row]) + 0.3 * noise(random));
  }
  const jobs::Correlated found = correlate(table, index);
  REQUIRE(found.all.size() == kMany);
  for (const jobs::Coefficient &one : found.all) {
    CHECK(std::abs(one.correlation) > 0.9);
    CHECK(std::abs(one.loading) > 0.9);
    CHECK(std::signbit(one.loading * one.correlation) == std::signbit(found.all[0].loading * found.all[0].correlation));
  }
  CHECK(found.explained > 0.85);
}

TEST_CASE("columns are normalised, and those that do not change are left out") {
  const jobs::Table table = jobs::normalised({{"a", "still", "b"}, {{1, 2, 3}, {0.1, 0.1, 0.1}, {10, 10, 40}}});
  CHECK(table.names == std::vector<std::string>{"a", "b"});
  for (const std::vector<double> &column : table.columns) {
    double sum = 0, squares = 0;
    for (const double value : column) {
      sum += value;
      squares += value * value;
    }
    CHECK(sum == doctest::Approx(0));
    CHECK(squares == doctest::Approx(3));
  }
}

TEST_CASE("the components of two columns match the formula") {
  // Of a correlation matrix (1 r; r 1) the variances are 1 + r and 1 - r, the loadings the square roots of half of them.
  const double r = 0.6;
  const auto components = jobs::principal_components(jobs::normalised({{"a", "b"}, {wave(1), column_with(r, 2)}}));
  REQUIRE(components.size() == 2);
  CHECK(components[0].explained == doctest::Approx((1 + r) / 2));
  CHECK(components[1].explained == doctest::Approx((1 - r) / 2));
  for (const double loading : components[0].loadings) CHECK(loading == doctest::Approx(std::sqrt((1 + r) / 2)));
  CHECK(std::abs(components[1].loadings[0]) == doctest::Approx(std::sqrt((1 - r) / 2)));
}

TEST_CASE("columns of one cause have one component") {
  const std::vector<double> cause = wave(3);
  jobs::Table table;
  for (const double factor : {1.0, -2.0, 30.0}) {
    table.names.push_back(std::to_string(factor));
    table.columns.emplace_back();
    for (const double value : cause) table.columns.back().push_back(5 + factor * value);
  }
  const auto components = principal_components(normalised(table));
  CHECK(components[0].explained == doctest::Approx(1));
  CHECK(components[0].loadings[0] * components[0].loadings[1] == doctest::Approx(-1));
}

// The published table of the operating system's metrics in the phase read, by the names they have here.
const std::vector<std::pair<std::string, double>> kTable = {
    {"sys.cpu.idle", 0.68735},         {"sys.net.in.packets", 0.672522},    {"sys.net.out.mb", 0.669911},
    {"sys.cpu.user", 0.587909},        {"sys.tasks.running", 0.571993},     {"sys.interrupts", 0.568738},
    {"sys.net.out.packets", 0.557178}, {"sys.tasks.total", 0.541811},       {"sys.mem.pgout.bytes", 0.460739},
    {"sys.disk.write.mb", 0.460739},   {"sys.disk.write.merges", 0.453033}, {"sys.net.in.mb", 0.387817},
    {"sys.mem.free", 0.358849},        {"sys.disk.write.time", 0.273462}};

TEST_CASE("of data with the published coefficients these are found, and the network leads") {
  jobs::Table table;
  for (size_t i = 0; i < kTable.size(); ++i) {
    // The sign does not count, nor do the order, the unit and where zero is.
    const size_t from_end = kTable.size() - 1 - i;
    table.names.push_back(kTable[from_end].first);
    std::vector<double> column = column_with(kTable[from_end].second, from_end + 2);
    for (double &value : column) value = 1000 + (i % 2 == 0 ? -40 : 7) * value;
    table.columns.push_back(std::move(column));
  }
  table.names.push_back("sys.swap.total");
  table.columns.emplace_back(kRows, 0);
  const jobs::Correlated found = correlate(table, wave(1));
  REQUIRE(found.all.size() == kTable.size());
  double sum = 0;
  for (size_t i = 0; i < kTable.size(); ++i) {
    CHECK(std::abs(found.all[i].correlation) == doctest::Approx(kTable[i].second));
    sum += kTable[i].second;
  }
  CHECK(found.all[0].name == "sys.cpu.idle");
  CHECK(found.all[1].name == "sys.net.in.packets");
  // 80 % of 7.252051 are reached with the eleventh: the first ten have 5.778890, with it they have 6.231923.
  CHECK(sum == doctest::Approx(7.252051));
  CHECK(found.leading == 11);
  CHECK(leading_resource(found) == jobs::Resource::network);
}

TEST_CASE("nothing is correlated with an index that does not change, or of two rows") {
  CHECK(jobs::correlate({{"a"}, {wave(1)}}, std::vector<double>(kRows, 3)).all.empty());
  CHECK(jobs::correlate({{"a"}, {{1, 2}}}, {1, 2}).all.empty());
  CHECK(jobs::correlate({}, {1, 2, 3}).all.empty());
}

}  // namespace
}  // namespace atalaya::bottleneck
