// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "core/base/sample/batch.h"
#include "core/base/sample/catalogue.h"
#include "core/plugin/names.h"
#include "core/plugin/verify/verify.h"

namespace atalaya::core {
namespace {

constexpr int kMaxDepth = 8;

class Collector {
 public:
  explicit Collector(std::vector<std::string> &problems) : problems_(problems) {}

  void sentence(const std::string &what, atalaya_str text) {
    if (text.size == 0) problems_.push_back(what + " has no sentence that explains it");
    if (view_of(text).find('\n') != std::string_view::npos)
      problems_.push_back(what + " is explained in several lines, wanted one");
  }

  void name(const std::string &what, atalaya_str text) {
    if (text.size == 0) problems_.push_back(what + " has no name");
    if (!names_.insert(what + text_of(text)).second) problems_.push_back(what + " \"" + text_of(text) + "\" is there twice");
  }

  void parameters(const Schema &schema, const std::string &prefix, int depth) {
    for (uint32_t i = 0; i < schema.count(); ++i) {
      const atalaya_param param = schema.at(i);
      name("parameter " + prefix, param.name);
      parameter(param, prefix + text_of(param.name), depth);
      sentence("parameter \"" + prefix + text_of(param.name) + "\"", param.summary);
    }
  }

  void metric(const atalaya_metric &metric) {
    const std::string what = "metric \"" + text_of(metric.name) + "\"";
    name("metric", metric.name);
    sentence(what, metric.summary);
    if (const char *problem = metric_problem(metric_info_of(metric)); problem != nullptr) problems_.push_back(what + " " + problem);
    const Strided<atalaya_metric_tag> tags(metric.tags, metric.tag_count, metric.tag_size);
    for (uint32_t i = 0; i < tags.count(); ++i)
      if (tags.at(i).role != ATALAYA_TAG_IDENTITY && tags.at(i).role != ATALAYA_TAG_EXTRA)
        problems_.push_back(what + " has the tag \"" + text_of(tags.at(i).key) + "\" with an unknown role");
  }

  void need(const atalaya_need &need) {
    const std::string what = "need \"" + text_of(need.name) + "\"";
    sentence(what, need.reason);
    if (need.feature.size > 0 && !is_component_name(view_of(need.feature)))
      problems_.push_back(what + " has a feature that is not a word of lower-case letters");
    if (need.type < ATALAYA_NEED_CAPABILITY || need.type > ATALAYA_NEED_KERNEL) problems_.push_back(what + " has an unknown type");
  }

 private:
  void parameter(const atalaya_param &param, const std::string &path, int depth) {
    const std::string what = "parameter \"" + path + "\"";
    const bool nested = param.type == ATALAYA_LIST || param.type == ATALAYA_MAP || param.type == ATALAYA_RECORD;
    if (param.type < ATALAYA_BOOL || param.type > ATALAYA_RECORD) problems_.push_back(what + " has an unknown type");
    if (param.type == ATALAYA_ENUM && param.allowed.size == 0) problems_.push_back(what + " is an enum without allowed words");
    if ((param.flags & ATALAYA_REQUIRED) != 0 && param.default_text.size > 0)
      problems_.push_back(what + " is required and has a default, wanted one of both");
    if (!nested) return;
    const Schema items{param.items, param.item_count, param.item_size};
    if (items.count() == 0 || depth == kMaxDepth) problems_.push_back(what + " does not say what it holds, or nests too deeply");
    if (depth == kMaxDepth) return;
    if (param.type == ATALAYA_RECORD) return parameters(items, path + ".", depth + 1);
    if (items.count() > 0) parameter(items.at(0), path + "[]", depth + 1);
  }

  std::vector<std::string> &problems_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> description_problems(const atalaya_component &component) {
  std::vector<std::string> problems;
  Collector collector(problems);
  collector.sentence("the component", component.summary);
  collector.parameters(schema_of(component), "", 0);
  const Strided<atalaya_metric> metrics(component.metrics, component.metric_count, component.metric_size);
  for (uint32_t i = 0; i < metrics.count(); ++i) collector.metric(metrics.at(i));
  const Strided<atalaya_need> needs(component.needs, component.need_count, component.need_size);
  for (uint32_t i = 0; i < needs.count(); ++i) collector.need(needs.at(i));
  // The defaults must be valid in their own schema.
  std::vector<Problem> refused;
  Parameters::resolve(schema_of(component), sample_parameters(component, "/nowhere", false), refused);
  for (const Problem &problem : refused) problems.push_back("parameter \"" + problem.path + "\": " + problem.text);
  return problems;
}

}  // namespace atalaya::core
