// SPDX-License-Identifier: Apache-2.0
#include "plugins/cpus/cpus.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "core/util/files.h"

namespace atalaya::cpus {
namespace {

constexpr int kMaxCpus = 8192;

}  // namespace

std::vector<int> online_cpus(const std::string &root) {
  auto text = core::read_file(root + "/sys/devices/system/cpu/online", 65536);
  return text ? parse_cpus(*text) : std::vector<int>();
}

CpuChange change_of(const std::vector<int> &before, const std::vector<int> &online) {
  CpuChange change;
  if (online.empty()) return change;  // that cannot be: the file could not be read
  std::set_difference(before.begin(), before.end(), online.begin(), online.end(), std::back_inserter(change.gone));
  std::set_difference(online.begin(), online.end(), before.begin(), before.end(), std::back_inserter(change.come));
  return change;
}

std::vector<int> parse_cpus(std::string_view text) {
  std::vector<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) break;
    int last = first;
    if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last >= kMaxCpus) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = read.ptr + 1;
  }
  return cpus;
}

}  // namespace atalaya::cpus
