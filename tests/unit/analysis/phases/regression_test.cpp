// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/regression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/analysis/phases/traces.h"

namespace atalaya::phases {
namespace {

using doctest::Approx;

struct Data {
  Table inputs;
  std::vector<double> output;
};

Data random_data(std::mt19937 &random, size_t rows, size_t columns, double noise) {
  std::normal_distribution<double> normal(0, 1);
  Data data{{columns, {}}, {}};
  for (size_t i = 0; i < rows; ++i) {
    std::vector<double> row;
    for (size_t j = 0; j < columns; ++j) row.push_back(normal(random) * std::pow(10, static_cast<double>(j % 4)) + 3);
    data.output.push_back(7 + 2 * row[0] - (columns > 2 ? 0.05 * row[2] : 0) + noise * normal(random));
    data.inputs.add(row);
  }
  return data;
}

TEST_CASE("the LASSO has the coefficients of glmnet") {
  std::ifstream file("tests/fixtures/phases/glmnet.txt");
  std::string word;
  size_t rows = 0, columns = 0, steps = 0, cases = 0;
  while (file >> word >> rows >> columns >> steps) {
    REQUIRE(word == "case");
    Data data{{columns, std::vector<double>()}, {}};
    for (size_t i = 0; i < rows; ++i) {
      double y = 0;
      file >> y;
      data.output.push_back(y);
      std::vector<double> row(columns);
      for (double &value : row) file >> value;
      data.inputs.add(row);
    }
    for (size_t step = 0; step < steps; ++step) {
      std::vector<double> expected(columns);
      double lambda = 0, intercept = 0;
      file >> lambda >> intercept;
      for (double &value : expected) file >> value;
      const Linear found = lasso_path(data.inputs, data.output, std::vector<double>{lambda}).front();
      CAPTURE(rows);
      CAPTURE(lambda);
      CHECK(found.intercept == Approx(intercept).epsilon(1e-6));
      for (size_t j = 0; j < columns; ++j)
        CHECK(std::abs(found.coefficients[j] - expected[j]) <= 1e-6 * (std::abs(expected[j]) + 1e-2));
    }
    ++cases;
  }
  CHECK(cases == 3);
}

TEST_CASE("every solution fulfils the conditions of optimality, and the first one has no coefficient") {
  std::mt19937 random(1);
  for (int round = 0; round < 30; ++round) {
    const Data data = random_data(random, 10 + random() % 40, 1 + random() % 40, 1);
    const auto path = lasso_path(data.inputs, data.output);
    REQUIRE(path.size() == 100);
    for (const double coefficient : path[0].coefficients) CHECK(std::abs(coefficient) < 1e-9);
    for (const Linear &solution : path) CHECK(kkt_breach(data.inputs, data.output, solution) < 1e-6);
    Linear wrong = path[50];
    wrong.coefficients[0] += 0.1;
    CHECK(kkt_breach(data.inputs, data.output, wrong) > 1e-4);  // the check can fail
  }
}

TEST_CASE("one input: the closed form") {
  // y = 1 + 2 x; x has mean 2 and variance 2/3. b = S(cov / sd, lambda) / sd.
  const Table inputs{1, {1, 2, 3}};
  const std::vector<double> output{3, 5, 7};
  const double deviation = std::sqrt(2.0 / 3);
  for (const double lambda : {0.0, 0.5, 1.0, 3.0}) {
    const Linear found = lasso_path(inputs, output, std::vector<double>{lambda}).front();
    const double expected = std::max(2 * deviation - lambda, 0.0) / deviation;
    CHECK(found.coefficients[0] == Approx(expected));
    CHECK(found.intercept == Approx(5 - 2 * expected));
    const Linear ridge = ridge_path(inputs, output, std::vector<double>{lambda}).front();
    CHECK(ridge.coefficients[0] == Approx(2 / (1 + lambda)));
  }
}

TEST_CASE("a constant input has no coefficient, a constant output no slope") {
  Table inputs{2, {5, 1, 5, 2, 5, 4, 5, 3}};
  const std::vector<double> output{2, 4, 8, 6}, constant{3, 3, 3, 3};
  const Linear found = lasso_path(inputs, output, std::vector<double>{0.0}).front();
  CHECK(found.coefficients[0] == 0);
  CHECK(found.coefficients[1] == Approx(2));
  const Linear flat = lasso_path(inputs, constant, std::vector<double>{0.0}).front();
  CHECK(flat.coefficients[1] == 0);
  CHECK(flat.at(inputs.row(0)) == Approx(3));
}

TEST_CASE("cross-validation finds the inputs that count, and no law in noise") {
  std::mt19937 random(4);
  uint32_t useless = 0;
  const uint32_t rounds = test::rounds(20);
  for (uint32_t round = 0; round < rounds; ++round) {
    const Data data = random_data(random, 30, 20, 0.3);
    const Validated found = cross_validated(data.inputs, data.output, 10, fast_lasso_path);
    CHECK(found.r2 > 0.8);
    CHECK(std::abs(found.model.coefficients[0] - 2) < 0.4);
    CHECK(found.held_out.size() == 30);
    std::normal_distribution<double> normal(0, 1);
    std::vector<double> noise;
    for (size_t i = 0; i < 30; ++i) noise.push_back(normal(random));
    useless += cross_validated(data.inputs, noise, 10, fast_lasso_path).r2 < 0.3 ? 1U : 0U;
  }
  CHECK(useless + 1 >= rounds);
}

}  // namespace
}  // namespace atalaya::phases
