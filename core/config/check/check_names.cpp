// SPDX-License-Identifier: Apache-2.0
#include "core/config/check/check_names.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/config/lua/lua_tokens.h"
#include "core/plugin/strided.h"

namespace atalaya::core {
namespace {

constexpr std::string_view kMetric = "metric", kTag = "tag", kDotted = "*.*";

std::string_view first_word(std::string_view name) {
  return name.substr(0, name.find('.'));
}

// The names of one kind that can reach a stage.
struct Names {
  std::set<std::string> known;
  bool open = false;  // more names may be created at run time

  std::vector<std::string> near_to(std::string_view name) const {
    std::vector<std::string> names;
    for (const std::string &one : known)
      if (!open || first_word(one) == first_word(name)) names.push_back(one);
    return names;
  }
};

struct Input {
  Names metrics, tags;

  Input() { tags.known.insert("host"); }
  void open() { metrics.open = tags.open = true; }
};

void add_declared(const atalaya_component &component, Input &input) {
  const Strided<atalaya_metric> metrics(component.metrics, component.metric_count, component.metric_size);
  for (uint32_t i = 0; i < metrics.count(); ++i) {
    const atalaya_metric &metric = metrics.at(i);
    input.metrics.known.emplace(view_of(metric.name));
    const Strided<atalaya_metric_tag> tags(metric.tags, metric.tag_count, metric.tag_size);
    for (uint32_t t = 0; t < tags.count(); ++t) input.tags.known.emplace(view_of(tags.at(t).key));
  }
  const bool declares_later = (component.flags & ATALAYA_PUSH) != 0 || component.metric_count == 0;
  if (component.kind == ATALAYA_SOURCE && declares_later) input.open();
}

// All words in the parameters of a translator: any may be the name of a tag or metric that it adds.
void add_words(const Parameter &parameter, Input &input) {
  for (const std::string &word : {parameter.key, parameter.text}) {
    input.metrics.known.insert(word);
    input.tags.known.insert(word);
  }
  for (const Parameter &child : parameter.children) add_words(child, input);
}

class Checker {
 public:
  Checker(const Evaluation &evaluation, Validation &validation) : in_(evaluation), out_(validation) {}

  void run() {
    std::set<size_t> checked_sinks;
    for (const PipelineDescription &pipeline : out_.description.pipelines) {
      const Input input = output_of(pipeline, true, 0);
      for (const size_t sink : pipeline.sinks)
        if (checked_sinks.insert(sink).second) check(out_.description.sinks[sink], input);
    }
  }

 private:
  // The names after the last stage. With `report`, reports the mistakes in the stages.
  Input output_of(const PipelineDescription &pipeline, bool report, size_t depth) {
    Input input;
    for (const PipelineDescription &other : out_.description.pipelines)
      if (!pipeline.from.empty() && other.name == pipeline.from && depth < out_.description.pipelines.size())
        input = output_of(other, false, depth + 1);
    for (const StageDescription &source : pipeline.sources) add_declared(*source.component.component, input);
    label_ = "pipeline " + in_quotes(pipeline.name) + ": ";
    for (const StageDescription &stage : pipeline.stages) pass(stage, report, input);
    return input;
  }

  void pass(const StageDescription &stage, bool report, Input &input) {
    if (stage.function != 0) {
      function(stage, report, input);
      input.open();
      return;
    }
    if (report) check(stage, input);
    add_declared(*stage.component.component, input);
    if (stage.kind != ATALAYA_TRANSLATOR) return;
    if (const Parameter *all = stage.parameters.find("")) add_words(*all, input);
    input.tags.open = true;
  }

  void check(const StageDescription &stage, const Input &input) {
    const Parameter *all = stage.parameters.find("");
    if (all == nullptr) return;
    where_ = stage.where;
    prefix_ = label_ + std::string(kind_name(stage.kind)) + " " + in_quotes(stage.name) + ": ";
    const Schema schema = schema_of(*stage.component.component);
    for (const Parameter &value : all->children) member(schema, value, value.key, input);
  }

