// SPDX-License-Identifier: Apache-2.0
// Lists of the contents of a store: hosts, metrics, tags, experiments, spans.
#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "core/base/sample/span_end.h"
#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/commands/serve/page/page_files.h"
#include "plugins/commands/serve/page/page_spans.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/query/pid_parts.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

constexpr size_t kMaxValues = 1000;   // maximum values of a list
constexpr size_t kMaxSpans = 10'000;  // maximum spans of an answer

int offset_minutes(int64_t now_ns) {
  const std::time_t seconds = now_ns / 1'000'000'000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return static_cast<int>(local.tm_gmtoff / 60);
}

using TagValues = std::map<std::string, std::set<std::string>>;

// Writes values up to the limit; returns whether some were omitted.
bool add_tags(const store::Series &series, TagValues &values) {
  bool more = false;
  for (const auto &[key, value] : series.tags) {
    std::set<std::string> &known = values[key];
    if (known.size() < kMaxValues)
      known.insert(value);
    else
      more = more || !known.contains(value);
  }
  return more;
}

void write_extent(core::JsonWriter &json, PageCall &call) {
  const auto extent = call.request.flag("extent") ? call.store.extent(call.now_ns) : std::nullopt;
  if (extent)
    json.key("from").milliseconds(extent->from_ns).key("to").milliseconds(extent->to_ns);
  else
    json.key("from").null().key("to").null();
}

void write_span(core::JsonWriter &json, const store::Span &span, std::string_view kind, int64_t now_ns) {
  const bool open = span.duration_ns < 0;
  json.object().key("kind").text(kind).key("name").text(span.name).key("from").milliseconds(span.start_ns);
  json.key("to")
      .milliseconds(open ? std::max(now_ns, span.start_ns) : core::end_of(span.start_ns, span.duration_ns))
      .key("open")
      .boolean(open);
  json.key("tags").members(span.tags).key("fields").object();
  for (const store::Field &field : span.fields) {
    json.key(field.name);
    if (field.is_count)
      json.integer(field.count);
    else
      json.number(field.value);
  }
  json.end_object().end_object();
}

}  // namespace

std::string page_info(PageCall &call) {
  const std::string name = call.store.name();
  core::JsonWriter json;
  json.object().key("now").milliseconds(call.now_ns).key("version").text(kPageVersion);
  json.key("store").object().key("name").text(name).key("kind").text(name.substr(0, name.find(':')));
  write_extent(json, call);
  json.end_object().key("hosts").list();
  size_t left = kMaxValues;
  for (const std::string &host : call.store.tag_values("host"))
    if (left > 0) {
      json.text(host);
      --left;
    }
  json.end_list().key("utc_offset_minutes").integer(offset_minutes(call.now_ns)).end_object();
  return json.take();
}

std::string page_metrics(PageCall &call) {
  core::JsonWriter json;
  json.list();
  for (const auto &[metric, info] : call.store.catalogue()) {
    json.object()
        .key("name")
        .text(metric)
        .key("unit")
        .text_or_null(info->unit)
        .key("kind")
        .text_or_null(store::text_of(info->kind));
    json.key("decimals").integer(info->decimals).key("summary").text_or_null(info->summary).end_object();
  }
  return json.end_list().take();
}

std::string page_tags(PageCall &call) {
  query::Query wanted;
  if (const std::string metric = call.request.text("metric"); !metric.empty()) wanted.metrics = {query::exact_pattern(metric)};
  wanted.tags = page_filters(call.request);
  wanted.range = call.range();
  TagValues values;
  bool more = false;
  query::each_series(wanted, call.store, call.budget,
                     [&](const store::Series &series) { more = add_tags(series, values) || more; });
  core::JsonWriter json;
  json.object().key("tags").object();
  for (const auto &[key, texts] : values) {
    json.key(key).list();
    for (const std::string &text : texts) json.text(text);
    json.end_list();
  }
  return json.end_object().key("more").boolean(more).end_object().take();
}

std::string page_experiments(PageCall &call) {
  const std::vector<experiments::Experiment> all = experiments::experiments(call.store);
  const auto write = [&](core::JsonWriter &json, const experiments::Experiment &one,
                         const std::string &name) -> core::JsonWriter & {
    json.object().key("name").text(name).key("from").milliseconds(one.start_ns).key("to").milliseconds(one.end_ns(call.now_ns));
    return json.key("open").boolean(one.open());
  };
  core::JsonWriter json;
  json.list();
  for (const experiments::Experiment &experiment : all) {
    if (!experiment.workload.empty()) continue;
    write(json, experiment, experiment.name).key("workloads").list();
    for (const experiments::Experiment &workload : all)
      if (!workload.workload.empty() && workload.name == experiment.name && workload.start_ns >= experiment.start_ns &&
          workload.start_ns <= experiment.end_ns(call.now_ns))
        write(json, workload, workload.workload).end_object();
    json.end_list().end_object();
  }
  return json.end_list().take();
}

void write_spans(core::JsonWriter &json, std::string_view kind, const store::Selection &selection, PageCall &call) {
  json.list();
  size_t count = 0;
  call.store.spans(selection, [&](const store::Span &span) {
    call.budget.work(1);
    if (++count > kMaxSpans) throw query::TooMuch("more than 10000 spans in this time range; use a shorter one");
    write_span(json, span, kind, call.now_ns);
  });
  json.end_list();
}

std::string page_spans(PageCall &call) {
  const std::string kind = page_choice(call.request, "kind", {"phase", "anomaly", "alert", "job", "stage", "task", "region"});
  core::JsonWriter json;
  write_spans(json, kind, {{kind}, page_filters(call.request), call.range()}, call);
  return json.take();
}

}  // namespace atalaya::serve
