// SPDX-License-Identifier: Apache-2.0
// The JVMs of all hosts, their functions, and one function: the data of the command jvms.
#include <algorithm>

#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/shared/analysis/jvms/frames.h"
#include "plugins/shared/analysis/jvms/gather.h"

namespace atalaya::serve {
namespace {

constexpr size_t kMaxJvms = 1000;

void write_function(core::JsonWriter &json, const jvms::Function &function) {
  json.object().key("name").text(function.name).key("self").number(function.self).key("self_share").number(function.self_share);
  json.key("samples").number(function.samples).key("samples_share").number(function.samples_share).end_object();
}

void write_jvms(core::JsonWriter &json, const std::vector<jvms::Jvm> &all) {
  json.key("jvms").list();
  for (size_t i = 0; i < std::min(all.size(), kMaxJvms); ++i) {
    const jvms::Jvm &jvm = all[i];
    json.object().key("host").text_or_null(jvm.host).key("pid").text_or_null(jvm.pid).key("process").text_or_null(jvm.process);
    json.key("rate").number(jvm.rate).key("cost").number(jvm.cost).key("version").text_or_null(jvm.version);
    json.key("vm").text_or_null(jvm.vm).key("collector").text_or_null(jvm.collector).end_object();
  }
  json.end_list();
}

void write_detail(core::JsonWriter &json, const jvms::Detail &detail) {
  json.object().key("name").text(detail.function.name).key("trace").list();
  if (detail.exemplar)
    for (const std::string &line : detail.exemplar->lines) json.text(line);
  json.end_list().key("callers").list();
  for (const jvms::Caller &caller : detail.callers) {
    json.object().key("name").text_or_null(caller.name).key("self_share").number(caller.self_share);
    json.key("samples_share").number(caller.samples_share).end_object();
  }
  json.end_list().key("jvms").list();
  for (const jvms::JvmShare &jvm : detail.jvms) {
    json.object().key("host").text_or_null(jvm.host).key("pid").text_or_null(jvm.pid).key("process").text_or_null(jvm.process);
    json.key("self").number(jvm.self).end_object();
  }
  json.end_list().end_object();
}

}  // namespace

std::string page_jvms(PageCall &call) {
  const auto top = static_cast<size_t>(page_count(call.request, "top", 20, 1, 1000));
  const std::vector<store::TagFilter> tags = page_filters(call.request);
  const jvms::Overview overview = jvms::overview_of(call.store, tags, call.range(), call.budget);
  core::JsonWriter json;
  json.object().key("count").count(overview.jvms.size()).key("reporting").count(overview.reporting);
  json.key("rate_hz").number(overview.rate).key("functions").list();
  for (const jvms::Function &function : jvms::top_functions(overview.functions, top)) write_function(json, function);
  json.end_list();
  write_jvms(json, overview.jvms);
  json.key("detail");
  const std::string name = call.request.text("function");
  const std::string wanted = name.empty() ? "" : jvms::function_named(name);
  const auto function = std::find_if(overview.functions.begin(), overview.functions.end(),
                                     [&](const jvms::Function &one) { return one.name == wanted; });
  if (function == overview.functions.end())
    json.null();
  else
    write_detail(json, jvms::detail_of(*function, overview, call.store, tags, call.budget));
  return json.end_object().take();
}

}  // namespace atalaya::serve
