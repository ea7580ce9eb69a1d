// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/elf_files.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "plugins/shared/code/symbols/mapped_file.h"
#include "plugins/shared/code/symbols/process/process_root.h"
#include "plugins/shared/code/symbols/vdso.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxFiles = 16384;

std::string hexadecimal_of(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

// Returns the paths that debuggers search.
std::vector<std::string> debug_paths(const std::string &build, const std::string &link, const std::string &mapped) {
  const std::string name = hexadecimal_of(build), folder = mapped.substr(0, mapped.rfind('/') + 1);
  std::vector<std::string> paths = {"/usr/lib/debug/.build-id/" + name.substr(0, 2) + "/" + name.substr(2) + ".debug"};
  if (link.empty() || link.find('/') != std::string::npos) return paths;
  for (const std::string &place : {folder, folder + ".debug/", "/usr/lib/debug" + folder}) paths.push_back(place + link);
  return paths;
}

// A process may have other folders mounted over those of the host, so the debug file must have the same owner and file system as
// the file. For files of the host, debug files of root are accepted as well.
bool is_as_good(const core::Descriptor &file, const struct stat &of, bool of_process) {
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return false;
  return of_process ? info.st_uid == of.st_uid && info.st_dev == of.st_dev : info.st_uid == of.st_uid || info.st_uid == 0;
}

// Accepts only a file of the same build. All processes that map the file get its names, so the debug file must come from the owner
// of the file.
template <class Open>
core::Descriptor find_debug_file(const ElfImage &image, const struct stat &of, const std::string &path, bool of_process,
                                 const Open &open) {
  const std::string build = image.build_id();
  if (build.size() < 2) return {};
  for (const std::string &candidate : debug_paths(build, image.debug_link(), path)) {
    core::Descriptor file = open(candidate);
    if (!is_as_good(file, of, of_process)) continue;
    const auto debug = ElfImage::of_file(file.get());
    if (debug && debug->build_id() == build) return file;
  }
  return {};
}

}  // namespace

std::string_view ElfFiles::name_in_vdso(const Mapping &mapping, uint64_t address) {
  if (!is_own_vdso(mapping)) return {};
  if (!vdso_)
    if (const auto image = ElfImage::of_memory(own_vdso())) vdso_ = std::make_unique<ElfSymbols>(*image);
  return vdso_ ? vdso_->find(address - mapping.begin) : std::string_view();
}

std::string_view ElfFiles::name_at(int32_t pid, const Mapping &mapping, uint64_t address) {
  Entry *entry = entry_of(mapping);
  if (entry == nullptr) return {};
  if (!entry->symbols && entry->read != window_) update(pid, mapping, *entry);
  entry->used = ++uses_;
  if (!entry->symbols) return {};
  const size_t before = entry->symbols->bytes();
  const std::string_view name = entry->symbols->find(address - mapping.begin + mapping.offset);
  bytes_ += entry->symbols->bytes() - before;
  evict_for(*entry);
  return name;
}

// Null: the file is unknown, or there are too many files.
ElfFiles::Entry *ElfFiles::entry_of(const Mapping &mapping) {
  if (!mapping.stamp) return nullptr;
  if (const auto known = entries_.find(mapping.stamp); known != entries_.end()) return &known->second;
  return entries_.size() < kMaxFiles ? &entries_[mapping.stamp] : nullptr;
}

// A failure for one process (ended, or not readable) does not count for other processes that map the same file.
void ElfFiles::update(int32_t pid, const Mapping &mapping, Entry &entry) {
  if (entry.failed == window_ && entry.failed_pid == pid) return;
  const core::Descriptor file = open_stamped(pid, mapping);
  if (!file) {
    entry.failed = window_;
    entry.failed_pid = pid;
    return;
  }
  entry.read = window_;
  entry.symbols = load(file.get(), pid, mapping);
}

std::unique_ptr<ElfSymbols> ElfFiles::load(int file, int32_t pid, const Mapping &mapping) {
  struct stat info {};
  const auto image = ElfImage::of_file(file);
  if (!image || ::fstat(file, &info) != 0) return nullptr;
  auto symbols = std::make_unique<ElfSymbols>(*image);
  if (symbols->stripped()) add_debug_file(*symbols, *image, info, pid, mapping);
  bytes_ += symbols->bytes();
  return symbols;
}

// Searches the process's files and the host's.
void ElfFiles::add_debug_file(ElfSymbols &symbols, const ElfImage &image, const struct stat &of, int32_t pid,
                              const Mapping &mapping) {
  const ProcessRoot root(pid);
  core::Descriptor file =
      find_debug_file(image, of, mapping.path, true, [&](const std::string &path) { return root.open_regular(path); });
  if (!file) file = open_debug_file(image, of, mapping.path);
  if (!file) return;
  if (const auto debug = ElfImage::of_file(file.get())) symbols.add(*debug);
}

core::Descriptor open_debug_file(const ElfImage &image, const struct stat &of, const std::string &path) {
  return find_debug_file(image, of, path, false, [](const std::string &candidate) { return open_regular(candidate); });
}

void ElfFiles::evict(Entry &entry) {
  bytes_ -= entry.symbols->bytes();
  entry.symbols.reset();
}

// Evicts the least recently used files.
void ElfFiles::evict_for(const Entry &wanted) {
  while (bytes_ > max_bytes_) {
    Entry *oldest = nullptr;
    for (auto &[stamp, entry] : entries_)
      if (entry.symbols && &entry != &wanted && (oldest == nullptr || entry.used < oldest->used)) oldest = &entry;
    if (oldest == nullptr) return;
    evict(*oldest);
  }
}

void ElfFiles::next_window() {
  ++window_;
  const bool many = entries_.size() > kMaxFiles / 2;
  for (auto &[stamp, entry] : entries_)
    if (entry.symbols && (bytes_ > max_bytes_ || (many && entry.used <= uses_before_window_))) evict(entry);
  uses_before_window_ = uses_;
  std::erase_if(entries_, [](const auto &entry) { return !entry.second.symbols; });
}

}  // namespace atalaya::symbols
