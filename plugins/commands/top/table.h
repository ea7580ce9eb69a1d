// SPDX-License-Identifier: Apache-2.0
// Processes of one window as a table for a terminal: sorted, filtered, cut to its width. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::top {

enum class Column : uint8_t { cpu, memory, read, write, in, out, threads };
constexpr size_t kColumns = 7;

struct Row {
  std::string host, pid, process, container;  // "": absent
  // cpu: % of a core; memory: bytes; read, write, in, out: bytes per second; threads: their number.
  std::array<std::optional<double>, kColumns> values;

  std::optional<double> &operator[](Column column) { return values[static_cast<size_t>(column)]; }
  const std::optional<double> &operator[](Column column) const { return values[static_cast<size_t>(column)]; }
};

struct Window {
  int64_t time_ns = 0, length_ns = 0;  // its end
  std::vector<Row> rows;
};

// The rows of samples, by host, pid and process.
class RowBuilder {
 public:
  // The value of a metric of a process; other metrics are ignored.
  void add(std::string_view metric, double value, const Row &identity);
  std::vector<Row> take();

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::string, size_t> index_;  // row by key
};

struct View {
  Column sort = Column::cpu;
  bool by_name = false;            // sort by process and pid instead
  std::string filter;              // a pattern of process names; a word without wildcards is a part of them
  size_t first = 0;                // of the shown rows
  size_t width = 80, height = 24;  // height 0: all rows
};
// The value of --sort; nothing if unknown.
std::optional<Column> column_from_name(std::string_view name);

// Rows that pass the filter, sorted. Throws std::invalid_argument for a malformed pattern.
std::vector<Row> shown_rows(const Window &window, const View &view);
// Title, heading and rows; no line is wider than the view.
struct Lines {
  std::string title, heading;
  std::vector<std::string> rows;
};
Lines lines_of(const Window &window, const View &view);

// "512", "1.5K", "20.0M": at most five columns.
std::string amount_text(double bytes);
std::string json_of(const Window &window, const View &view);

}  // namespace atalaya::top
