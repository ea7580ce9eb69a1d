// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/measurement_table.h"

#include <algorithm>
#include <set>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::jobs {

Columns columns_of(const Metrics &metrics, const Rows &rows, const query::Budget &budget) {
  Columns columns;
  for (const std::string &name : metrics.names()) {
    budget.check_time();
    for (const Windows &row : rows) columns[name].push_back(metrics.mean(name, row));
  }
  return columns;
}

void add_tasks(Columns &columns, const JobData &data, const std::vector<uint32_t> &tasks) {
  const auto add = [&](const char *name, auto &&value) {
    for (const uint32_t task : tasks) columns[name].push_back(value(data.tasks[task]));
  };
  const auto part = [](int64_t amount, double of) {
    return amount == kUnknown || of <= 0 ? std::nullopt : std::optional(static_cast<double>(amount) / of);
  };
  add("span.bytes.remote", [&](const Task &task) { return part(task.work.remote, static_cast<double>(task.remote_of)); });
  add("span.gc.time", [&](const Task &task) { return part(task.gc_ms, static_cast<double>(task.work.duration_ns) / 1e6); });
  add("span.spills", [&](const Task &task) { return part(task.spills, 1); });
  add("span.records", [&](const Task &task) { return part(task.records, 1); });
}

void add_counters(Columns &columns, const Counters &counters, const std::vector<uint32_t> &tasks) {
  for (size_t row = 0; row < tasks.size(); ++row) {
    for (const auto &[name, value] : counters.at(tasks[row])) {
      auto &column = columns[name];
      column.resize(tasks.size());
      column[row] = value;
    }
  }
}

Table table_of(const Columns &columns, std::vector<double> &index) {
  constexpr double kMissing = 0.1;
  Table table;
  std::vector<const Columns::mapped_type *> kept;
  for (const auto &[name, column] : columns) {
    const auto missing = static_cast<double>(std::count(column.begin(), column.end(), std::nullopt));
    if (missing > kMissing * static_cast<double>(index.size())) continue;
    table.names.push_back(name);
    kept.push_back(&column);
  }
  table.columns.resize(kept.size());
  std::vector<double> rows;
  for (size_t row = 0; row < index.size(); ++row) {
    if (std::any_of(kept.begin(), kept.end(), [row](const auto *column) { return !(*column)[row]; })) continue;
    rows.push_back(index[row]);
    for (size_t i = 0; i < kept.size(); ++i) table.columns[i].push_back(*(*kept[i])[row]);
  }
  index = std::move(rows);
  return table;
}

Samples samples_of(const Metrics &metrics, const Windows &windows, size_t maximum, const query::Budget &budget) {
  constexpr int64_t kMinSample = 50'000'000;  // no metric has a finer resolution
  Samples samples;
  if (!metrics.has(kIpc) || metrics.ipc_sample_ns() <= 0) return samples;
  const int64_t step = std::max(metrics.ipc_sample_ns(), kMinSample);
  std::set<int64_t> all_ends;
  for (const Window &window : windows) {
    budget.check_time();
    const int64_t first = window.begin_ns / step + 1, last = window.end_ns / step + 1;
    const int64_t stride =
        (last - first) / static_cast<int64_t>(maximum) + 1;  // only a sample of the bins of very long windows is used
    for (int64_t at = first; at <= last; at += stride) all_ends.insert(at * step);
  }
  for (const int64_t end : evidence::evenly_spaced(std::vector<int64_t>(all_ends.begin(), all_ends.end()), maximum)) {
    const Windows row = {{windows.front().host, end - step, end}};
    const auto ipc = metrics.mean(kIpc, row);
    if (!ipc) continue;
    samples.rows.push_back(row);
    samples.ipc.push_back(*ipc);
  }
  return samples;
}

}  // namespace atalaya::jobs
