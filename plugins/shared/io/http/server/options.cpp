// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/options.h"

#include <microhttpd.h>
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

// Certificate and key are one of the other: else a reload would stop a server that runs, for one that does not start.
void check_pair(const Options &options) {
  const auto text = [](const std::string &pem) { return const_cast<char *>(pem.c_str()); };
  MHD_Daemon *const daemon = MHD_start_daemon(
      MHD_USE_NO_LISTEN_SOCKET | MHD_USE_TLS, 0, nullptr, nullptr,
      [](void *, MHD_Connection *, const char *, const char *, const char *, const char *, size_t *, void **) { return MHD_NO; },
      nullptr, MHD_OPTION_HTTPS_MEM_CERT, text(options.certificate), MHD_OPTION_HTTPS_MEM_KEY, text(options.key), MHD_OPTION_END);
  if (daemon == nullptr)
    throw Failure(Code::bad_config, "the HTTPS server does not start: certificate and key must be PEM files that match");
  MHD_stop_daemon(daemon);
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
  check_pair(options);
}

}  // namespace atalaya::http_server
