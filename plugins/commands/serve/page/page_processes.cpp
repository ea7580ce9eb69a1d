// SPDX-License-Identifier: Apache-2.0
// The table of processes, and one process.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/commands/serve/page/page_spans.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/pid_parts.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::Wrong;

// Each value is the sum of the metrics over the complete range, divided by its collected time, as `query --every 0all` returns it.
struct ProcessColumn {
  const char *name, *label, *unit;
  int decimals;
  std::array<const char *, 2> metrics;
};
constexpr std::array kProcessColumns = {
    ProcessColumn{"cpu", "CPU", "%", 2, {"proc.cpu.user", "proc.cpu.kernel"}},
    ProcessColumn{"memory", "Memory", "MiBy", 1, {"proc.mem.resident", nullptr}},
    ProcessColumn{"reads", "Disk reads", "MiBy/s", 3, {"proc.disk.reads.mb", nullptr}},
    ProcessColumn{"writes", "Disk writes", "MiBy/s", 3, {"proc.disk.writes.mb", nullptr}},
    ProcessColumn{"in", "Network in", "Mibit/s", 3, {"proc.net.tcp.in.mb", "proc.net.udp.in.mb"}},
    ProcessColumn{"out", "Network out", "Mibit/s", 3, {"proc.net.tcp.out.mb", "proc.net.udp.out.mb"}},
    ProcessColumn{"threads", "Threads", "1", 1, {"proc.threads", nullptr}},
    ProcessColumn{"gc", "Garbage collection", "%", 2, {"jvm.gc.time", nullptr}},
};
using ProcessValues = std::array<std::optional<double>, kProcessColumns.size()>;

// The key of a row: host, pid, process, container.
constexpr std::array<const char *, 4> kProcessKeys = {"host", "pid", "process", "container"};
using ProcessId = std::array<std::string, kProcessKeys.size()>;

struct ProcessRow {
  ProcessId id;
  ProcessValues values;
  double coverage = 1;  // the collected part of the range
};

// Rows without a container are added to the row of the same process: some sources do not report the container.
using ProcessTable = std::map<std::array<std::string, 3>, ProcessRow>;

void add_value(const query::Answer &answer, size_t column, ProcessTable &table) {
  ProcessId id;
  for (size_t i = 0; i < id.size(); ++i) id[i] = store::tag_of(answer.tags, kProcessKeys[i]);
  ProcessRow &row = table[{id[0], id[1], id[2]}];
  if (id[3].empty()) id[3] = row.id[3];
  row.id = id;
  row.coverage = std::min(row.coverage, answer.coverage);
  row.values[column] = row.values[column].value_or(0) + answer.points.front().value;
}

// The first rows in an order, and the sum of the others.
class FirstRows {
 public:
  using IsBefore = std::function<bool(const ProcessRow &, const ProcessRow &)>;

  FirstRows(std::string filter, IsBefore is_before, size_t limit)
      : filter_(std::move(filter)), is_before_(std::move(is_before)), limit_(limit) {}

  // Adds the complete rows of some processes.
  void add(ProcessTable table) {
    for (auto &[id, row] : table) {
      const auto fits = [&](const std::string &text) { return contains(text, filter_); };
      if (std::any_of(row.id.begin(), row.id.end(), fits)) rows_.push_back(std::move(row));
    }
    if (rows_.size() > 2 * limit_) cut();
  }
  void finish() { cut(); }

  const std::vector<ProcessRow> &rows() const { return rows_; }
  size_t others() const { return others_; }
  const ProcessValues &other() const { return other_; }

 private:
  void cut() {
    std::stable_sort(rows_.begin(), rows_.end(), is_before_);
    for (size_t row = limit_; row < rows_.size(); ++row) {
      ++others_;
      for (size_t i = 0; i < other_.size(); ++i)
        if (const auto value = rows_[row].values[i]) other_[i] = other_[i].value_or(0) + *value;
    }
    rows_.resize(std::min(limit_, rows_.size()));
  }

  // Whether the text contains the part; the case of ASCII letters is ignored.
  static bool contains(std::string_view text, std::string_view part) {
    const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
    return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
  }

  const std::string filter_;
  const IsBefore is_before_;
  const size_t limit_;
  std::vector<ProcessRow> rows_;
  size_t others_ = 0;
  ProcessValues other_;
};

void read_rows(PageCall &call, const query::Range &range, FirstRows &rows) {
  query::Query wanted;
  wanted.tags = page_filters(call.request);
  wanted.range = range;
  wanted.group_by.assign(kProcessKeys.begin(), kProcessKeys.end());
  wanted.downsample = query::Downsample{};
  const std::vector<std::string> known = call.store.metrics();
  std::map<std::string, size_t, std::less<>> columns;
  for (size_t i = 0; i < kProcessColumns.size(); ++i)
    for (const char *metric : kProcessColumns[i].metrics)
      if (metric != nullptr && std::binary_search(known.begin(), known.end(), metric)) columns.emplace(metric, i);
  if (columns.empty()) return;
  // Reads all metrics in one query: those of a process are in the same rows of the store.
  for (const auto &[metric, column] : columns) wanted.metrics.push_back(query::exact_pattern(metric));
  query::read_in_parts(wanted, [&](const query::Query &some, bool) {
    ProcessTable table;
    const auto answers = query::run_query(some, call.store, call.budget);
    for (const query::Answer &answer : answers)
      if (!answer.points.empty()) add_value(answer, columns.find(answer.metric)->second, table);
    query::release(answers, call.budget);
    rows.add(std::move(table));
  });
  rows.finish();
}

