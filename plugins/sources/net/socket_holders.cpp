// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/socket_holders.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/process_stat.h"

namespace atalaya::net {
namespace {

struct FolderCloser {
  void operator()(DIR *folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, FolderCloser>;

constexpr size_t kMaxStat = 4096;

uint64_t ns_of_ticks(uint64_t ticks) {
  static const auto per_second = static_cast<uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return ticks * (1'000'000'000 / per_second);
}

}  // namespace

std::optional<uint32_t> socket_inode(std::string_view link) {
  constexpr std::string_view kBegin = "socket:[";
  if (!link.starts_with(kBegin) || !link.ends_with(']')) return std::nullopt;
  return core::number_from<uint32_t>(link.substr(kBegin.size(), link.size() - kBegin.size() - 1));
}

void SocketHolders::refresh() {
  holders_.clear();
  const Folder folder(::opendir(proc_.c_str()));
  if (!folder) return;
  while (const dirent *entry = ::readdir(folder.get()))
    if (const auto pid = core::number_from<int32_t>(entry->d_name); pid && *pid > 0) add_process(*pid);
}

// Ignores a process that ends meanwhile or whose files are not readable.
void SocketHolders::add_process(int32_t pid) {
  const std::string path = proc_ + "/" + std::to_string(pid);
  const Folder files(::opendir((path + "/fd").c_str()));
  if (!files) return;
  std::optional<net_owner> owner;
  while (const dirent *entry = ::readdir(files.get())) {
    std::array<char, 64> link{};
    const ssize_t size = ::readlinkat(::dirfd(files.get()), entry->d_name, link.data(), link.size());
    if (size <= 0) continue;
    const auto inode = socket_inode({link.data(), static_cast<size_t>(size)});
    if (!inode) continue;
    if (!owner) {
      const auto stat = core::read_file(path + "/stat", kMaxStat);
      const auto fields = stat ? procfs::ProcessStat::parse(stat.value(), 22) : std::nullopt;
      if (!fields || !fields->has(22)) return;
      owner.emplace();
      owner->pid = pid;
      owner->start_ns = ns_of_ticks((*fields)[22]);
      const std::string_view name = fields->name();
      std::memcpy(owner->comm, name.data(), std::min<size_t>(name.size(), NET_COMM - 1));
    }
    holders_.try_emplace(*inode, *owner);
  }
}

const net_owner *SocketHolders::find(uint32_t inode) const {
  const auto at = holders_.find(inode);
  return at == holders_.end() ? nullptr : &at->second;
}

}  // namespace atalaya::net
