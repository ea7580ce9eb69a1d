// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/aggregate/aggregate.h"

#include <algorithm>
#include <string_view>

namespace atalaya::aggregate {
namespace {

io::Function function_named(std::string_view name) {
  if (name == "avg") return io::Function::average;
  if (name == "min") return io::Function::minimum;
  if (name == "max") return io::Function::maximum;
  if (name == "count") return io::Function::count;
  return io::Function::sum;
}

}  // namespace

Aggregate::Aggregate(Host host)
    : host_(host),
      host_tag_(host.intern("host")),
      default_(function_named(host.text("default"))),
      fields_(host, "fields"),
      metric_(host, "metric"),
      weights_(host) {
  for (const std::string &key : host.texts("by")) by_.push_back(host.intern(key));
  if (const auto count = host.find("count")) {
    count_name_ = host.intern(count->text());
    if (count_name_ == 0)
      throw Failure(Code::bad_config, "parameter \"count\" must be the name of a field, such as \"proc.count\"");
    if (!host_.metric(count_name_))
      host_.declare(metric::gauge(count->text(), "1", metric::count, {}, "", "Number of merged samples"));
  }
  read_functions();
}

void Aggregate::read_functions() {
  for (uint64_t i = 0; const auto entry = host_.child("functions", i); ++i) {
    auto matcher = io::Matcher::parse(entry->key());
    if (!matcher) throw Failure(Code::bad_config, "parameter \"functions\": " + matcher.error());
    rules_.push_back({std::string(entry->key()), std::move(*matcher), function_named(entry->text())});
  }
  std::sort(rules_.begin(), rules_.end(), [](const Rule &a, const Rule &b) {
    if (a.matcher.exact() != b.matcher.exact()) return a.matcher.exact();
    if (a.pattern.size() != b.pattern.size()) return a.pattern.size() > b.pattern.size();
    return a.pattern < b.pattern;
  });
}

io::Function Aggregate::function_of(uint32_t name) {
  return functions_.get(name, [&] {
    const auto rule =
        std::find_if(rules_.begin(), rules_.end(), [&](const Rule &one) { return one.matcher.matches(host_.name_of(name)); });
    return rule == rules_.end() ? default_ : rule->function;
  });
}

Code Aggregate::process(const Window &window, Batch &batch) {
  ids_.clear();
  uint64_t passed = 0;
  const auto samples = batch.samples();
  for (const Sample &sample : samples) {
    if (selects(sample))
      add(window, sample);
    else
      samples[passed++] = sample;
  }
  batch.truncate(passed);
  host_.merged(samples.size() - passed);
  for (size_t i = 0; i < ids_.size(); ++i) emit(batch, groups_[i]);
  host_.created(ids_.size());
  return Code::ok;
}

// Samples with none of the tags are not merged: they describe other entities, such as disks among processes.
bool Aggregate::selects(const Sample &sample) {
  if (sample.kind == ATALAYA_SPAN) return false;
  if (!metric_.empty() && !metric_.match_any_field(sample)) return false;
  return by_.empty() || std::any_of(by_.begin(), by_.end(), [&](uint32_t key) { return find_tag(sample, key) != nullptr; });
}

bool Aggregate::keeps_tag(uint32_t tag_key) const {
  return tag_key == host_tag_ || std::find(by_.begin(), by_.end(), tag_key) != by_.end();
}

void Aggregate::add(const Window &window, const Sample &sample) {
  const io::SampleWindow own(window, sample);
  key_.begin();
  key_.number(sample.kind);
  key_.number(own.group_time_ns);
  key_.text(view(sample.text));
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (keeps_tag(sample.tags[i].key)) key_.tag(sample.tags[i]);
  const auto found = ids_.find_or_add(key_.finish());
  if (!found) throw std::length_error("more than 4 billion groups");
  if (found->index == groups_.size()) groups_.emplace_back();
  Group &group = groups_[found->index];
  if (found->added) {
    group.first = sample;
    group.window = {own.group_time_ns, own.group_begin_ns};
    group.samples = 0;
    group.totals.clear();
  }
  group.window.add(own.group_begin_ns);
  ++group.samples;
  group.totals.add(sample, own.duration_ns);
}

void Aggregate::emit(Batch &batch, const Group &group) {
  const auto totals = group.totals.all();
  const auto tags = static_cast<uint32_t>(by_.size() + 1);
  Sample &sample = batch.add(group.first.kind, tags, static_cast<uint32_t>(totals.size() + 1));
  sample.time_ns = group.window.time_ns;
  sample.duration_ns = group.window.length_ns();
  sample.text = group.first.text;
  for (uint32_t i = 0; i < group.first.tag_count; ++i)
    if (keeps_tag(group.first.tags[i].key)) batch.tag_shared(sample, group.first.tags[i].key, group.first.tags[i].value);
  for (const io::Total &total : totals)
    if (const uint32_t name = total.name(); name != count_name_ && fields_.matches(name))
      batch.put(sample, total.result(function_of(name), weights_.weight_of(name), group.window.length_ns()));
  if (count_name_ != 0) batch.field(sample, count_name_, group.samples);
}

}  // namespace atalaya::aggregate
