// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/attach_support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "plugins/shared/code/jvm/as_user.h"
#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"

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

// Options may contain secrets: the memory is cleared after use.
class Wiped {
 public:
  explicit Wiped(std::string text) : text_(std::move(text)) {}
  Wiped(const Wiped &) = delete;
  Wiped &operator=(const Wiped &) = delete;
  ~Wiped() { ::explicit_bzero(text_.data(), text_.size()); }
  operator std::string_view() const { return text_; }

 private:
  std::string text_;
};

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

core::Descriptor open_shared(const core::Descriptor &found, const symbols::ProcessStatus &status) {
  const AsUser user(status.user, status.group);  // only this user may read it
  return symbols::reopened_if_regular(found);
}

}  // namespace

bool disables_attach(std::string_view options) {
  return options.find("+DisableAttachMechanism") != std::string_view::npos;
}

AttachSupport parse_attach_support(std::string_view shared) {
  static constexpr size_t kMaxSharedText = 1023;  // maximum length of a shared text
  AttachSupport support;
  if (const auto text = protocols::text_in(shared, "java.property.java.version")) support.version = version_in(*text);
  for (const std::string_view name : {"java.rt.vmArgs", "java.rt.vmFlags"}) {
    const auto text = protocols::text_in(shared, name);
    if (text && disables_attach(*text)) support.accepts_commands = false;
    if (text && text->size() >= kMaxSharedText) support.options_truncated = true;
  }
  return support;
}

std::string_view shared_path_in(std::string_view maps, int32_t inner_pid) {
  const std::string end = "/" + std::to_string(inner_pid);
  while (!maps.empty()) {
    const std::string_view line = core::cut_at(maps, '\n');
    const size_t folder = line.find("/hsperfdata_"), path = line.find('/');
    if (folder != std::string_view::npos && line.ends_with(end) && line.find('/', folder + 1) == line.size() - end.size())
      return line.substr(path);
  }
  return {};
}

std::optional<AttachSupport> read_attach_support(int32_t pid, const symbols::ProcessStatus &status,
                                                 const symbols::ProcessRoot &root) {
  const std::string maps = read_process_file(pid, "maps", kMaxMaps);
  const std::string path(shared_path_in(maps, status.inner_pid));
  const core::Descriptor found = path.empty() ? core::Descriptor() : root.open(path, O_PATH | O_NOFOLLOW);
  struct stat info {};
  if (!found || ::fstat(found.get(), &info) != 0 || info.st_uid != status.user) return std::nullopt;
  const core::Descriptor file = open_shared(found, status);
  if (!file) return std::nullopt;
  AttachSupport support = parse_attach_support(Wiped(read_shared(file.get())));
  if (support.options_truncated && disables_attach(Wiped(read_process_file(pid, "cmdline", kMaxText))))
    support.accepts_commands = false;
  return support;
}

}  // namespace atalaya::jvm
