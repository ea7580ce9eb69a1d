// SPDX-License-Identifier: Apache-2.0
#include "plugins/symbols/process_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/util/files.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kMaxFile = size_t{32} << 20;

std::string_view next_word(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> number(std::string_view word, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string_view line_of(std::string_view text, std::string_view label) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(label)) return line.substr(label.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

std::string path_of(int32_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

}  // namespace

uint64_t image_mark(uint64_t start_code, uint64_t end_code, uint64_t start_stack) {
  static constexpr uint64_t kFactor = 0x100000001b3;
  return (start_code * kFactor + end_code) * kFactor + start_stack;
}

std::optional<ProcessMark> parse_mark(std::string_view stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(end + 1);
  ProcessMark mark;
  uint64_t start_code = 0, end_code = 0;
  // Counted as proc(5) does; the state is the third.
  for (int field = 3; field <= 28; ++field) {
    const std::string_view word = next_word(stat);
    if (field != 22 && field < 26) continue;
    const auto value = number<uint64_t>(word);
    if (!value) return std::nullopt;
    if (field == 22) mark.start_ticks = *value;
    if (field == 26) start_code = *value;
    if (field == 27) end_code = *value;
    if (field == 28) mark.image = image_mark(start_code, end_code, *value);
  }
  return mark;
}

std::optional<ProcessMark> read_mark(int32_t pid) {
  auto text = core::read_file(path_of(pid, "stat"), 4096);
  return text ? parse_mark(*text) : std::nullopt;
}

std::optional<ProcessStatus> parse_status(std::string_view text) {
  ProcessStatus status;
  std::string_view users = line_of(text, "Uid:"), pids = line_of(text, "NSpid:"), caught = line_of(text, "SigCgt:");
  next_word(users);
  const auto user = number<uint32_t>(next_word(users));
  if (!user) return std::nullopt;
  status.user = *user;
  for (std::string_view pid = next_word(pids); !pid.empty(); pid = next_word(pids))
    status.inner_pid = number<int32_t>(pid).value_or(0);
  status.caught = number<uint64_t>(next_word(caught), 16).value_or(0);
  return status;
}

std::optional<ProcessStatus> read_status(int32_t pid) {
  auto text = core::read_file(path_of(pid, "status"), 65536);
  return text ? parse_status(*text) : std::nullopt;
}

bool ProcessMemory::refresh(const ProcessMark &mark) {
  if (read_mark(pid_) != mark) return false;
  auto text = core::read_file(path_of(pid_, "maps"), kMaxFile);
  if (!text) return false;
  std::vector<Mapping> mappings = parse_maps(*text);
  const auto status = read_status(pid_);
  if (read_mark(pid_) != mark) return false;
  if (!mappings_.empty()) before_ = std::move(mappings_);
  mappings_ = std::move(mappings);
  status_ = status;
  refresh_perf_map();
  return true;
}

// In the process's own /tmp, by the number that it knows itself by. Only a regular file of its own user or of root counts.
void ProcessMemory::refresh_perf_map() {
  if (!status_ || status_->inner_pid <= 0) return;
  const std::string path = path_of(pid_, "root/tmp/perf-") + std::to_string(status_->inner_pid) + ".map";
  const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (info.st_uid != status_->user && info.st_uid != 0) return;
  if (info.st_size == perf_map_size_ && info.st_mtim.tv_sec == perf_map_changed_.tv_sec &&
      info.st_mtim.tv_nsec == perf_map_changed_.tv_nsec)
    return;
  perf_map_size_ = info.st_size;
  perf_map_changed_ = info.st_mtim;
  std::string text(std::min(static_cast<size_t>(info.st_size), kMaxPerfMap), '\0');
  size_t used = 0;
  for (ssize_t size = 1; size > 0 && used < text.size(); used += static_cast<size_t>(std::max<ssize_t>(size, 0)))
    size = ::pread(file.get(), text.data() + used, text.size() - used, static_cast<off_t>(used));
  perf_map_ = PerfMap(std::string_view(text).substr(0, used));
}

const Mapping *ProcessMemory::mapping_at(uint64_t address) const {
  const Mapping *mapping = find_mapping(mappings_, address);
  return mapping != nullptr ? mapping : find_mapping(before_, address);
}

Place ProcessMemory::find(uint64_t address, ElfFiles &files) const {
  Place place{.mapping = mapping_at(address)};
  if (place.mapping == nullptr) return place;
  const Mapping &mapping = *place.mapping;
  if (mapping.path == "[vdso]") {
    if (ElfSymbols *symbols = files.vdso()) place.name = symbols->find(address - mapping.begin);
    return place;
  }
  if (!mapping.is_file()) {
    place.origin = Origin::runtime;
    place.name = perf_map_.find(address);
    return place;
  }
  if (ElfSymbols *symbols = files.find(pid_, mapping)) place.name = symbols->find(address - mapping.begin + mapping.offset);
  // Node's built-in code is in its file, and named in its map.
  if (place.name.empty() && perf_map_.size() > 0) {
    place.name = perf_map_.find(address);
    if (!place.name.empty()) place.origin = Origin::runtime;
  }
  return place;
}

size_t ProcessMemory::bytes() const {
  const auto of = [](const std::vector<Mapping> &mappings) {
    size_t sum = mappings.capacity() * sizeof(Mapping);
    for (const Mapping &mapping : mappings) sum += mapping.path.capacity();
    return sum;
  };
  return of(mappings_) + of(before_) + perf_map_.bytes();
}

}  // namespace atalaya::symbols
