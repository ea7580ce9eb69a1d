// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/table/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/safe_text.h"

namespace atalaya::io {
namespace {

constexpr size_t kGap = 2;      // between columns
constexpr size_t kMinText = 8;  // minimum width of a text column
constexpr std::string_view kAbsent = "-";

// The samples of one table, which all have the same keys in the same order.
struct Group {
  uint32_t kind = 0;
  std::string_view family;
  int64_t time_ns = 0, duration_ns = 0;
  std::vector<uint32_t> keys;
  std::vector<const atalaya_sample *> samples;
};

struct Column {
  std::string label;
  bool text = false;  // true: left-aligned, may be cut; false: right-aligned, never cut
  size_t width = 0;
  std::vector<std::string> cells;
};

// Formats a number with at most three decimals and no trailing zeros; very large and very small values in scientific notation.
std::string number_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 0.001 && size < 1e15);
  char buffer[32];
  const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value, form, 3).ptr);
  if (!plain) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string time_text(int64_t time_ns);

// Formats special fields: a state is a character code, and a start time is in Unix ns.
std::string value_text(std::string_view name, const atalaya_field &field) {
  static constexpr int64_t kYear2001 = 1'000'000'000'000'000'000;
  const int64_t whole = field.type == ATALAYA_I64 ? field.value.i64 : 0;
  if (name.ends_with(".state") && whole > ' ' && whole < 127) return {static_cast<char>(whole)};
  if (name.ends_with(".start.time") && whole > kYear2001) return time_text(whole);
  return field.type == ATALAYA_I64 ? std::to_string(field.value.i64) : number_text(field.value.f64);
}

double value_of(const atalaya_field &field) {
  return field.type == ATALAYA_I64 ? static_cast<double>(field.value.i64) : field.value.f64;
}

const atalaya_field *find_field(const atalaya_sample &sample, uint32_t name) {
  for (uint32_t i = 0; i < sample.field_count; ++i)
    if (sample.fields[i].name == name) return &sample.fields[i];
  return nullptr;
}

std::string_view tag_value(const atalaya_sample &sample, size_t index) {
  return {sample.tags[index].value.data, sample.tags[index].value.size};
}

// Local time with its offset: "2026-11-21 10:00:00+01:00".
std::string time_text(int64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return std::to_string(time_ns) + " ns";
  char buffer[64];
  std::string text(buffer, std::strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M:%S%z", &parts));
  return text.insert(text.size() - 2, ":");
}

// The same for a title, with the zone as in tables of queries: "2026-11-21 10:00:00 UTC+01:00".
std::string title_time(int64_t time_ns) {
  std::string text = time_text(time_ns);
  const size_t zone = text.find_last_of("+-");
  if (zone == std::string::npos) return text;
  text.insert(zone, " UTC");
  return text.ends_with("+00:00") ? text.substr(0, zone + 4) : text;
}

std::string seconds_text(int64_t duration_ns) {
  return number_text(static_cast<double>(duration_ns) / 1e9) + " s";
}

// ---- Grouping ----------------------------------------------------------------------------------------------------------------

bool same_keys(const Group &group, const atalaya_sample &sample) {
  if (group.keys.size() != sample.tag_count) return false;
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (group.keys[i] != sample.tags[i].key) return false;
  return true;
}

std::string_view family_of(const atalaya_sample &sample, const core::NameOf &name_of) {
  if (sample.kind == ATALAYA_STACK) return "stacks";
  if (sample.kind == ATALAYA_SPAN) return "spans";
  if (sample.field_count == 0) return "no fields";
  const std::string_view name = name_of(sample.fields[0].name);
  return name.substr(0, name.find('.'));
}

std::vector<Group> grouped(std::span<const atalaya_sample> samples, const core::NameOf &name_of) {
  std::vector<Group> groups;
  for (const atalaya_sample &sample : samples) {
    const bool windowed = sample.kind != ATALAYA_SPAN;  // spans have no common window: each has its own time
    const int64_t time_ns = windowed ? sample.time_ns : 0;
    const int64_t duration_ns = windowed ? sample.duration_ns : 0;
    const std::string_view family = family_of(sample, name_of);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group &g) {
      return g.kind == sample.kind && g.time_ns == time_ns && g.duration_ns == duration_ns && g.family == family &&
             same_keys(g, sample);
    });
    if (group == groups.end()) {
      Group fresh{sample.kind, family, time_ns, duration_ns, {}, {}};
      for (uint32_t i = 0; i < sample.tag_count; ++i) fresh.keys.push_back(sample.tags[i].key);
      group = groups.insert(groups.end(), std::move(fresh));
    }
    group->samples.push_back(&sample);
  }
  return groups;
}