  void member(const Schema &schema, const Parameter &value, const std::string &path, const Input &input) {
    std::optional<atalaya_param> wildcard;
    for (uint32_t i = 0; i < schema.count(); ++i) {
      if (view_of(schema.at(i).name) == value.key) return parameter(schema.at(i), value, path, input);
      if (view_of(schema.at(i).name) == "*") wildcard = schema.at(i);
    }
    if (!wildcard) return;
    refer(view_of(wildcard->allowed) == kDotted ? kMetric : view_of(wildcard->unit), value.key, "", input);
  }

  void parameter(const atalaya_param &param, const Parameter &value, const std::string &path, const Input &input) {
    const std::string_view unit = view_of(param.unit);
    const Schema items(param.items, param.item_count, param.item_size);
    if (param.type == ATALAYA_STRING && value.text != view_of(param.default_text)) refer(unit, value.text, path, input);
    for (size_t i = 0; i < value.children.size(); ++i) {
      const Parameter &child = value.children[i];
      if (param.type == ATALAYA_RECORD) member(items, child, path + "." + child.key, input);
      if (param.type == ATALAYA_MAP) refer(unit, child.key, path, input);
      if (param.type == ATALAYA_MAP && items.count() > 0) parameter(items.at(0), child, path + "." + child.key, input);
      if (param.type == ATALAYA_LIST && items.count() > 0)
        parameter(items.at(0), child, path + "[" + std::to_string(i + 1) + "]", input);
    }
  }

  // A name that a parameter or a function refers to.
  void refer(std::string_view unit, const std::string &name, const std::string &path, const Input &input,
             bool in_function = false) {
    if ((unit != kMetric && unit != kTag) || name.empty() || name.front() == '!' || name.front() == '~') return;
    const Names &names = unit == kMetric ? input.metrics : input.tags;
    const bool pattern = name.find_first_of("*?[\\") != std::string::npos;
    const bool found = pattern ? std::any_of(names.known.begin(), names.known.end(),
                                             [&](const auto &one) { return ::fnmatch(name.c_str(), one.c_str(), 0) == 0; })
                               : names.known.contains(name);
    if (found) return;
    const std::string suggestion = pattern ? "" : did_you_mean(name, names.near_to(name));
    if (names.open && suggestion.empty()) return;
    std::string text = prefix_ + (path.empty() ? "" : path + ": ") + in_quotes(name) + (pattern ? " matches no " : " is no ") +
                       std::string(unit) + " of the sources before it" + suggestion;
    const bool mistake = !names.open && !in_function && !suggestion.empty();
    (mistake ? out_.errors : out_.warnings).push_back({where_, std::move(text)});
  }

  // The literals of an inline function: s.fields["proc.cpu.user"], s.tags.process.
  void function(const StageDescription &stage, bool report, Input &input) {
    const auto text = in_.state->texts().find(stage.where.file);
    if (text == in_.state->texts().end()) return;
    const LuaTokens tokens = lua_tokens(text->second);
    size_t at = 0;
    while (at < tokens.size() && (tokens[at].line < stage.where.line || !is(tokens, at, "function"))) ++at;
    prefix_ = label_ + "function: ";
    for (int depth = 0; at < tokens.size(); ++at) {
      depth += nesting(tokens[at]);
      if (depth == 0) return;
      const std::string_view unit = is(tokens, at, "fields") ? kMetric : is(tokens, at, "tags") ? kTag : "";
      if (unit.empty() || !is(tokens, at - 1, ".")) continue;
      const bool quoted = is(tokens, at + 1, "[") && is_string(tokens, at + 2) && is(tokens, at + 3, "]");
      const bool dotted = is(tokens, at + 1, ".") && at + 2 < tokens.size();
      if (!quoted && !dotted) continue;
      const size_t behind = at + (quoted ? 4 : 3);
      const std::string name(tokens[at + 2].text);
      where_ = {stage.where.file, tokens[at].line};
      if (is(tokens, behind, "=") && !is(tokens, behind + 1, "="))
        (unit == kMetric ? input.metrics : input.tags).known.insert(name);
      else if (report)
        refer(unit, name, "", input, true);
    }
  }

  const Evaluation &in_;
  Validation &out_;
  std::string label_, prefix_;  // of the current pipeline and stage
  Location where_;
};

}  // namespace

void check_names(const Evaluation &evaluation, Validation &validation) {
  if (validation.errors.empty()) Checker(evaluation, validation).run();
}

}  // namespace atalaya::core
