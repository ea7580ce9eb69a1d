// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/process_maps.h"

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "plugins/shared/code/symbols/mapped_file.h"

namespace atalaya::symbols {
namespace {

// A library may be replaced and loaded again at the same address, and its file may get the same inode.
constexpr int64_t kStampAgeNs = 10'000'000'000;

}  // namespace

bool ProcessMaps::refresh(const ProcessMark &mark) {
  static constexpr size_t kMaxFile = size_t{32} << 20;
  if (read_mark(pid_) != mark) return false;
  auto text = core::read_file("/proc/" + std::to_string(pid_) + "/maps", kMaxFile);
  if (!text) return false;
  const int64_t now_ns = core::monotonic();
  const bool opens_all = stamped_ns_ == 0 || now_ns - stamped_ns_ >= kStampAgeNs;
  const size_t hash = std::hash<std::string_view>()(*text);
  if (!opens_all && hash == hash_) {
    before_.clear();
    return true;
  }
  std::vector<Mapping> mappings = parse_maps(*text);
  set_stamps(pid_, mappings, opens_all ? std::span<const Mapping>() : mappings_);
  if (read_mark(pid_) != mark) return false;
  if (!mappings_.empty()) before_ = std::move(mappings_);
  mappings_ = std::move(mappings);
  hash_ = hash;
  if (opens_all) stamped_ns_ = now_ns;
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
