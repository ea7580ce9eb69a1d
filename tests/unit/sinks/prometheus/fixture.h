// SPDX-License-Identifier: Apache-2.0
// A table, windows for it, and the view of a scrape.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "plugins/sinks/prometheus/series_table.h"
#include "plugins/sinks/prometheus/snapshot_text.h"
#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/declarations.h"
#include "tests/unit/lines.h"

namespace atalaya::prometheus::testing {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'795'219'530 * kSecond;
using core::testing::Maker;

struct Bench {
  explicit Bench(const TableOptions &options = {}, atalaya::testing::Declarations declarations = {}, bool timestamps = false)
      : declared(std::move(declarations)),
        table(options, maker.name_of(), declared.metric_of(maker.name_of())),
        exposition(options.staleness, timestamps) {}

  // A sample of the window that ends this many seconds after the begin.
  atalaya_sample &add(const Maker::Tags &tags, int64_t end = 0, int64_t length = 5) {
    atalaya_sample &sample = maker.add(ATALAYA_METRICS, tags);
    sample.time_ns = kBegin + end * kSecond;
    sample.duration_ns = length * kSecond;
    return sample;
  }
  Bench &metric(const Maker::Tags &tags, std::string_view name, double value, int64_t end = 0, int64_t length = 5) {
    maker.field(add(tags, end, length), name, value);
    return *this;
  }
  // Hands over the added samples, this many seconds after the begin.
  SeriesTable::Refused write(int64_t at = 0) {
    const auto refused = table.take({maker.batch.raw().samples, maker.batch.count()}, moment(at));
    maker.batch.clear();
    return refused;
  }
  std::string scrape(int64_t at = 0, Form form = Form::text) {
    Snapshot snapshot;
    table.snapshot(snapshot, moment(at));
    std::string text;
    exposition.write(snapshot, form, text);
    table.release_snapshot();
    return text;
  }
  // Without comments.
  std::vector<std::string> series(int64_t at = 0) {
    std::vector<std::string> lines;
    const std::string text = scrape(at);
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      if (text[begin] != '#') lines.push_back(text.substr(begin, end - begin));
    }
    return lines;
  }
  static Moment moment(int64_t at) { return {1000 * kSecond + at * kSecond, kBegin + at * kSecond}; }

  Maker maker;
  atalaya::testing::Declarations declared;
  SeriesTable table;
  SnapshotText exposition;
};

using Lines = std::vector<std::string>;

}  // namespace atalaya::prometheus::testing
