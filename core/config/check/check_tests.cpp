// SPDX-License-Identifier: Apache-2.0
#include "core/config/check/check_tests.h"

#include <algorithm>
#include <array>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "core/config/components.h"

namespace atalaya::core {
namespace {

constexpr int64_t kDefaultTime_ns = 1'700'000'000'000'000'000;
constexpr int64_t kDefaultInterval_ns = 5'000'000'000;

constexpr atalaya_param kTagValue = {.type = ATALAYA_STRING, .flags = 0};
constexpr std::array kSampleParams = {
    atalaya_param{.name = ATALAYA_STR("kind"),
                  .type = ATALAYA_ENUM,
                  .flags = 0,
                  .default_text = ATALAYA_STR("metrics"),
                  .allowed = ATALAYA_STR("metrics|stack|span")},
    atalaya_param{.name = ATALAYA_STR("time"), .type = ATALAYA_INT, .flags = 0, .unit = ATALAYA_STR("ns")},
    atalaya_param{.name = ATALAYA_STR("duration"), .type = ATALAYA_INT, .flags = 0, .unit = ATALAYA_STR("ns")},
    atalaya_param{.name = ATALAYA_STR("text"), .type = ATALAYA_STRING, .flags = 0},
    atalaya_param{.name = ATALAYA_STR("tags"),
                  .type = ATALAYA_MAP,
                  .flags = 0,
                  .items = &kTagValue,
                  .item_count = 1,
                  .item_size = sizeof(atalaya_param)},
};
constexpr std::array kTestParams = {
    atalaya_param{.name = ATALAYA_STR("pipeline"), .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED},
    atalaya_param{.name = ATALAYA_STR("time"), .type = ATALAYA_INT, .flags = 0, .unit = ATALAYA_STR("ns")},
    atalaya_param{.name = ATALAYA_STR("every"), .type = ATALAYA_DURATION, .flags = ATALAYA_BOUNDED, .min = 1, .max = 86400e9},
};

template <size_t Size>
Parameters resolved(const std::array<atalaya_param, Size> &params, const Value &written, std::vector<Problem> &problems) {
  return Parameters::resolve({params.data(), static_cast<uint32_t>(Size), sizeof(atalaya_param)}, written, problems);
}

// Takes a member out of a table, so that the schema does not see it.
Value taken(Value &table, std::string_view name) {
  const auto found = std::find_if(table.map.begin(), table.map.end(), [&](const auto &member) { return member.first == name; });
  if (found == table.map.end()) return {};
  Value value = std::move(found->second);
  table.map.erase(found);
  return value;
}

int64_t integer_or(const Parameters &parameters, std::string_view name, int64_t otherwise) {
  const Parameter *parameter = parameters.find(name);
  return parameter == nullptr ? otherwise : parameter->i64;
}

class CaseReader {
 public:
  CaseReader(const RawTest &raw, const Validation &validation, std::vector<Problem> &problems)
      : raw_(raw), validation_(validation), problems_(problems) {}

  TestCase read() {
    TestCase result;
    result.name = raw_.name;
    result.where = raw_.where;
    if (raw_.body.type != Value::Type::table) {
      problems_.push_back(
          {"", "there is no table of its parts; write a.test \"name\" { pipeline = ..., input = ..., expect = ... }"});
      return result;
    }
    Value body = raw_.body;
    const Value input = taken(body, "input");
    const Value expect = taken(body, "expect");
    const auto parameters = resolved(kTestParams, body, problems_);
    find_pipeline(parameters, result);
    result.time_ns = integer_or(parameters, "time", kDefaultTime_ns / result.interval_ns * result.interval_ns);
    result.input = samples("input", input, result);
    result.expect = samples("expect", expect, result);
    return result;
  }

 private:
  void find_pipeline(const Parameters &parameters, TestCase &result) {
    result.interval_ns = integer_or(parameters, "every", kDefaultInterval_ns);
    const Parameter *name = parameters.find("pipeline");
    if (name == nullptr) return;
    const auto &pipelines = validation_.description.pipelines;
    std::vector<std::string> names;
    for (result.pipeline = 0; result.pipeline < pipelines.size(); ++result.pipeline) {
      const auto &pipeline = pipelines[result.pipeline];
      names.push_back(pipeline.name);
      if (pipeline.name != name->text) continue;
      if (pipeline.every_ns > 0 && parameters.find("every") == nullptr) result.interval_ns = pipeline.every_ns;
      return;
    }
    problems_.push_back({"pipeline", "there is no pipeline " + in_quotes(name->text) + did_you_mean(name->text, names)});
  }

  TestSamples samples(const std::string &path, const Value &written, const TestCase &test) {
    TestSamples result;
    if (written.type == Value::Type::string) {
      const size_t slash = test.where.file.rfind('/');
      const bool relative = slash != std::string::npos && written.string.front() != '/';
      result.file = (relative ? test.where.file.substr(0, slash + 1) : "") + written.string;
    } else if (written.type == Value::Type::table && written.map.empty()) {
      for (size_t i = 0; i < written.list.size(); ++i)
        result.samples.push_back(sample(path + "[" + std::to_string(i + 1) + "]", written.list[i], test));
    } else {
      problems_.push_back({path, "is a list of samples, { { tags = { ... }, fields = { ... } }, ... }, or the name of a file"});
    }
    return result;
  }

  TestSample sample(const std::string &path, Value written, const TestCase &test) {
    TestSample result;
    const Value fields = taken(written, "fields");
    std::vector<Problem> found;
    const auto parameters = resolved(kSampleParams, written, found);
    for (auto &problem : found)
      problems_.push_back({problem.path.empty() ? path : path + "." + problem.path, std::move(problem.text)});
    result.time_ns = integer_or(parameters, "time", test.time_ns);
    result.duration_ns = integer_or(parameters, "duration", test.interval_ns);
    if (const Parameter *kind = parameters.find("kind"))
      result.kind = kind->text == "stack" ? ATALAYA_STACK : kind->text == "span" ? ATALAYA_SPAN : ATALAYA_METRICS;
    if (const Parameter *text = parameters.find("text")) result.text = text->text;
    if (const Parameter *tags = parameters.find("tags"))
      for (const auto &tag : tags->children) result.tags.emplace_back(tag.key, tag.text);
    for (const auto &[name, value] : fields.map) {
      atalaya_field field{};
      if (value.type == Value::Type::integer) {
        field.type = ATALAYA_I64;
        field.value.i64 = value.integer;
      } else if (value.type == Value::Type::number) {
        field.type = ATALAYA_F64;
        field.value.f64 = value.number;
      } else {
        problems_.push_back({std::string(path).append(".fields.").append(name), "a field is a number"});
        continue;
      }
      result.fields.emplace_back(name, field);
    }
    return result;
  }

  const RawTest &raw_;
  const Validation &validation_;
  std::vector<Problem> &problems_;
};

}  // namespace

std::vector<TestCase> check_tests(const Evaluation &evaluation, Validation &validation) {
  std::vector<TestCase> cases;
  for (const auto &raw : evaluation.tests) {
    if (!evaluation.finished && raw.body.type == Value::Type::nil) continue;  // the file stopped before its body
    std::vector<Problem> problems = raw.problems;
    cases.push_back(CaseReader(raw, validation, problems).read());
    for (const auto &problem : problems)
      validation.errors.push_back({raw.where, "test " + in_quotes(raw.name) + ": " + text_of(problem)});
  }
  return cases;
}

}  // namespace atalaya::core
