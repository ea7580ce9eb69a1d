// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/elf_files.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace atalaya::symbols {
namespace {

core::Descriptor open_regular(const std::string &path) {
  // Not to wait for the other end of a pipe that somebody put there.
  core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (file && (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))) file.reset();
  return file;
}

std::string hexadecimal(uint64_t number) {
  std::array<char, 16> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr};
}

std::string hexadecimal(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

std::string folder_of(int32_t pid) {
  return "/proc/" + std::to_string(pid);
}

// File systems in layers show another device in maps than in stat; the number of the file is the same.
bool is_mapped_file(int file, const Mapping &mapping) {
  struct stat info {};
  return ::fstat(file, &info) == 0 && info.st_ino == mapping.file.inode;
}

constexpr std::string_view kDeleted = " (deleted)";

}  // namespace

core::Descriptor ElfFiles::open(int32_t pid, const Mapping &mapping) {
  // The very file, whatever has become of its name. It takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
  const std::string range = hexadecimal(mapping.begin) + "-" + hexadecimal(mapping.end);
  if (auto file = open_regular(folder_of(pid) + "/map_files/" + range); file && is_mapped_file(file.get(), mapping)) return file;
  if (mapping.path.ends_with(kDeleted)) return {};
  // By its name, as the process sees it; after the end of the process as this one does.
  for (const std::string &root : {folder_of(pid) + "/root", std::string()})
    if (auto file = open_regular(root + mapping.path); file && is_mapped_file(file.get(), mapping)) return file;
  return {};
}

ElfSymbols *ElfFiles::vdso() {
  static constexpr size_t kMaxMaps = size_t{32} << 20;
  const auto base = ::getauxval(AT_SYSINFO_EHDR);
  if (vdso_ || base == 0) return vdso_.get();
  auto own = core::read_file("/proc/self/maps", kMaxMaps);
  const auto mappings = parse_maps(own ? *own : std::string());
  const Mapping *mapping = find_mapping(mappings, base);
  if (mapping == nullptr) return nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells it as a number
  const auto image = ElfImage::of_memory({reinterpret_cast<const std::byte *>(base), mapping->end - mapping->begin});
  if (image) vdso_ = std::make_unique<ElfSymbols>(*image);
  return vdso_.get();
}

ElfSymbols *ElfFiles::find(int32_t pid, const Mapping &mapping) {
  Entry &entry = entries_[mapping.file];
  if (entry.looked_at != window_) look(pid, mapping, entry);
  entry.used = ++uses_;
  return entry.symbols.get();
}

// A process that has ended leaves what was known of the file; one that cannot read it does not speak for the others.
void ElfFiles::look(int32_t pid, const Mapping &mapping, Entry &entry) {
  const core::Descriptor file = open(pid, mapping);
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return;
  entry.looked_at = window_;
  const bool same =
      entry.size == info.st_size && entry.changed.tv_sec == info.st_mtim.tv_sec && entry.changed.tv_nsec == info.st_mtim.tv_nsec;
  if (same) return;
  entry.size = info.st_size;
  entry.changed = info.st_mtim;
  entry.symbols = load(file.get(), pid, mapping);
}

std::shared_ptr<ElfSymbols> ElfFiles::load(int file, int32_t pid, const Mapping &mapping) {
  const auto image = ElfImage::of_file(file);
  if (!image) return nullptr;
  const std::string build = image->build_id();
  if (const auto known = builds_.find(build); !build.empty() && known != builds_.end())
    if (auto symbols = known->second.lock()) return symbols;
  auto symbols = std::make_shared<ElfSymbols>(*image);
  if (symbols->stripped()) add_debug_file(*symbols, *image, pid, mapping);
  if (!build.empty()) builds_[build] = symbols;
  return symbols;
}

// Where debuggers look, in the process's files and in the host's. Only a file of the same build counts.
void ElfFiles::add_debug_file(ElfSymbols &symbols, const ElfImage &image, int32_t pid, const Mapping &mapping) {
  const std::string build = image.build_id();
  if (build.size() < 2) return;
  const std::string name = hexadecimal(build);
  std::vector<std::string> paths = {"/usr/lib/debug/.build-id/" + name.substr(0, 2) + "/" + name.substr(2) + ".debug"};
  const std::string folder = mapping.path.substr(0, mapping.path.rfind('/') + 1), link = image.debug_link();
  if (!link.empty() && link.find('/') == std::string::npos)
    for (const std::string &place : {folder, folder + ".debug/", "/usr/lib/debug" + folder}) paths.push_back(place + link);
  for (const std::string &root : {folder_of(pid) + "/root", std::string()}) {
    for (const std::string &path : paths) {
      const core::Descriptor file = open_regular(root + path);
      const auto debug = file ? ElfImage::of_file(file.get()) : std::nullopt;
      if (debug && debug->build_id() == build) return symbols.add(*debug);
    }
  }
}

size_t ElfFiles::bytes() const {
  std::set<const ElfSymbols *> counted;
  size_t sum = 0;
  for (const auto &[file, entry] : entries_)
    if (entry.symbols && counted.insert(entry.symbols.get()).second) sum += entry.symbols->bytes();
  return sum + entries_.size() * sizeof(std::pair<FileId, Entry>);
}

void ElfFiles::trim() {
  static constexpr size_t kMaxFiles = 16384;
  while (!entries_.empty() && (entries_.size() > kMaxFiles || bytes() > max_bytes_))
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const auto &a, const auto &b) { return a.second.used < b.second.used; }));
  for (auto build = builds_.begin(); build != builds_.end();)
    build = build->second.expired() ? builds_.erase(build) : std::next(build);
}

}  // namespace atalaya::symbols
