// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/files.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>

namespace atalaya::procfs {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

std::string_view without_blanks(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && is_blank(text[at])) ++at;
  return text.substr(at);
}

template <class Number>
bool take_number(std::string_view &text, Number &value) {
  const std::string_view rest = without_blanks(text);
  const char *const end = rest.data() + rest.size();
  Number number{};
  const auto [stop, error] = std::from_chars(rest.data(), end, number);
  if (error != std::errc{} || (stop != end && !is_blank(*stop))) return false;
  value = number;
  text = rest.substr(static_cast<size_t>(stop - rest.data()));
  return true;
}

ssize_t read_at(int file, std::span<char> buffer, size_t offset) {
  for (;;) {
    const ssize_t size = ::pread(file, buffer.data() + offset, buffer.size() - offset, static_cast<off_t>(offset));
    if (size >= 0 || errno != EINTR) return size;
  }
}

}  // namespace

core::Descriptor open_root(const std::string &root, const std::string &folder) {
  const std::string path = root.empty() || root.back() != '/' ? root + "/" + folder : root + folder;
  return core::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

FileText read_once(int file, std::span<char> buffer) {
  const ssize_t size = read_at(file, buffer, 0);
  if (size < 0) return {{}, errno};
  return {{buffer.data(), static_cast<size_t>(size)}, 0};
}

FileText read_whole(int file, std::span<char> buffer) {
  size_t used = 0;
  while (used < buffer.size()) {
    const ssize_t size = read_at(file, buffer, used);
    if (size < 0) return {{}, errno};
    if (size == 0) break;
    used += static_cast<size_t>(size);
  }
  return {{buffer.data(), used}, 0};
}

FileText read_path(int folder, const char *path, std::span<char> buffer) {
  const core::Descriptor file(::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {{}, errno};
  return read_whole(file.get(), buffer);
}

FileText PersistentFile::read(int folder, std::span<char> buffer) {
  if (!file_) file_ = core::Descriptor(::openat(folder, path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file_) return {{}, errno};
  const FileText text = read_whole(file_.get(), buffer);
  if (!text.ok()) file_.reset();
  return text;
}

bool PersistentFile::may_have_changed() const {
  pollfd wanted{file_.get(), POLLPRI, 0};
  return !file_ || ::poll(&wanted, 1, 0) != 0;
}

std::string_view next_word(std::string_view &text) {
  const std::string_view rest = without_blanks(text);
  size_t end = 0;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  text = rest.substr(end);
  return rest.substr(0, end);
}

bool next_number(std::string_view &text, uint64_t &value) {
  return take_number(text, value);
}

bool next_number(std::string_view &text, int64_t &value) {
  return take_number(text, value);
}

bool whole_number(std::string_view text, uint64_t &value) {
  return !text.empty() && !is_blank(text.front()) && take_number(text, value) && text.empty();
}

}  // namespace atalaya::procfs
