// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/secret/secret.h"

#include <sys/stat.h>
#include <atalaya/plugin.hpp>
#include <cerrno>

#include "core/base/files.h"
#include "core/base/secret_path.h"

namespace atalaya::io {
namespace {

constexpr size_t kMaxSecret = 65536;

}  // namespace

std::string read_secret(const std::string &path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) throw Failure(Code::retry, core::shown_secret_path(path) + ": " + core::error_text(errno));
  if ((about.st_mode & (S_IROTH | S_IWOTH)) != 0)
    throw Failure(Code::retry, path + " is readable by everyone; run chmod 600 " + path);
  auto text = core::read_file(path, kMaxSecret);
  if (!text) throw Failure(Code::retry, text.error());
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' ')) text->pop_back();
  if (text->empty() || text->find_first_of("\r\n") != std::string::npos)
    throw Failure(Code::retry, path + " must contain exactly one line with the credentials");
  return *text;
}

}  // namespace atalaya::io
