// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "core/cli/help/plugin_pages.h"

namespace atalaya::core::cli {
namespace {

// Maximum width of all columns but the last: longer cells continue on the next line, so that tables fit a terminal.
constexpr size_t kWidest = 40;

// The lines of a cell: broken after commas and at spaces.
std::vector<std::string> lines_of(const std::string &cell, size_t width) {
  std::vector<std::string> lines;
  std::string_view rest = cell;
  while (display_width(rest) > width) {
    size_t at = rest.substr(0, width + 1).find_last_of(", ");
    if (at == width && rest[at] == ',') at = rest.substr(0, width).find_last_of(", ");  // the comma does not fit
    const size_t end = at == std::string_view::npos ? rest.find_first_of(", ", width) : at;
    if (end == std::string_view::npos) break;
    lines.emplace_back(rest.substr(0, rest[end] == ',' ? end + 1 : end));
    rest.remove_prefix(end + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  }
  lines.emplace_back(rest);
  return lines;
}

using Cells = std::vector<std::vector<std::string>>;  // the cells of one row, each as its lines

Cells cells_of(const std::vector<std::string> &row) {
  Cells cells;
  for (const std::string &cell : row)
    cells.push_back(cells.size() + 1 == row.size() ? std::vector<std::string>{cell} : lines_of(cell, kWidest));
  return cells;
}

void append_row(std::string &text, const Cells &cells, const std::vector<size_t> &widths, const std::string &indent) {
  size_t height = 0;
  for (const auto &lines : cells) height = std::max(height, lines.size());
  for (size_t line = 0; line < height; ++line) {
    text += indent;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string_view part = line < cells[i].size() ? std::string_view(cells[i][line]) : std::string_view();
      text.append(part).append(widths[i] - display_width(part) + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
}

// Columns are as wide as their widest line; the last one is not padded.
std::string as_text(const Table &table) {
  std::vector<Cells> rows = {cells_of(table.columns)};
  for (const auto &row : table.rows) rows.push_back(cells_of(row));
  std::vector<size_t> widths(table.columns.size(), 0);
  for (const Cells &cells : rows)
    for (size_t i = 0; i < cells.size(); ++i)
      for (const std::string &line : cells[i]) widths[i] = std::max(widths[i], display_width(line));
  std::string text = table.title.empty() ? "" : table.title + "\n";
  for (const Cells &cells : rows) append_row(text, cells, widths, table.title.empty() ? "" : "  ");
  return text;
}

std::string markdown_cell(const std::string &cell) {
  std::string escaped;
  for (const char c : cell) escaped += c == '|' || c == '*' || c == '<' ? std::string{'\\', c} : std::string(1, c);
  return escaped;
}

std::string as_markdown(const Table &table) {
  std::string text = table.title.empty() ? "" : "### " + table.title + "\n\n";
  const auto append_row = [&text](const std::vector<std::string> &row) {
    for (const std::string &cell : row) text += (&cell == row.data() ? "| " : " | ") + markdown_cell(cell);
    text += " |\n";
  };
  append_row(table.columns);
  append_row(std::vector<std::string>(table.columns.size(), "---"));
  for (const auto &row : table.rows) append_row(row);
  return text;
}

// An array of objects whose keys are the columns.
void write_json(JsonWriter &json, const Table &table) {
  json.list();
  for (const auto &row : table.rows) {
    json.object();
    for (size_t i = 0; i < row.size(); ++i) json.key(table.columns[i]).text(row[i]);
    json.end_object();
  }
  json.end_list();
}

void write_json(JsonWriter &json, const Page &page) {
  json.object().key("kind").text(page.kind).key("name").text(page.name).key("plugin").text(page.plugin);
  json.key("version").text(page.version).key("file").text(page.file).key("summary").text(page.summary);
  for (const Table &table : page.tables) {
    std::string key = table.title;
    key[0] = static_cast<char>(key[0] - 'A' + 'a');
    write_json(json.key(key), table);
  }
  json.end_object();
}

// The markdown page is part of the README of its plugin, which has the other facts.
std::string as_markdown(const Page &page, bool alone) {
  std::string text = alone ? "" : "## " + page.kind + " `" + page.name + "`\n\n";
  text += page.summary + "\n";
  for (const Table &table : page.tables) text += "\n" + as_markdown(table);
  return text;
}

std::string as_text(const Page &page) {
  std::string text =
      page.kind + " " + page.name + ": " + page.summary + "\n" + page.plugin + " " + page.version + ", " + page.file + "\n";
  for (const Table &table : page.tables) text += "\n" + as_text(table);
  return text;
}

}  // namespace

std::string render(const Table &table, PageFormat format) {
  if (format != PageFormat::json) return format == PageFormat::markdown ? as_markdown(table) : as_text(table);
  JsonWriter json;
  write_json(json, table);
  return json.take() + "\n";
}

std::string render(const std::vector<Page> &pages, PageFormat format) {
  std::string text;
  if (format == PageFormat::json) {
    JsonWriter json(text);
    json.list();
    for (const Page &page : pages) write_json(json, page);
    json.end_list();
    return text + "\n";
  }
  for (const Page &page : pages) {
    text += text.empty() ? "" : "\n";
    text += format == PageFormat::markdown ? as_markdown(page, pages.size() == 1) : as_text(page);
  }
  return text;
}

}  // namespace atalaya::core::cli
