// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/top/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/io/match/matcher.h"

namespace atalaya::top {
namespace {

struct ColumnName {
  Column column;
  std::string_view name, heading;
  size_t width;
};
constexpr ColumnName kNames[] = {
    {Column::cpu, "cpu", "CPU%", 6},        {Column::memory, "memory", "MEM", 6}, {Column::read, "read", "READ/s", 7},
    {Column::write, "write", "WRITE/s", 8}, {Column::in, "in", "IN/s", 6},        {Column::out, "out", "OUT/s", 6},
    {Column::threads, "threads", "THR", 5},
};
constexpr size_t kPidWidth = 7, kMinName = 12, kMaxName = 40, kContainerWidth = 16, kHostWidth = 14;

constexpr double kMebi = 1048576;
constexpr double kMebibit = kMebi / 8;

struct MetricColumn {
  std::string_view metric;
  Column column;
  double factor;
};
constexpr MetricColumn kMetrics[] = {
    {"proc.cpu.user", Column::cpu, 1},
    {"proc.cpu.kernel", Column::cpu, 1},
    {"proc.mem.resident", Column::memory, kMebi},
    {"proc.disk.reads.mb", Column::read, kMebi},
    {"proc.disk.writes.mb", Column::write, kMebi},
    {"proc.net.tcp.in.mb", Column::in, kMebibit},
    {"proc.net.udp.in.mb", Column::in, kMebibit},
    {"proc.net.tcp.out.mb", Column::out, kMebibit},
    {"proc.net.udp.out.mb", Column::out, kMebibit},
    {"proc.threads", Column::threads, 1},
};

std::string key_of(const Row &row) {
  std::string key = row.host;
  key.append(1, '\0').append(row.pid).append(1, '\0').append(row.process);
  if (row.pid.empty()) key.append(1, '\0').append(row.container);
  return key;
}

std::string value_text(Column column, const std::optional<double> &value) {
  if (!value) return "-";
  char text[32];
  switch (column) {
    case Column::cpu:
      std::snprintf(text, sizeof(text), *value < 99.95 ? "%.1f" : "%.0f", *value);
      return text;
    case Column::threads:
      std::snprintf(text, sizeof(text), "%.0f", *value);
      return text;
    default:
      return amount_text(*value);
  }
}

void append_right(std::string &out, std::string_view text, size_t width) {
  const size_t size = core::display_width(text);
  if (size < width) out.append(width - size, ' ');
  out += text;
}

void append_left(std::string &out, std::string_view text, size_t width) {
  std::string visible;
  core::append_visible(visible, text);
  visible = core::cut_to_width(visible, width);
  out += visible;
  const size_t size = core::display_width(visible);
  if (size < width) out.append(width - size, ' ');
}

// Widths of the columns that depend on the terminal and on the rows.
struct Layout {
  size_t host = 0, name = kMinName, container = 0;  // 0: not shown
  size_t numbers = 0;                               // columns that fit
};

Layout layout_of(const std::vector<Row> &rows, const View &view) {
  Layout layout;
  const auto differs = [&](const Row &row) { return row.host != rows.front().host; };
  const bool hosts = std::any_of(rows.begin(), rows.end(), differs);
  const bool containers = std::any_of(rows.begin(), rows.end(), [](const Row &row) { return !row.container.empty(); });
  size_t used = kPidWidth + 1 + kMinName;
  for (const ColumnName &column : kNames) {
    if (used + 1 + column.width > view.width) break;
    used += 1 + column.width;
    ++layout.numbers;
  }
  const auto optional = [&](bool wanted, size_t width, size_t &out) {
    if (!wanted || used + 1 + width > view.width) return;
    out = width;
    used += 1 + width;
  };
  optional(hosts, kHostWidth, layout.host);
  optional(containers, kContainerWidth, layout.container);
  layout.name = std::min(kMaxName, kMinName + (view.width > used ? view.width - used : 0));
  return layout;
}

std::string heading_of(const Layout &layout, const View &view) {
  std::string line;
  if (layout.host > 0) append_left(line, "HOST", layout.host + 1);
  append_right(line, "PID", kPidWidth);
  append_left(line += ' ', "PROCESS", layout.name);
  for (size_t i = 0; i < layout.numbers; ++i) {
    const bool sorted = !view.by_name && kNames[i].column == view.sort;
    append_right(line += ' ', (sorted ? "*" : "") + std::string(kNames[i].heading), kNames[i].width);
  }
  if (layout.container > 0) append_left(line += ' ', "CONTAINER", layout.container);
  return line;
}

std::string line_of(const Row &row, const Layout &layout) {
  std::string line;
  if (layout.host > 0) {
    append_left(line, row.host, layout.host);
    line += ' ';
  }
  append_right(line, row.pid.empty() ? "-" : row.pid, kPidWidth);
  append_left(line += ' ', row.process.empty() ? "-" : row.process, layout.name);
  for (size_t i = 0; i < layout.numbers; ++i)
    append_right(line += ' ', value_text(kNames[i].column, row[kNames[i].column]), kNames[i].width);
  if (layout.container > 0) append_left(line += ' ', row.container, layout.container);
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string title_of(const Window &window, const std::vector<Row> &rows, const View &view) {
  const std::time_t seconds = window.time_ns / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char when[64];
  std::strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
  std::optional<double> cpu;
  for (const Row &row : window.rows)
    if (row[Column::cpu]) cpu = cpu.value_or(0) + *row[Column::cpu];
  char text[192];
  std::snprintf(text, sizeof(text), "%s  window %gs  %zu of %zu processes  CPU ", when, static_cast<double>(window.length_ns) / 1e9,
                rows.size(), window.rows.size());
  std::string title = text;
  if (cpu) std::snprintf(text, sizeof(text), "%.0f%%", *cpu);
  title += cpu ? text : "-";
  if (!view.filter.empty()) core::append_visible(title += "  filter ", view.filter);
  return core::cut_to_width(title, view.width);
}

bool is_word(std::string_view text) {
  return text.find_first_of("*?[]\\~!") == std::string_view::npos;
}

}  // namespace

void RowBuilder::add(std::string_view metric, double value, const Row &identity) {
  const auto *known =
      std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const auto &entry) { return entry.metric == metric; });
  if (known == std::end(kMetrics)) return;
  const auto [at, is_new] = index_.try_emplace(key_of(identity), rows_.size());
  if (is_new) {
    rows_.push_back(identity);
    rows_.back().values = {};
  }
  Row &row = rows_[at->second];
  if (row.container.empty()) row.container = identity.container;
  std::optional<double> &cell = row[known->column];
  cell = cell.value_or(0) + value * known->factor;
}

