// SPDX-License-Identifier: Apache-2.0
#include "plugins/power/tree.h"

#include <atalaya/plugin.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

namespace atalaya::power {
namespace {

constexpr size_t kMaxText = 4096;  // sysfs gives a page

}  // namespace

void Tree::open() {
  folder_ = proc::open_root(root_, "");
  if (!folder_)
    throw Failure(Code::bad_config, "root \"" + root_ + "\" cannot be opened: " + core::error_text(errno) +
                                        "; name a folder that holds sys and proc");
}

std::optional<std::string> Tree::text(const std::string &path) const {
  std::array<char, kMaxText> buffer{};
  const proc::FileText read = proc::read_path(folder(), path.c_str(), buffer);
  if (!read.ok()) {
    errno = read.error;
    return std::nullopt;
  }
  return std::string(read.text.substr(0, read.text.find_last_not_of(" \t\n") + 1));
}

std::optional<int64_t> Tree::number(const std::string &path) const {
  const auto read = text(path);
  return read ? parse_number(*read) : std::nullopt;
}

std::vector<std::string> Tree::entries(const std::string &path, std::string_view prefix) const {
  std::vector<std::string> names;
  const int file = ::openat(folder(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR *)> directory(::fdopendir(file), ::closedir);
  if (!directory) {
    ::close(file);
    return names;
  }
  while (const dirent *entry = ::readdir(directory.get())) {
    const std::string_view name(static_cast<const char *>(entry->d_name));
    if (name.front() != '.' && name.starts_with(prefix)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end(),
            [](const std::string &a, const std::string &b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
  return names;
}

std::optional<std::string> Tree::link_name(const std::string &path) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(folder(), path.c_str(), target.data(), target.size());
  if (size <= 0) return std::nullopt;
  const std::string_view whole(target.data(), static_cast<size_t>(size));
  return std::string(whole.substr(whole.rfind('/') + 1));
}

std::optional<int64_t> NumberFile::read(const Tree &tree) {
  std::array<char, 64> buffer{};
  const proc::FileText text = file_.read(tree.folder(), buffer);
  return text.ok() ? parse_number(text.text) : std::nullopt;
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t value = 0;
  if (!proc::next_number(text, value) || !proc::next_word(text).empty()) return std::nullopt;
  return value;
}

std::optional<int32_t> number_after(std::string_view text, std::string_view prefix) {
  uint64_t value = 0;
  if (!text.starts_with(prefix) || !proc::whole_number(text.substr(prefix.size()), value) || value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(value);
}

}  // namespace atalaya::power