FirstRows::IsBefore order_by(const std::string &by, bool descending) {
  const auto column = std::find_if(kProcessColumns.begin(), kProcessColumns.end(), [&](const auto &one) { return one.name == by; });
  if (column != kProcessColumns.end()) {
    const auto i = static_cast<size_t>(column - kProcessColumns.begin());
    // Unknown values are last in both directions.
    return [i, descending](const ProcessRow &a, const ProcessRow &b) {
      if (!a.values[i] || !b.values[i]) return a.values[i].has_value() && !b.values[i].has_value();
      return descending ? *a.values[i] > *b.values[i] : *a.values[i] < *b.values[i];
    };
  }
  const auto key = std::find_if(kProcessKeys.begin(), kProcessKeys.end(), [&](const char *one) { return one == by; });
  const auto i = static_cast<size_t>(key - kProcessKeys.begin());
  return [i, descending](const ProcessRow &a, const ProcessRow &b) { return descending ? a.id[i] > b.id[i] : a.id[i] < b.id[i]; };
}

std::vector<std::string> sort_words() {
  std::vector<std::string> words;
  for (const ProcessColumn &column : kProcessColumns) words.emplace_back(column.name);
  words.insert(words.end(), kProcessKeys.begin(), kProcessKeys.end());
  return words;
}

void write_columns(core::JsonWriter &json) {
  json.key("columns").list();
  for (const ProcessColumn &column : kProcessColumns) {
    json.object().key("name").text(column.name).key("label").text(column.label).key("unit").text(column.unit);
    json.key("decimals").integer(column.decimals).key("metrics").list();
    for (const char *metric : column.metrics)
      if (metric != nullptr) json.text(metric);
    json.end_list().end_object();
  }
  json.end_list();
}

void write_values(core::JsonWriter &json, const ProcessValues &values) {
  json.key("values").list();
  for (const std::optional<double> &value : values) json.number(value);
  json.end_list();
}

struct Found {};  // thrown to end a scan early

bool has_stacks(PageCall &call, const store::Selection &selection) {
  try {
    call.store.stacks(selection, [](const store::Stack &) { throw Found(); });
  } catch (const Found &) {
    return true;
  }
  return false;
}

void write_identity(core::JsonWriter &json, const std::vector<store::Series> &series) {
  std::map<std::string, std::set<std::string>> values;
  for (const store::Series &one : series)
    if (one.metric.starts_with("proc."))
      for (const auto &[key, value] : one.tags) values[key].insert(value);
  json.object();
  for (const auto &[key, texts] : values)
    if (texts.size() == 1) json.key(key).text(*texts.begin());
  json.end_object();
}

}  // namespace

std::string page_processes(PageCall &call) {
  const query::Range range = call.range();
  const std::string by = page_choice(call.request, "sort", sort_words());
  const std::string direction = page_choice(call.request, "desc", {"", "true", "false"});
  const auto limit = static_cast<size_t>(page_count(call.request, "limit", 200, 1, 10'000));
  const bool is_text = std::find(kProcessKeys.begin(), kProcessKeys.end(), by) != kProcessKeys.end();
  FirstRows rows(call.request.text("filter"), order_by(by, direction.empty() ? !is_text : direction == "true"), limit);
  read_rows(call, range, rows);

  core::JsonWriter json;
  json.object().key("from").milliseconds(range.from_ns).key("to").milliseconds(range.to_ns);
  json.key("seconds").number(static_cast<double>(range.to_ns - range.from_ns) / 1e9);
  write_columns(json);
  json.key("rows").list();
  for (const ProcessRow &row : rows.rows()) {
    json.object();
    for (size_t key = 0; key < kProcessKeys.size(); ++key) json.key(kProcessKeys[key]).text_or_null(row.id[key]);
    write_values(json, row.values);
    json.key("coverage").number(row.coverage).end_object();
  }
  json.end_list().key("total").count(rows.rows().size() + rows.others()).key("other").object();
  write_values(json.key("count").count(rows.others()), rows.other());
  return json.end_object().end_object().take();
}

std::string page_process(PageCall &call) {
  query::Query wanted;
  wanted.tags = page_filters(call.request);
  if (wanted.tags.empty()) throw Wrong("name a process: host and pid, or process");
  wanted.range = call.range();
  wanted.metrics = {"*"};
  const std::vector<store::Series> series = query::selected(wanted, call.store, call.budget);
  std::map<std::string, const store::MetricInfo *> metrics;
  for (const store::Series &one : series) metrics.emplace(one.metric, one.info.get());
  const auto has = [&](std::string_view family) {
    return std::any_of(metrics.begin(), metrics.end(), [&](const auto &one) { return one.first.starts_with(family); });
  };

  core::JsonWriter json;
  write_identity(json.object().key("identity"), series);
  json.key("metrics").list();
  for (const auto &[metric, info] : metrics) {
    json.object().key("name").text(metric).key("unit").text_or_null(info != nullptr ? info->unit : "");
    json.key("kind").text_or_null(info != nullptr ? store::text_of(info->kind) : "").end_object();
  }
  json.end_list().key("stacks").boolean(has_stacks(call, {{}, wanted.tags, wanted.range}));
  json.key("flows").boolean(has("flow.")).key("jvm").boolean(has("jvm.")).key("phases");
  write_spans(json, "phase", {{"phase"}, wanted.tags, wanted.range}, call);
  return json.end_object().take();
}

}  // namespace atalaya::serve
