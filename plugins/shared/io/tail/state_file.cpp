// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "core/base/files.h"

namespace atalaya::tail {

static core::Error system_error(const std::string &what, const std::string &path) {
  return core::Error{what + " " + path + ": " + core::error_text(errno)};
}

core::Status replace_state(const std::string &path, const std::string &text) {
  if (text.size() > kMaxStateBytes)
    return core::Error{path + " not written: its size of " + std::to_string(text.size()) + " bytes exceeds the maximum"};
  const std::string fresh = path + ".new";
  {
    const core::Descriptor fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
    if (!fd) return system_error("cannot write", fresh);
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) return system_error("cannot write", fresh);
      if (n > 0) done += static_cast<size_t>(n);
    }
    if (::fdatasync(fd.get()) != 0) return system_error("cannot sync", fresh);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return system_error("cannot rename to", path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const core::Descriptor names(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names || ::fsync(names.get()) != 0) return system_error("cannot sync the folder of", path);
  return core::Done{};
}

}  // namespace atalaya::tail
