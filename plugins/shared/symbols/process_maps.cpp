// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/symbols/process_maps.h"

#include <utility>

#include "core/base/files.h"
#include "plugins/shared/symbols/mapped_file.h"

namespace atalaya::symbols {

bool ProcessMaps::refresh(const ProcessMark &mark) {
  static constexpr size_t kMaxFile = size_t{32} << 20;
  if (read_mark(pid_) != mark) return false;
  auto text = core::read_file("/proc/" + std::to_string(pid_) + "/maps", kMaxFile);
  if (!text) return false;
  std::vector<Mapping> mappings = parse_maps(*text);
  note_files(pid_, mappings);
  if (read_mark(pid_) != mark) return false;
  if (!mappings_.empty()) before_ = std::move(mappings_);
  mappings_ = std::move(mappings);
  return true;
}

const Mapping *ProcessMaps::at(uint64_t address) const {
  const Mapping *mapping = find_mapping(mappings_, address);
  return mapping != nullptr ? mapping : find_mapping(before_, address);
}

size_t ProcessMaps::bytes() const {
  const auto of = [](const std::vector<Mapping> &mappings) {
    size_t sum = mappings.capacity() * sizeof(Mapping);
    for (const Mapping &mapping : mappings) sum += mapping.path.capacity();
    return sum;
  };
  return of(mappings_) + of(before_);
}

}  // namespace atalaya::symbols
