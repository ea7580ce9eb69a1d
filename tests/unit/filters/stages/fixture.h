// SPDX-License-Identifier: Apache-2.0
// A component with parameters as an operator would write them, and batches as lines of text:
//   host=a pid=7 | proc.cpu.user=1.5 proc.threads=3i        (i: a count)
//   stack main;work | host=a | profile.samples=4i           span sort | job=1 | x=1
#pragma once

#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/instance.h"
#include "tests/unit/lines.h"

namespace atalaya::testing {

inline core::Value number(double value) {
  core::Value result;
  result.type = core::Value::Type::number;
  result.number = value;
  return result;
}
inline core::Value integer(int64_t value) {
  core::Value result;
  result.type = core::Value::Type::integer;
  result.integer = value;
  return result;
}
inline core::Value boolean(bool value) {
  core::Value result;
  result.type = core::Value::Type::boolean;
  result.boolean = value;
  return result;
}
inline core::Value text(std::string value) {
  core::Value result;
  result.type = core::Value::Type::string;
  result.string = std::move(value);
  return result;
}
inline core::Value list(std::initializer_list<std::string> values) {
  core::Value result;
  result.type = core::Value::Type::table;
  for (const std::string &value : values) result.list.push_back(text(value));
  return result;
}
inline core::Value list_of(std::vector<core::Value> values) {
  core::Value result;
  result.type = core::Value::Type::table;
  result.list = std::move(values);
  return result;
}
inline core::Value table(std::initializer_list<std::pair<std::string, core::Value>> values) {
  core::Value result;
  result.type = core::Value::Type::table;
  result.map = values;
  std::sort(result.map.begin(), result.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  return result;
}

// The ledger's side of a stage, and its clock.
class TestSurroundings final : public core::Surroundings {
 public:
  void count(int32_t kind, std::string_view, uint64_t n) override {
    (kind == ATALAYA_COUNT_MERGED ? merged : kind == ATALAYA_COUNT_CREATED ? created : dropped) += n;
  }
  int64_t now(int32_t) override { return clock; }
  void log(core::LogLevel, std::string_view text) override { (logged += text) += '\n'; }
  bool ledger(uint64_t row, atalaya_ledger_row &out) override {
    if (row >= rows.size()) return false;
    out = rows[row];
    return true;
  }

  std::optional<std::string> state_dir() override { return folder; }

  std::optional<std::string> folder;  // of the state
  uint64_t merged = 0, created = 0, dropped = 0;
  int64_t clock = 0;
  std::string logged;  // lines
  std::vector<atalaya_ledger_row> rows;
};

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kWindowTime = 1'700'000'000 * kSecond;

inline atalaya_window window_at(int64_t second = 0) {
  return {sizeof(atalaya_window), 0, kWindowTime + second * kSecond, kSecond, kSecond, second * kSecond};
}

// The call before a stop, after that window.
inline atalaya_window last_call_at(int64_t second = 0) {
  return {sizeof(atalaya_window), ATALAYA_WINDOW_LAST | ATALAYA_WINDOW_BASELINE, kWindowTime + second * kSecond, 0, kSecond,
          second * kSecond};
}

// Of a batch that came when it did.
inline atalaya_window arrival_at(int64_t second = 0) {
  return {sizeof(atalaya_window), 0, kWindowTime + second * kSecond, 0, 0, second * kSecond};
}

template <class T>
class Bench {
 public:
  explicit Bench(const core::Value &written = {}, std::optional<std::string> state_folder = std::nullopt) {
    surroundings.folder = std::move(state_folder);
    const atalaya_component &component = detail::component_of<T>;
    std::vector<core::Problem> problems;
    auto parameters = core::Parameters::resolve(core::schema_of(component), written, problems);
    for (const core::Problem &problem : problems) FAIL(problem.path << ": " << problem.text);
    auto made = core::Instance::create({nullptr, &component}, std::move(parameters), "test", symbols, surroundings);
    if (made) {
      instance_ = std::move(*made);
      REQUIRE(instance_->start().ok());
    } else {
      refused = made.error();
    }
  }

  // Adds one sample in the form above.
  void add(const std::string &line, int64_t time_ns = kWindowTime, int64_t duration_ns = kSecond) {
    std::vector<std::string> parts;
    for (size_t at = 0; at != std::string::npos;) {
      const size_t end = line.find('|', at);
      parts.push_back(line.substr(at, end == std::string::npos ? end : end - at));
      at = end == std::string::npos ? end : end + 1;
    }
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = time_ns;
    sample.duration_ns = duration_ns;
    if (parts.size() == 3) {
      std::istringstream head(parts.front());
      std::string kind, name;
      head >> kind >> name;
      sample.kind = kind == "stack" ? ATALAYA_STACK : ATALAYA_SPAN;
      sample.text = batch.copy(name);
      parts.erase(parts.begin());
    }
    REQUIRE(parts.size() == 2);
    std::istringstream tags(parts[0]), fields(parts[1]);
    for (std::string word; tags >> word;)
      batch.add_tag(sample, symbols.intern(word.substr(0, word.find('='))), word.substr(word.find('=') + 1));
    for (std::string word; fields >> word;) batch.add_field(sample, field(word));
  }

  // The samples of the batch, in the same form.
  std::vector<std::string> lines() {
    std::vector<std::string> result;
    for (uint64_t i = 0; i < batch.count(); ++i) result.push_back(line(batch.raw().samples[i]));
    return result;
  }

  // Output of the component for these lines in one window.
  std::vector<std::string> process(const std::vector<std::string> &in, int64_t second = 0) {
    return process(in, window_at(second));
  }
  std::vector<std::string> process(const std::vector<std::string> &in, const atalaya_window &window) {
    batch.clear();
    for (const std::string &one : in) add(one, window.time_ns);
    run(window);
    return lines();
  }
  void run(int64_t second = 0) { run(window_at(second)); }
  void run(const atalaya_window &window) {
    REQUIRE_MESSAGE(instance_ != nullptr, refused);
    const core::Outcome outcome = instance_->process(window, batch);
    REQUIRE_MESSAGE(outcome.ok(), outcome.text);
  }
  // What it still holds when it stops after this window.
  std::vector<std::string> end(int64_t second = 0) {
    batch.clear();
    REQUIRE(instance_->process(last_call_at(second), batch).ok());
    return lines();
  }
  core::Outcome collect(const atalaya_window &window) {
    batch.clear();
    return instance_->collect(window, batch);
  }

  core::Symbols symbols;
  TestSurroundings surroundings;
  core::Batch batch;
  std::string refused;  // why create failed

 private:
  atalaya_field field(const std::string &word) {
    const size_t equals = word.find('=');
    atalaya_field field{symbols.intern(word.substr(0, equals)), ATALAYA_F64, {}};
    if (word.back() == 'i') {
      field.type = ATALAYA_I64;
      field.value.i64 = std::stoll(word.substr(equals + 1));
    } else {
      field.value.f64 = std::stod(word.substr(equals + 1));
    }
    return field;
  }

  std::string line(const atalaya_sample &sample) {
    std::string result;
    if (sample.kind != ATALAYA_METRICS) {
      result = sample.kind == ATALAYA_STACK ? "stack " : "span ";
      result += std::string(core::view_of(sample.text)) + " | ";
    }
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      result += std::string(symbols.name(sample.tags[i].key)) + "=" + std::string(core::view_of(sample.tags[i].value)) + " ";
    result += "|";
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const atalaya_field &field = sample.fields[i];
      char number[32];
      char *end = field.type == ATALAYA_I64 ? std::to_chars(number, number + sizeof(number), field.value.i64).ptr
                                            : std::to_chars(number, number + sizeof(number), field.value.f64).ptr;
      result +=
          " " + std::string(symbols.name(field.name)) + "=" + std::string(number, end) + (field.type == ATALAYA_I64 ? "i" : "");
    }
    return result;
  }

  std::unique_ptr<core::Instance> instance_;
};

using Lines = std::vector<std::string>;

}  // namespace atalaya::testing
