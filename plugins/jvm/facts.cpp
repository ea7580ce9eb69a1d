// SPDX-License-Identifier: Apache-2.0
#include "plugins/jvm/facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "core/util/files.h"
#include "plugins/jvm/as_user.h"
#include "plugins/jvm/hsperfdata.h"

namespace atalaya::jvm {
namespace {

constexpr size_t kMaxShared = 256 << 10, kMaxText = 4 << 20, kMaxMaps = size_t{32} << 20;

// "17.0.15" -> 17, "1.8.0_292" -> 8, "22-ea" -> 22
int version_in(std::string_view text) {
  int version = 0;
  if (text.starts_with("1.")) text.remove_prefix(2);
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

bool is_refused_in(std::string_view options) {
  return options.find("+DisableAttachMechanism") != std::string_view::npos;
}

std::string read_shared(int file) {
  std::string bytes(kMaxShared, '\0');
  const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return bytes;
}

std::string read_process_file(int32_t pid, std::string_view name, size_t max_bytes) {
  auto text = core::read_file("/proc/" + std::to_string(pid) + "/" + std::string(name), max_bytes);
  return text ? std::move(*text) : std::string();
}

}  // namespace

Facts parse_facts(std::string_view shared, std::string_view command_line) {
  Facts facts;
  if (const auto text = text_in(shared, "java.property.java.version")) facts.version = version_in(*text);
  for (const std::string_view name : {"java.rt.vmArgs", "java.rt.vmFlags"})
    if (const auto text = text_in(shared, name); text && is_refused_in(*text)) facts.takes_calls = false;
  if (is_refused_in(command_line)) facts.takes_calls = false;
  return facts;
}

std::string_view shared_path_in(std::string_view maps, int32_t inner_pid) {
  const std::string end = "/" + std::to_string(inner_pid);
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const size_t folder = line.find("/hsperfdata_"), path = line.find('/');
    if (folder != std::string_view::npos && line.ends_with(end) && line.find('/', folder + 1) == line.size() - end.size())
      return line.substr(path);
  }
  return {};
}

std::optional<Facts> read_facts(int32_t pid, const symbols::ProcessStatus &status, const symbols::ProcessRoot &root) {
  const std::string maps = read_process_file(pid, "maps", kMaxMaps);
  const std::string path(shared_path_in(maps, status.inner_pid));
  const core::Descriptor found = path.empty() ? core::Descriptor() : root.open(path, O_PATH | O_NOFOLLOW);
  struct stat info {};
  if (!found || ::fstat(found.get(), &info) != 0 || info.st_uid != status.user) return std::nullopt;
  const std::string command_line = read_process_file(pid, "cmdline", kMaxText);
  const AsUser user(status.user, status.group);  // nobody else may read it
  const core::Descriptor file = symbols::reopened_if_regular(found);
  return file ? std::optional(parse_facts(read_shared(file.get()), command_line)) : std::nullopt;
}

}  // namespace atalaya::jvm
