// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/params.h"

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::graph {
namespace {

constexpr const char *kTable = "/proc/net/nf_conntrack";
constexpr size_t kMaxTable = size_t{512} << 20;

}  // namespace

Translations read_translations(Host host) {
  const std::vector<std::string> files = host.texts("conntrack");
  Translations found;
  for (const std::string &path : files) {
    const auto text = core::read_file(path, kMaxTable);
    if (!text) throw Failure(Code::bad_config, "--conntrack: " + text.error());
    // An empty file is a table without connections.
    if (add_translations(text.value(), found) == 0 && !text.value().empty())
      throw Failure(Code::bad_config, "--conntrack: " + path + ": no connections found; use the output of conntrack -L");
  }
  return files.empty() ? own_translations() : found;
}

Translations own_translations() {
  Translations found;
  if (const auto text = core::read_file(kTable, kMaxTable)) add_translations(text.value(), found);
  return found;
}

double share_of(std::string_view where, std::string_view text) {
  const bool per_cent = text.ends_with('%');
  double value = core::number_from<double>(text.substr(0, text.size() - (per_cent ? 1 : 0))).value_or(-1);
  if (per_cent) value /= 100;
  if (!(value >= 0 && value <= 1))
    throw query::Wrong(std::string(where) + ": " + core::in_quotes(text) + " is not a share; write 10% or 0.1");
  return value;
}

}  // namespace atalaya::graph