// The sort key of a process: its CPU time in the window; kernel threads come last.
double rank_of(const atalaya_sample &sample, const core::NameOf &name_of) {
  constexpr double kKernelThread = -1, kParentOfThreads = 2;
  double cpu = 0;
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const std::string_view name = name_of(sample.fields[i].name);
    const double value = value_of(sample.fields[i]);
    if (name == "proc.parent.pid" && value == kParentOfThreads) return kKernelThread;
    if (name == "proc.cpu.user" || name == "proc.cpu.kernel") cpu += std::isnan(value) ? 0 : value;
  }
  return cpu;
}

void sort_processes(Group &group, const core::NameOf &name_of) {
  std::vector<std::pair<double, const atalaya_sample *>> ranked;
  for (const atalaya_sample *sample : group.samples) ranked.emplace_back(rank_of(*sample, name_of), sample);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  std::transform(ranked.begin(), ranked.end(), group.samples.begin(), [](const auto &one) { return one.second; });
}

void sort_rows(Group &group, const core::NameOf &name_of, const std::string &name) {
  const auto key = [&](const atalaya_sample *sample) {
    for (uint32_t i = 0; i < sample->field_count; ++i) {
      const double value = value_of(sample->fields[i]);
      if (name_of(sample->fields[i].name) == name && !std::isnan(value)) return value;
    }
    return -std::numeric_limits<double>::infinity();
  };
  std::stable_sort(group.samples.begin(), group.samples.end(),
                   [&](const atalaya_sample *a, const atalaya_sample *b) { return key(a) > key(b); });
}

// ---- Columns -----------------------------------------------------------------------------------------------------------------

void measure(Column &column) {
  column.width = core::display_width(column.label);
  for (const std::string &cell : column.cells) column.width = std::max(column.width, core::display_width(cell));
}

// If all rows have the same host, it is part of the title.
std::string_view shared_host(const Group &group, const core::NameOf &name_of) {
  for (size_t i = 0; i < group.keys.size(); ++i) {
    if (name_of(group.keys[i]) != "host") continue;
    const std::string_view first = tag_value(*group.samples[0], i);
    const bool same = std::all_of(group.samples.begin(), group.samples.end(),
                                  [&](const atalaya_sample *sample) { return tag_value(*sample, i) == first; });
    return same ? first : std::string_view{};
  }
  return {};
}

