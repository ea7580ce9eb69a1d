// SPDX-License-Identifier: Apache-2.0
// The sink prometheus: CPU time of writing a window of 1,000 processes with 15 metrics each, next to encoding the same window as
// JSON lines; then 100,000 series, written while they are scraped: the cost of a scrape, how long each waits for the other, and
// memory.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "plugins/sinks/prometheus/snapshot_text.h"
#include "plugins/sinks/prometheus/series_table.h"

using namespace atalaya;
using namespace atalaya::prometheus;

namespace {

constexpr size_t kMetrics = 15;
constexpr int kWindows = 41;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegin = 1'795'219'532 * kSecond;

double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double wall_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void fill(core::Batch &batch, core::Symbols &symbols, size_t processes, int window) {
  batch.clear();
  for (size_t pid = 0; pid < processes; ++pid) {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = kBegin + window * kSecond;
    sample.duration_ns = kSecond;
    batch.add_tag(sample, symbols.intern("host"), "node-17");
    batch.add_tag(sample, symbols.intern("pid"), std::to_string(1000 + pid * 7));
    batch.add_tag(sample, symbols.intern("process"), pid % 2 == 0 ? "postgres" : "kworker/0:1");
    for (size_t i = 0; i < kMetrics; ++i) {
      atalaya_field field{symbols.intern("proc.metric" + std::to_string(i)), ATALAYA_F64, {}};
      field.value.f64 = static_cast<double>((pid * 37 + i * 11 + static_cast<size_t>(window) * 7) % 9973) / 100;
      batch.add_field(sample, field);
    }
  }
}

Moment moment(int window) {
  return {window * kSecond, kBegin + window * kSecond};
}

size_t used_memory() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare_with_json() {
  core::Symbols symbols;
  const core::NameOf name_of = [&](uint32_t id) { return symbols.name(id); };
  SeriesTable table({}, name_of, [](uint32_t) { return std::nullopt; });
  const auto encoder = protocols::make_encoder(protocols::Format::jsonlines, name_of);
  core::Batch batch;
  std::string text;
  std::vector<double> ours, json;
  constexpr size_t kProcesses = 1000;
  for (int window = 0; window < kWindows; ++window) {
    fill(batch, symbols, kProcesses, window);
    const std::span<const Sample> samples{batch.raw().samples, batch.count()};
    const double begin = cpu_ns();
    table.take(samples, moment(window));
    const double middle = cpu_ns();
    core::Refused refused;
    text.clear();
    core::append_all(*encoder, samples, text, refused);
    const double end = cpu_ns();
    if (window == 0) continue;
    ours.push_back((middle - begin) / (kProcesses * kMetrics));
    json.push_back((end - middle) / (kProcesses * kMetrics));
  }
  std::printf("1,000 processes x 15: write %.1f ns a point, JSON lines %.1f ns a point: 1/%.1f of it\n", median(ours), median(json),
              median(json) / median(ours));
}

void scrape_while_writing() {
  core::Symbols symbols;
  constexpr size_t kProcesses = 100'000 / kMetrics;
  SeriesTable table(
      {}, [&](uint32_t id) { return symbols.name(id); }, [](uint32_t) { return std::nullopt; });
  core::Batch batch;
  fill(batch, symbols, kProcesses, 0);
  const size_t filled = used_memory();
  table.take({batch.raw().samples, batch.count()}, moment(0));
  const size_t held = used_memory() - filled;
  std::vector<double> alone;
  for (int window = 1; window < kWindows; ++window) {
    fill(batch, symbols, kProcesses, window);
    const double begin = wall_ms();
    table.take({batch.raw().samples, batch.count()}, moment(window));
    alone.push_back(wall_ms() - begin);
  }
  SnapshotText exposition({}, false);
  Snapshot snapshot;
  std::vector<double> holding, building;
  size_t bytes = 0;
  std::atomic<bool> done{false};
  std::atomic<int> now{kWindows - 1};
  std::thread scraper([&] {
    std::string text;
    while (!done) {
      text.clear();
      const double begin = wall_ms();
      table.snapshot(snapshot, moment(now));
      const double middle = wall_ms();
      exposition.write(snapshot, Form::text, text);
      holding.push_back(middle - begin);
      building.push_back(wall_ms() - middle);
      table.release_snapshot();
      bytes = text.size();
    }
  });
  std::vector<double> together;
  for (int window = kWindows; window < 3 * kWindows; ++window) {
    fill(batch, symbols, kProcesses, window);
    const double begin = wall_ms();
    table.take({batch.raw().samples, batch.count()}, moment(window));
    together.push_back(wall_ms() - begin);
    now = window;
  }
  done = true;
  scraper.join();
  std::printf("%zu series: %zu B each; a scrape without pause beside the writer\n", table.series(), held / table.series());
  std::printf("  write, ms: alone %.1f (longest %.1f), scraped %.1f (longest %.1f)\n", median(alone),
              *std::max_element(alone.begin(), alone.end()), median(together), *std::max_element(together.begin(), together.end()));
  std::printf("  scrape, ms: %.1f for the snapshot (longest %.1f, waiting for the writer included), %.1f for %.1f MB of text\n",
              median(holding), *std::max_element(holding.begin(), holding.end()), median(building),
              static_cast<double>(bytes) / 1e6);
}

}  // namespace

int main() {
  compare_with_json();
  scrape_while_writing();
}
