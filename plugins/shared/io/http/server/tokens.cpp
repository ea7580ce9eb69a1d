// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/tokens.h"

#include <strings.h>
#include <sys/stat.h>

#include <atalaya/plugin.hpp>
#include <cerrno>
#include <optional>

#include "core/base/files.h"
#include "core/base/secret_path.h"
#include "core/base/text/text.h"

namespace atalaya::http_server {
namespace {

constexpr size_t kMaxFile = size_t{1} << 20;

// The credentials of the scheme in the header Authorization, or nothing.
std::optional<std::string_view> after_scheme(std::string_view header, std::string_view scheme) {
  if (header.size() <= scheme.size() || ::strncasecmp(header.data(), scheme.data(), scheme.size()) != 0) return std::nullopt;
  if (header[scheme.size()] != ' ') return std::nullopt;
  return core::trimmed(header.substr(scheme.size()));
}

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char byte : text) {
    const size_t digit = kDigits.find(byte);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

// Compares in constant time: the duration does not depend on the position of a difference.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace

Tokens::Tokens(std::string path) : path_(std::move(path)) {
  if (const core::Status loaded = load(); !loaded) throw Failure(Code::bad_config, "tokens: " + loaded.error());
}

core::Status Tokens::load() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0)
    return core::Error{core::shown_secret_path(path_) + ": " + core::error_text(errno) +
                       "; create it with one secret per line, and run chmod 600"};
  stamp_ = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, static_cast<int64_t>(status.st_ino), status.st_size};
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) return core::Error{path_ + ": readable or writable by everyone; run chmod 640"};
  auto text = core::read_file(path_, kMaxFile);
  if (!text) return core::Error{text.error()};
  std::vector<std::string> tokens;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = core::trimmed(core::cut_at(rest, '\n'));
    if (!line.empty() && !line.starts_with('#')) tokens.emplace_back(line);
  }
  if (tokens.empty()) return core::Error{path_ + ": no token; write one per line"};
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
  return core::Done{};
}

core::Status Tokens::refresh() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return core::Done{};  // the file is being replaced
  const Stamp now{status.st_mtim.tv_sec, status.st_mtim.tv_nsec, static_cast<int64_t>(status.st_ino), status.st_size};
  if (now == stamp_) return core::Done{};
  return load();
}

bool Tokens::known(std::string_view token) const {
  const std::lock_guard lock(mutex_);
  bool found = false;
  for (const std::string &ours : tokens_) found = same_secret(ours, token) || found;
  return found;
}

bool Tokens::allow(std::string_view authorization) const {
  if (const auto token = after_scheme(authorization, "Bearer")) return known(*token);
  const auto basic = after_scheme(authorization, "Basic");
  const auto pair = basic ? from_base64(*basic) : std::nullopt;
  const size_t colon = pair ? pair->find(':') : std::string::npos;
  return colon != std::string::npos && known(std::string_view(*pair).substr(colon + 1));
}

}  // namespace atalaya::http_server