std::vector<Column> tag_columns(const Group &group, const core::NameOf &name_of, bool with_host) {
  std::vector<Column> columns;
  for (size_t i = 0; i < group.keys.size(); ++i) {
    const std::string_view key = name_of(group.keys[i]);
    if (key == "host" && !with_host) continue;
    Column column{core::visible(key), true, 0, {}};
    for (const atalaya_sample *sample : group.samples) column.cells.push_back(core::visible(tag_value(*sample, i)));
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<uint32_t> field_names(const Group &group) {
  std::vector<uint32_t> names;
  for (const atalaya_sample *sample : group.samples) {
    for (uint32_t i = 0; i < sample->field_count; ++i) {
      const uint32_t name = sample->fields[i].name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// The name without its family, unless a tag has the same name.
std::string field_label(std::string_view name, const Group &group, const std::vector<Column> &tags) {
  const bool prefixed = name.size() > group.family.size() && name.starts_with(group.family) && name[group.family.size()] == '.';
  if (!prefixed) return core::visible(name);
  std::string label = core::visible(name.substr(group.family.size() + 1));
  const bool taken = std::any_of(tags.begin(), tags.end(), [&](const Column &tag) { return tag.label == label; });
  return taken ? core::visible(name) : label;
}

std::vector<Column> field_columns(const Group &group, const core::NameOf &name_of, const std::vector<Column> &tags) {
  std::vector<Column> columns;
  for (const uint32_t name : field_names(group)) {
    Column column{field_label(name_of(name), group, tags), false, 0, {}};
    for (const atalaya_sample *sample : group.samples) {
      const atalaya_field *field = find_field(*sample, name);
      column.cells.push_back(field == nullptr ? std::string(kAbsent) : value_text(name_of(name), *field));
    }
    columns.push_back(std::move(column));
  }
  if (group.kind == ATALAYA_METRICS) return columns;
  Column length{"duration", false, 0, {}};
  Column text{group.kind == ATALAYA_STACK ? "stack" : "span", true, 0, {}};
  Column start{"start", true, 0, {}};
  for (const atalaya_sample *sample : group.samples) {
    start.cells.push_back(time_text(sample->time_ns));
    length.cells.push_back(sample->duration_ns < 0 ? "open" : seconds_text(sample->duration_ns));
    text.cells.push_back(core::visible({sample->text.data, sample->text.size}));
  }
  if (group.kind == ATALAYA_SPAN) {
    columns.push_back(std::move(start));
    columns.push_back(std::move(length));
  }
  columns.push_back(std::move(text));
  return columns;
}

// ---- Layout ------------------------------------------------------------------------------------------------------------------

size_t total_width(const std::vector<Column> &columns) {
  size_t width = 0;
  for (const Column &column : columns) width += column.width + kGap;
  return width;
}

// Narrows the widest columns until all together use half of the terminal.
void narrow(std::vector<Column> &tags, size_t width) {
  while (total_width(tags) > width / 2) {
    const auto widest =
        std::max_element(tags.begin(), tags.end(), [](const Column &a, const Column &b) { return a.width < b.width; });
    if (widest->width <= kMinText) return;
    --widest->width;
  }
}

void append_cell(std::string &line, const Column &column, const std::string &cell) {
  if (!line.empty()) line.append(kGap, ' ');
  const std::string shown = column.text ? core::cut_to_width(cell, column.width) : cell;
  const size_t width = core::display_width(shown);
  const size_t padding = column.width > width ? column.width - width : 0;
  if (!column.text) line.append(padding, ' ');
  line += shown;
  if (column.text) line.append(padding, ' ');
}

void append_line(std::string &out, std::string &line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
  line.clear();
}

using Columns = std::vector<const Column *>;

void append_block(std::string &out, const Columns &block, size_t rows) {
  std::string line;
  for (const Column *column : block) append_cell(line, *column, column->label);
  append_line(out, line);
  for (size_t row = 0; row < rows; ++row) {
    for (const Column *column : block) append_cell(line, *column, column->cells[row]);
    append_line(out, line);
  }
}

// Lays out the fields that fit next to the tags in their rows, and the others in additional rows.
void append_blocks(std::string &out, std::vector<Column> tags, std::vector<Column> fields, size_t width, size_t rows) {
  for (Column &column : tags) measure(column);
  for (Column &column : fields) measure(column);
  if (width > 0) narrow(tags, width);
  const size_t tag_width = total_width(tags);
  Columns tag_pointers;
  for (const Column &tag : tags) tag_pointers.push_back(&tag);
  Columns block = tag_pointers;
  size_t used = tag_width;
  for (Column &field : fields) {
    if (width > 0 && used > tag_width && used + field.width > width) {
      append_block(out, block, rows);
      block = tag_pointers;
      used = tag_width;
    }
    if (width > 0 && field.text) field.width = std::min(field.width, width > used + kMinText ? width - used : kMinText);
    block.push_back(&field);
    used += field.width + kGap;
  }
  append_block(out, block, rows);
}

std::string title_of(const Group &group, const std::vector<Column> &tags, std::string_view host) {
  std::string title = core::visible(group.family);
  for (const Column &tag : tags) title += (&tag == &tags.front() ? " by " : ", ") + tag.label;
  if (!host.empty()) title += "; host " + core::visible(host);
  if (group.kind == ATALAYA_SPAN) return title;
  title += "; " + title_time(group.time_ns);
  return group.duration_ns > 0 ? title + "; window " + seconds_text(group.duration_ns) : title;
}

}  // namespace

void append_tables(std::span<const atalaya_sample> samples, const core::NameOf &name_of, const TableOptions &options,
                   std::string &out) {
  for (Group &group : grouped(samples, name_of)) {
    if (!options.sort.empty())
      sort_rows(group, name_of, options.sort);
    else if (group.family == "proc")
      sort_processes(group, name_of);
    const size_t all = group.samples.size();
    if (options.max_rows > 0 && all > options.max_rows) group.samples.resize(options.max_rows);
    const std::string_view host = shared_host(group, name_of);
    std::vector<Column> tags = tag_columns(group, name_of, host.empty());
    std::vector<Column> fields = field_columns(group, name_of, tags);
    const std::string title = title_of(group, tags, host);
    out += options.width > 0 ? core::cut_to_width(title, options.width) : title;
    out += '\n';
    append_blocks(out, std::move(tags), std::move(fields), options.width, group.samples.size());
    if (all > group.samples.size()) out += std::to_string(all - group.samples.size()) + " more rows\n";
    out += '\n';
  }
}

}  // namespace atalaya::io
