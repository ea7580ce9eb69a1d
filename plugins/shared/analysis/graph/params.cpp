// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/params.h"

#include <string>
#include <vector>

#include "core/base/files.h"

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
  if (!files.empty()) return found;
  if (const auto text = core::read_file(kTable, kMaxTable)) add_translations(text.value(), found);
  return found;
}

}  // namespace atalaya::graph
