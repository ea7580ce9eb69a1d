// SPDX-License-Identifier: Apache-2.0
// The forms of a bill.
#include <cmath>

#include "core/base/json.h"
#include "core/base/safe_text.h"
#include "plugins/commands/report/bill.h"
#include "plugins/commands/report/parts.h"
#include "plugins/shared/analysis/query/render.h"

namespace atalaya::report_command {
namespace {

constexpr std::array<const char *, 6> kKinds = {"group", "other", "none", "unattributed", "idle", "total"};

const char *kind_of(const BillRow &row) {
  return kKinds[static_cast<size_t>(row.kind)];
}

}  // namespace

std::string as_table(const Bill &bill) {
  std::vector<query::Row> rows = {{bill.key}, {""}};
  for (const Resource &resource : kResources) {
    rows[0].emplace_back(resource.title);
    rows[1].emplace_back(resource.short_unit);
  }
  for (const BillRow &row : bill.rows) {
    rows.push_back({core::visible(row.name)});
    for (const double amount : row.amounts) rows.back().push_back(shown(amount));
  }
  return query::as_columns(rows);
}

std::string as_csv(const Bill &bill) {
  std::vector<query::Row> rows = {{bill.key, "kind"}};
  for (const Resource &resource : kResources) rows[0].push_back(std::string(resource.name) + " " + std::string(resource.unit));
  for (const BillRow &row : bill.rows) {
    rows.push_back({row.name, kind_of(row)});
    for (const double amount : row.amounts) rows.back().push_back(std::isfinite(amount) ? query::rounded_text(amount) : "");
  }
  return query::as_csv_rows(rows);
}

std::string as_json(const Bill &bill) {
  std::string out = "[";
  for (const BillRow &row : bill.rows) {
    core::append_json_string(out += out.size() > 1 ? ",\n{\"kind\":" : "{\"kind\":", kind_of(row));
    if (row.kind == RowKind::group) {
      core::append_json_string(out += ',', bill.key);
      core::append_json_string(out += ':', row.name);
    }
    for (size_t i = 0; i < kResources.size(); ++i) {
      core::append_json_string(out += ',', kResources[i].name);
      out += ':';
      if (std::isfinite(row.amounts[i]))
        core::append_number(out, row.amounts[i]);
      else
        out += "null";
    }
    out += '}';
  }
  return out + "]\n";
}

}  // namespace atalaya::report_command