std::vector<Row> RowBuilder::take() {
  index_.clear();
  return std::exchange(rows_, {});
}

std::optional<Column> column_from_name(std::string_view name) {
  for (const ColumnName &column : kNames)
    if (column.name == name) return column.column;
  return std::nullopt;
}

std::vector<Row> shown_rows(const Window &window, const View &view) {
  std::vector<Row> rows = window.rows;
  if (!view.filter.empty()) {
    auto matcher = io::Matcher::parse(is_word(view.filter) ? "*" + view.filter + "*" : view.filter);
    if (!matcher) throw std::invalid_argument(matcher.error());
    std::erase_if(rows, [&](const Row &row) { return !matcher->matches(row.process); });
  }
  const auto by_name = [](const Row &a, const Row &b) {
    return std::tie(a.process, a.host, a.pid, a.container) < std::tie(b.process, b.host, b.pid, b.container);
  };
  std::sort(rows.begin(), rows.end(), [&](const Row &a, const Row &b) {
    const auto &left = a[view.sort];
    const auto &right = b[view.sort];
    if (view.by_name || left == right) return by_name(a, b);
    return left.has_value() && (!right.has_value() || *left > *right);
  });
  return rows;
}

Lines lines_of(const Window &window, const View &view) {
  const std::vector<Row> rows = shown_rows(window, view);
  const Layout layout = layout_of(rows, view);
  Lines lines{title_of(window, rows, view), core::cut_to_width(heading_of(layout, view), view.width), {}};
  for (size_t i = view.first; i < rows.size() && (view.height == 0 || lines.rows.size() < view.height); ++i)
    lines.rows.push_back(core::cut_to_width(line_of(rows[i], layout), view.width));
  return lines;
}

std::string amount_text(double bytes) {
  constexpr char kUnits[] = {'\0', 'K', 'M', 'G', 'T', 'P'};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  if (unit == 0)
    std::snprintf(text, sizeof(text), "%.0f", bytes);
  else
    std::snprintf(text, sizeof(text), bytes < 99.95 ? "%.1f%c" : "%.0f%c", bytes, kUnits[unit]);
  return text;
}

std::string json_of(const Window &window, const View &view) {
  core::JsonWriter out;
  {
    core::JsonObject all(out);
    all.key("time").milliseconds(window.time_ns);
    all.number("window", static_cast<double>(window.length_ns) / 1e9);
    all.objects("processes", shown_rows(window, view), [](core::JsonObject &object, const Row &row) {
      object.key("host").text(row.host);
      object.text("pid", row.pid);
      object.key("process").text(row.process);
      object.text("container", row.container);
      for (const ColumnName &column : kNames) object.number(column.name, row[column.column]);
    });
  }
  return out.take() + '\n';
}

}  // namespace atalaya::top
