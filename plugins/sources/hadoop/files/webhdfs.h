// SPDX-License-Identifier: Apache-2.0
// Reads HDFS through the REST API of WebHDFS or HttpFS.
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
  std::string user;  // query parameter user.name; empty: the server's default
  http_client::TlsFiles tls;
  std::chrono::nanoseconds timeout{};
};

// Returns true for webhdfs://host:port/path and swebhdfs:// (TLS). With several name nodes, webhdfs://host:port,host:port/path, the
// active one is used.
bool is_webhdfs(std::string_view path);
// Creates the storage of one server. Its paths are URLs with the server of `base`. Throws Failure (bad_config).
std::unique_ptr<Storage> make_webhdfs(const std::string &base, const WebHdfsOptions &options);

// Both parse a response of the server. They throw Unreadable with `url` if the response is invalid.
Entry read_file_status(std::string_view json, const std::string &url);
std::vector<Entry> read_file_list(std::string_view json, const std::string &url);

}  // namespace atalaya::hadoop
