// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/options.h"

#include <sys/stat.h>

#include "core/base/files.h"

namespace atalaya::http_server {
namespace {

constexpr size_t kMaxPem = size_t{1} << 20;

std::string read_pem(const char *parameter, const std::string &path) {
  auto text = core::read_file(path, kMaxPem);
  if (!text) throw Failure(Code::bad_config, std::string(parameter) + ": " + text.error());
  return std::move(*text);
}

}  // namespace

Options read_options(Host host) {
  Options options;
  options.max_connections = static_cast<unsigned>(host.integer("max_connections"));
  options.max_header = static_cast<size_t>(host.integer("max_header"));
  options.request_timeout_ns = host.integer("request_timeout");
  options.idle_timeout_ns = host.integer("idle_timeout");
  return options;
}

TlsFiles read_tls_files(Host host) {
  TlsFiles files;
  if (const auto path = host.find("certificate")) files.certificate = path->text();
  if (const auto path = host.find("key")) files.key = path->text();
  if (files.certificate.empty() != files.key.empty())
    throw Failure(Code::bad_config, "certificate and key need each other; set both, or none for plain HTTP");
  return files;
}

void load_tls(const TlsFiles &files, Options &options) {
  if (files.certificate.empty()) return;
  options.certificate = read_pem("certificate", files.certificate);
  struct stat status {};
  if (::stat(files.key.c_str(), &status) == 0 && (status.st_mode & (S_IROTH | S_IWOTH)) != 0)
    throw Failure(Code::bad_config, "key: " + files.key + ": readable or writable by everyone; run chmod 640");
  options.key = read_pem("key", files.key);
}

}  // namespace atalaya::http_server
