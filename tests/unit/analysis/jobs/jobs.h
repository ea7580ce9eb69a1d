// SPDX-License-Identifier: Apache-2.0
// Jobs as spans, made up line by line.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/analyse.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::bottleneck::test {

using query::test::kSecond;
using query::test::kT0;
using store::Tags;

using Counts = std::vector<std::pair<std::string, int64_t>>;

class Spans {
 public:
  // Times in seconds after kT0; a negative length is a span that has not ended.
  void add(const std::string &name, const Tags &tags, double start, double length, const Counts &counts = {}) {
    std::vector<store::Field> fields;
    for (const auto &[field, value] : counts)
      fields.push_back({names_.emplace_back(field), true, static_cast<double>(value), value});
    collector_.add({kT0 + ns(start), length < 0 ? -1 : ns(length), 0, tags, name, fields});
  }
  // Of job "j": a task with an attempt of the same name.
  static Tags task(const std::string &stage, const std::string &id, const std::string &host) {
    return {{"job", "j"}, {"stage", stage}, {"task", id}, {"attempt", id}, {"host", host}};
  }
  static Tags with(Tags tags, const std::string &key, const std::string &value) {
    tags[key] = value;
    return tags;
  }
  jobs::JobData take() { return collector_.take(); }

 private:
  static int64_t ns(double seconds) { return static_cast<int64_t>(seconds * 1e9); }
  std::deque<std::string> names_;
  jobs::Collector collector_;
};

// A store of spans, too.
class SpanStore : public query::test::MemoryStore {
 public:
  void add_span(const std::string &name, const Tags &tags, double start, double length, const Counts &counts = {}) {
    const auto ns = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
    kept_.push_back({name, tags, kT0 + ns(start), length < 0 ? -1 : ns(length), counts});
  }
  void spans(const store::Selection &selection, const std::function<void(const store::Span &)> &visitor) override {
    const auto names = io::MatcherList::parse(selection.metrics).value();
    for (const KeptSpan &one : kept_) {
      const bool overlaps = one.start_ns <= selection.range.to_ns &&
                            (one.duration_ns < 0 || one.start_ns + one.duration_ns > selection.range.from_ns);
      if (!overlaps || !names.matches(one.name) || !fits(one.tags, selection.tags)) continue;
      std::vector<store::Field> fields;
      for (const auto &[field, value] : one.counts) fields.push_back({field, true, static_cast<double>(value), value});
      visitor({one.start_ns, one.duration_ns, 0, one.tags, one.name, fields});
    }
  }
  std::vector<std::string> tag_values(std::string_view key) override {
    std::set<std::string> values;
    for (const KeptSpan &one : kept_)
      if (const auto tag = one.tags.find(key); tag != one.tags.end()) values.insert(tag->second);
    return {values.begin(), values.end()};
  }

 private:
  struct KeptSpan {
    std::string name;
    Tags tags;
    int64_t start_ns, duration_ns;
    Counts counts;
  };
  std::vector<KeptSpan> kept_;
};

inline jobs::Analysis analysed(Spans &spans, store::Store &store, const jobs::DetectOptions &options = {}) {
  query::Budget budget({});
  return analyse(spans.take(), options, store, budget);
}
inline jobs::Analysis analysed(Spans &spans, const jobs::DetectOptions &options = {}) {
  query::test::MemoryStore store;
  return analysed(spans, store, options);
}

inline const jobs::Group &group_of(const jobs::Analysis &all, const std::string &stage, const std::string &phase) {
  for (const jobs::Group &group : all.groups)
    if (all.data.name(group.stage) == stage && all.data.name(group.phase) == phase) return group;
  throw std::runtime_error("no group " + stage + " " + phase);
}

}  // namespace atalaya::bottleneck::test
