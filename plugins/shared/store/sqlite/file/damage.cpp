// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/file/damage.h"

namespace atalaya::store {
namespace {

constexpr size_t kMaximum = 1000;

}  // namespace

void Damage::add(std::string_view table, int64_t id) {
  if (parts_.size() < kMaximum) parts_.emplace(table, id);
}

std::string Damage::take(const std::string &path) {
  if (parts_.empty()) return {};
  const auto &[table, id] = *parts_.begin();
  const std::string count = (parts_.size() == kMaximum ? "at least " : "") + std::to_string(parts_.size());
  std::string text = "database " + path + ": " + count + (parts_.size() == 1 ? " damaged part was" : " damaged parts were") +
                     " left out of the answer (the first: " + table + " " + std::to_string(id) +
                     "); `atalaya store verify` lists them, `atalaya store repair` saves the rest";
  parts_.clear();
  return text;
}

}  // namespace atalaya::store
