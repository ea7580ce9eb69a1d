// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/contents/listing.h"

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::contents {

std::string as_table(const Listing &listing) {
  std::vector<command_line::Row> rows = {listing.columns};
  for (const std::vector<Cell> &cells : listing.rows) {
    command_line::Row row;
    for (const Cell &cell : cells) {
      const auto *text = std::get_if<std::string>(&cell);
      row.push_back(text != nullptr ? core::visible(*text) : std::to_string(std::get<int64_t>(cell)));
    }
    rows.push_back(std::move(row));
  }
  return command_line::as_columns(rows);
}

std::string as_json(const Listing &listing) {
  core::JsonWriter json;
  json.list();
  for (const std::vector<Cell> &cells : listing.rows) {
    json.line().object();
    for (size_t i = 0; i < cells.size(); ++i) {
      json.key(listing.columns[i]);
      if (const auto *text = std::get_if<std::string>(&cells[i]))
        json.text(*text);
      else
        json.integer(std::get<int64_t>(cells[i]));
    }
    json.end_object();
  }
  return json.end_list().take() + "\n";
}

std::string as_names(const Listing &listing) {
  std::string out;
  for (const std::vector<Cell> &cells : listing.rows)
    if (const auto &name = std::get<std::string>(cells[0]); core::visible(name) == name) out += name + "\n";
  return out;
}

}  // namespace atalaya::contents
