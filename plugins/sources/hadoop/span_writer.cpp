// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/span_writer.h"

#include <algorithm>

namespace atalaya::hadoop {
namespace {

bool is_allowed_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

void counter_metric(const protocols::Counter &counter, std::string &out) {
  out = "counter.";
  out.append(counter.group).append(".").append(counter.name);
  if (out.size() > protocols::kMaxCounterText) out.resize(protocols::kMaxCounterText);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_allowed_in_name(c); }, '_');
}

SpanWriter::SpanWriter(Host host, size_t max_names)
    : host_(host), max_names_(max_names), ids_{host.intern("host"),         host.intern("framework"),
                                               host.intern("job"),          host.intern("name"),
                                               host.intern("stage"),        host.intern("task"),
                                               host.intern("attempt"),      host.intern("phase"),
                                               host.intern("locality"),     host.intern("executor"),
                                               host.intern("source"),       host.intern("quality"),
                                               host.intern("fact"),         host.intern("value"),
                                               host.intern("error"),        host.intern("span.bytes"),
                                               host.intern("span.records"), host.intern("span.bytes.remote"),
                                               host.intern("span.gc.time"), host.intern("span.outcome"),
                                               host.intern("span.slots")} {}

uint32_t SpanWriter::counter_name(const protocols::Counter &counter) {
  counter_metric(counter, scratch_);
  if (const auto known = counters_.find(scratch_); known != counters_.end()) return known->second;
  const uint32_t id = counters_.size() < max_names_ ? host_.intern(scratch_) : 0;
  if (id == 0) {
    ++omitted_;
    return 0;
  }
  if (!host_.metric(id))
    host_.declare(metric::gauge(scratch_, "1", metric::count, {}, "job history", "Counter of the job history"));
  counters_.emplace(scratch_, id);
  return id;
}

void SpanWriter::write(const protocols::Span &span, Batch &batch) {
  Sample &sample = batch.add(ATALAYA_SPAN, 12, static_cast<uint32_t>(6 + span.counters.size()));
  sample.text = batch.copy(span.text);
  sample.time_ns = span.start_ms * protocols::kNsPerMs;
  sample.duration_ns = span.duration_ms < 0 ? -1 : span.duration_ms * protocols::kNsPerMs;
  const auto tag = [&](uint32_t key, const std::string &value) {
    if (!value.empty()) batch.tag(sample, key, value);
  };
  const auto field = [&](uint32_t name, const std::optional<int64_t> &value) {
    if (value) batch.field(sample, name, *value);
  };
  tag(ids_.host, span.host);
  tag(ids_.framework, span.framework);
  tag(ids_.job, span.job);
  tag(ids_.name, span.name);
  tag(ids_.stage, span.stage);
  tag(ids_.task, span.task);
  tag(ids_.attempt, span.attempt);
  tag(ids_.phase, span.phase);
  tag(ids_.locality, span.locality);
  tag(ids_.executor, span.executor);
  tag(ids_.source, span.source);
  tag(ids_.quality, span.quality);
  tag(ids_.fact, span.fact);
  tag(ids_.value, span.value);
  tag(ids_.error, span.error);
  field(ids_.bytes, span.bytes);
  field(ids_.records, span.records);
  field(ids_.remote_bytes, span.remote_bytes);
  field(ids_.gc_time, span.gc_ms);
  field(ids_.slots, span.slots);
  if (span.outcome) batch.field(sample, ids_.outcome, static_cast<int64_t>(*span.outcome));
  for (const protocols::Counter &counter : span.counters)
    if (const uint32_t name = counter_name(counter); name != 0) batch.field(sample, name, counter.value);
}

}  // namespace atalaya::hadoop
