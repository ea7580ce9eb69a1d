// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/shared/code/symbols/process/process_root.h"

namespace atalaya::symbols {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string hexadecimal_text(uint64_t number) {
  std::array<char, 16> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr};
}

// Opens the mapped file itself, even if its name was deleted. Requires CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
core::Descriptor by_range(int32_t pid, const Mapping &mapping) {
  const std::string range = hexadecimal_text(mapping.begin) + "-" + hexadecimal_text(mapping.end);
  return core::Descriptor(::open(("/proc/" + std::to_string(pid) + "/map_files/" + range).c_str(), O_PATH | O_CLOEXEC));
}

FileStamp stamp_of(const core::Descriptor &file) {
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return {info.st_dev, info.st_ino, info.st_size, int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

// Layered file systems show another device in maps than in stat; the inode is the same.
FileStamp stamp_of_mapped(const core::Descriptor &file, const Mapping &mapping) {
  const FileStamp stamp = stamp_of(file);
  return stamp.inode == mapping.file.inode ? stamp : FileStamp{};
}

// The stamp of the same mapping in an earlier reading; all 0: none.
FileStamp known_stamp(const Mapping &mapping, std::span<const Mapping> earlier) {
  const auto at = std::lower_bound(earlier.begin(), earlier.end(), mapping.begin,
                                   [](const Mapping &one, uint64_t begin) { return one.begin < begin; });
  if (at == earlier.end() || at->begin != mapping.begin || at->end != mapping.end || at->offset != mapping.offset) return {};
  return at->file == mapping.file && at->path == mapping.path ? at->stamp : FileStamp{};
}

FileStamp note(int32_t pid, const ProcessRoot &root, const Mapping &mapping) {
  const FileStamp stamp = stamp_of_mapped(by_range(pid, mapping), mapping);
  if (stamp || mapping.path.ends_with(kDeleted)) return stamp;
  return stamp_of_mapped(root.open(mapping.path, O_PATH), mapping);
}

}  // namespace

void set_stamps(int32_t pid, std::vector<Mapping> &mappings, std::span<const Mapping> earlier) {
  static constexpr size_t kMaxFiles = 1024;  // per process; further files have no names
  const ProcessRoot root(pid);
  std::map<std::pair<FileId, std::string_view>, FileStamp> noted;
  for (Mapping &mapping : mappings) {
    if (!mapping.is_file()) continue;
    if (mapping.stamp = known_stamp(mapping, earlier); mapping.stamp) continue;
    const std::pair<FileId, std::string_view> file(mapping.file, mapping.path);
    auto known = noted.find(file);
    if (known == noted.end() && noted.size() < kMaxFiles) known = noted.emplace(file, note(pid, root, mapping)).first;
    if (known != noted.end()) mapping.stamp = known->second;
  }
}

core::Descriptor open_stamped(int32_t pid, const Mapping &mapping) {
  if (!mapping.stamp) return {};
  if (const auto file = by_range(pid, mapping); stamp_of(file) == mapping.stamp) return reopened_if_regular(file);
  if (mapping.path.ends_with(kDeleted)) return {};
  // By its name: in the process's root, or, after the process ended, in the host's.
  if (const auto file = ProcessRoot(pid).open(mapping.path, O_PATH); stamp_of(file) == mapping.stamp)
    return reopened_if_regular(file);
  const core::Descriptor file(::open(mapping.path.c_str(), O_PATH | O_CLOEXEC));
  return stamp_of(file) == mapping.stamp ? reopened_if_regular(file) : core::Descriptor();
}

}  // namespace atalaya::symbols
