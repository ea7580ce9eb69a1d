// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/cpus.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/files.h"

namespace atalaya::procfs {
namespace {

constexpr int kMaxCpus = 8192;

// Parses an identity; negative ones are invalid, and the kernel uses -1 for unknown.
int32_t small(int64_t id) {
  return static_cast<int32_t>(std::clamp<int64_t>(id, 0, INT32_MAX));
}

}  // namespace

std::vector<int> online_cpus(const std::string &root) {
  auto text = core::read_file(root + "/sys/devices/system/cpu/online", 65536);
  return text ? parse_cpus(*text) : std::vector<int>();
}

CpuChange change_of(const std::vector<int> &before, const std::vector<int> &online) {
  CpuChange change;
  if (online.empty()) return change;  // a host always has an online CPU: the file could not be read
  std::set_difference(before.begin(), before.end(), online.begin(), online.end(), std::back_inserter(change.removed));
  std::set_difference(online.begin(), online.end(), before.begin(), before.end(), std::back_inserter(change.added));
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

std::vector<Cpu> read_cpus(const Tree &tree) {
  std::vector<Cpu> cpus;
  std::set<std::tuple<int32_t, int32_t, int32_t>> cores;
  std::set<std::pair<int32_t, int32_t>> dies;
  std::set<int32_t> packages;
  for (const int number : online_cpus(tree.root())) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
    const auto core_id = tree.number(folder + "core_id"), package = tree.number(folder + "physical_package_id");
    if (!core_id || !package) continue;  // the CPU has gone offline again
    // The package may be -1 on boards with one package, and kernels before 5.2 report no dies.
    Cpu cpu{number, small(*package), small(tree.number(folder + "die_id").value_or(0)), small(*core_id)};
    cpu.first_of_core = cores.insert({cpu.package, cpu.die, cpu.core_id}).second;
    cpu.first_of_die = dies.insert({cpu.package, cpu.die}).second;
    cpu.first_of_package = packages.insert(cpu.package).second;
    cpus.push_back(cpu);
  }
  return cpus;
}

void CpuWatch::start() {
  online_ = online_cpus(root_);
  report_again_ = false;
}

bool CpuWatch::changed() {
  std::vector<int> online = online_cpus(root_);
  const bool now = change_of(online_, online).any();
  if (now) online_ = std::move(online);
  return std::exchange(report_again_, now) || now;
}

}  // namespace atalaya::procfs
