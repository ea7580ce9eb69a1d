// SPDX-License-Identifier: Apache-2.0
// Copies the declared metrics of plugin descriptors to the catalogue.
#include <unordered_map>

#include "core/base/log.h"
#include "core/base/sample/batch.h"
#include "core/plugin/registry.h"
#include "core/plugin/strided.h"

namespace atalaya::core {
namespace {

template <class Callback>
void each_metric(const atalaya_component &component, Callback &&take) {
  const Strided<atalaya_metric> metrics(component.metrics, component.metric_count, component.metric_size);
  for (uint32_t i = 0; i < metrics.count(); ++i) take(metrics.at(i));
}

std::string plugin_text(const Plugin &plugin) {
  return "plugin \"" + std::string(plugin.name()) + "\" (" + plugin.path() + ")";
}

}  // namespace

void declare_metrics(const atalaya_component &component, NameTable &names) {
  const std::string declarer = std::string(kind_name(component.kind)) + " \"" + text_of(component.name) + "\"";
  each_metric(component, [&](const atalaya_metric &metric) {
    const atalaya_metric_info info = metric_info_of(metric);
    if (names.declare(view_of(metric.name), info, declarer) == Catalogue::Outcome::invalid)
      log(LogLevel::warning, declarer + ": metric \"" + text_of(metric.name) + "\" " +
                                 (metric_problem(info) == nullptr ? "has an invalid name" : metric_problem(info)));
  });
}

std::vector<std::string> Registry::declare_metrics(NameTable &names) const {
  struct First {
    const Plugin *plugin = nullptr;
    atalaya_metric_info info{};
  };
  std::unordered_map<std::string, First> first;
  std::vector<std::string> problems;
  const auto declare = [&](const Plugin &plugin, const atalaya_metric &metric) {
    const std::string name(view_of(metric.name));
    const atalaya_metric_info info = metric_info_of(metric);
    const Catalogue::Outcome outcome = names.declare(name, info, {});
    if (outcome == Catalogue::Outcome::invalid)
      problems.push_back(plugin_text(plugin) + ": metric \"" + name + "\" " +
                         (metric_problem(info) == nullptr ? "has an invalid name" : metric_problem(info)));
    const auto [known, added] = first.try_emplace(name, First{&plugin, info});
    if (outcome == Catalogue::Outcome::conflict && !added)
      problems.push_back("metric \"" + name + "\" is declared differently: " + plugin_text(*known->second.plugin) + " as a " +
                         describe_metric(known->second.info) + ", " + plugin_text(plugin) + " as a " + describe_metric(info) +
                         "; use one of the two plugins, and report it to the author of the other");
  };
  for (const auto &plugin : opened_)
    if (plugin != nullptr)
      for (const atalaya_component *component : plugin->components())
        each_metric(*component, [&](const atalaya_metric &metric) { declare(*plugin, metric); });
  return problems;
}

}  // namespace atalaya::core
