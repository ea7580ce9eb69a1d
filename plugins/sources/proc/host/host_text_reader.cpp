// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/host/host_text_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace atalaya::proc {
namespace {

constexpr size_t kFirstSize = size_t{64} << 10;
constexpr size_t kLargest = size_t{16} << 20;  // mountinfo of a host with many thousands of containers is a few MiB

}  // namespace

void TextReader::open() {
  folder_ = procfs::open_root(root_, "");
  if (!folder_)
    throw Failure(Code::bad_config,
                  "cannot open root \"" + root_ + "\": " + core::error_text(errno) + "; name a folder that holds proc");
  if (buffer_.empty()) buffer_.resize(kFirstSize);
}

template <class Read>
procfs::FileText TextReader::read_all(Read &&read) {
  procfs::FileText text = read();
  while (text.ok() && text.text.size() == buffer_.size() && buffer_.size() < kLargest) {
    buffer_.resize(buffer_.size() * 2);
    text = read();
  }
  return text;
}

std::optional<std::string_view> TextReader::read(Input &input) {
  const procfs::FileText text = read_all([&] { return input.file.read(folder_.get(), buffer_); });
  if (text.ok()) return text.text;
  if (!input.logged) {
    host_.log(Level::warning, "cannot read " + (is_host() ? "/" : root_ + "/") + input.file.path() + ": " +
                                  core::error_text(text.error) + "; " + std::string(input.subject) + " absent");
    input.logged = true;
  }
  return std::nullopt;
}

std::optional<std::string_view> TextReader::read(int folder, const char *path) {
  const procfs::FileText text = read_all([&] { return procfs::read_path(folder, path, buffer_); });
  return text.ok() ? std::optional(text.text) : std::nullopt;
}

std::string TextReader::process_path(const std::string &name) const {
  std::string first = "proc/1/" + name;
  if (!is_host() && ::faccessat(folder_.get(), first.c_str(), R_OK, 0) == 0) return first;
  return "proc/self/" + name;
}

}  // namespace atalaya::proc
