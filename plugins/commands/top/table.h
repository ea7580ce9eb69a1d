// SPDX-License-Identifier: Apache-2.0
// Formats the processes of one window as a table for a terminal: sorted, filtered and cut to its width. Pure functions.
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
  // Units: cpu in % of a core; memory in bytes; read, write, in and out in bytes per second; threads: a number.
  std::array<std::optional<double>, kColumns> values;

  std::optional<double> &operator[](Column column) { return values[static_cast<size_t>(column)]; }
  const std::optional<double> &operator[](Column column) const { return values[static_cast<size_t>(column)]; }
};

struct Window {
  int64_t time_ns = 0, length_ns = 0;  // end and length of the window
  std::vector<Row> rows;
};

// Combines samples to rows by host, pid and process.
class RowBuilder {
 public:
  // Adds a value of a metric to the row of the process; ignores metrics without a column.
  void add(std::string_view metric, double value, const Row &identity);
  std::vector<Row> take();

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::string, size_t> index_;  // index of a row by its host, pid and process
};

struct View {
  Column sort = Column::cpu;
  bool by_name = false;            // sort by process and pid instead
  std::string filter;              // pattern of process names; a text without wildcards matches any part of a name
  size_t first = 0;                // index of the first visible row
  size_t width = 80, height = 24;  // height 0: all rows
};
// Parses the value of --sort; nothing if it is unknown.
std::optional<Column> column_from_name(std::string_view name);

// The rows that match the filter, sorted. Throws std::invalid_argument for a malformed pattern.
std::vector<Row> shown_rows(const Window &window, const View &view);
// Title, heading and rows; no line is wider than the view.
struct Lines {
  std::string title, heading;
  std::vector<std::string> rows;
};
Lines lines_of(const Window &window, const View &view);

// A number of bytes in at most five characters: "512", "1.5K", "20.0M".
std::string amount_text(double bytes);
std::string json_of(const Window &window, const View &view);

}  // namespace atalaya::top
