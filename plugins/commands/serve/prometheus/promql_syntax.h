// SPDX-License-Identifier: Apache-2.0
// The part of PromQL that dashboards use: selectors, sum avg min max count topk with by and without, rate, increase, ..._over_time,
// arithmetic, comparisons, offset. Pure.
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
  std::string word;  // of a selector its name, else an operator, an aggregation or a function
  std::vector<LabelMatcher> matchers;
  int64_t range_ns = 0, offset_ns = 0;  // of a selector; range 0: none
  bool keeps_labels = false;            // by and on; else without and ignoring
  bool matches_all = false;             // of a binary operator: neither on nor ignoring
  bool returns_bool = false;
  std::vector<std::string> labels;
  std::vector<Part> parts;
};

// Throws query::Wrong with the position, and with what is supported.
Part read_promql(std::string_view text);

bool is_comparison(std::string_view sign);

}  // namespace atalaya::serve
