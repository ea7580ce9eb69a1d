// SPDX-License-Identifier: Apache-2.0
// Parses the part of PromQL that dashboards use: selectors; sum, avg, min, max, count and topk with by and without; rate, increase,
// ..._over_time; arithmetic, comparisons, offset. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::serve {

enum class ValueType : uint8_t { scalar, vector, range };

struct LabelMatcher {
  std::string label, sign, value;  // sign: = != =~ !~
};

struct Expression;
using Part = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind : uint8_t { number, selector, negation, binary, aggregation, call };

  Kind kind = Kind::number;
  ValueType type = ValueType::scalar;
  double number = 0;
  std::string word;  // selector: the metric name; otherwise the operator, aggregation or function
  std::vector<LabelMatcher> matchers;
  int64_t range_ns = 0, offset_ns = 0;  // range and offset of a selector; range_ns 0: an instant selector
  bool keeps_labels = false;            // true: `labels` are those of by or on; false: those of without or ignoring
  bool matches_all = false;             // the binary operator has neither on nor ignoring: all labels must be equal
  bool returns_bool = false;
  std::vector<std::string> labels;
  std::vector<Part> parts;
};

// Throws query::Wrong with the position of the error and a list of the supported syntax.
Part read_promql(std::string_view text);

bool is_comparison(std::string_view sign);

}  // namespace atalaya::serve
