// SPDX-License-Identifier: Apache-2.0
// Formats a bill as table, CSV and JSON.
#include <cmath>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/commands/report/bill.h"
#include "plugins/commands/report/parts.h"
#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::report_command {
namespace {

constexpr std::array<const char *, 6> kKinds = {"group", "other", "none", "unattributed", "idle", "total"};

const char *kind_of(const BillRow &row) {
  return kKinds[static_cast<size_t>(row.kind)];
}

}  // namespace

std::string as_table(const Bill &bill) {
  std::vector<command_line::Row> rows = {{bill.key}, {""}};
  for (const Resource &resource : kResources) {
    rows[0].emplace_back(resource.title);
    rows[1].emplace_back(resource.short_unit);
  }
  for (const BillRow &row : bill.rows) {
    rows.push_back({core::visible(row.name)});
    for (const double amount : row.amounts) rows.back().push_back(shown(amount));
  }
  return command_line::as_columns(rows);
}

std::string as_csv(const Bill &bill) {
  std::vector<command_line::Row> rows = {{bill.key, "kind"}};
  for (const Resource &resource : kResources) rows[0].push_back(std::string(resource.name) + " " + std::string(resource.unit));
  for (const BillRow &row : bill.rows) {
    rows.push_back({row.name, kind_of(row)});
    for (const double amount : row.amounts) rows.back().push_back(std::isfinite(amount) ? command_line::rounded_text(amount) : "");
  }
  return command_line::as_csv_rows(rows);
}

std::string as_json(const Bill &bill) {
  core::JsonWriter out;
  out.list();
  for (const BillRow &row : bill.rows) {
    core::JsonObject object(out);
    object.key("kind").text(kind_of(row));
    if (row.kind == RowKind::group) object.key(bill.key).text(row.name);
    for (size_t i = 0; i < kResources.size(); ++i) object.key(kResources[i].name).number(row.amounts[i]);
  }
  return out.end_list().take() + '\n';
}

}  // namespace atalaya::report_command
