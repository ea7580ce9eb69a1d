// SPDX-License-Identifier: Apache-2.0
// HDFS by WebHDFS or HttpFS (REST).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/http/client/authorization.h"
#include "plugins/shared/io/http/client/connection.h"
#include "plugins/sources/hadoop/files/storage.h"

namespace atalaya::hadoop {

struct WebHdfsOptions {
  std::string user;  // user.name; empty: the server's default
  http_client::TlsFiles tls;
  std::chrono::nanoseconds timeout{};
};

// webhdfs://host:port/path, swebhdfs:// for TLS; webhdfs://host:port,host:port/path: uses the active name node.
bool is_webhdfs(std::string_view path);
// Paths are URLs as above with the server of `base`. Throws Failure (bad_config).
std::unique_ptr<Storage> make_webhdfs(const std::string &base, const WebHdfsOptions &options);

// Parse the server's answers. Throw Unreadable with `url` if an answer is invalid.
Entry read_file_status(std::string_view json, const std::string &url);
std::vector<Entry> read_file_list(std::string_view json, const std::string &url);

}  // namespace atalaya::hadoop
