// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plugins/shared/io/http/server/daemon.h"
#include "plugins/sinks/prometheus/series_table.h"
#include "plugins/sinks/prometheus/snapshot_text.h"

namespace atalaya::prometheus {

struct ServerOptions {
  http_server::Options http;
  std::string path = "/metrics";
  Staleness staleness;
  bool timestamps = false;
};

// Serves scrapes of a table. It has one thread: answers are built one after another, so that they share their buffers.
class ScrapeServer final : private http_server::Handler {
 public:
  ScrapeServer(const ServerOptions &options, SeriesTable &table, Host host, http_server::Tokens *tokens);

  void start(http_server::Listener listener) { daemon_.start(std::move(listener)); }
  void stop() { daemon_.stop(); }

 private:
  MHD_Result on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                        void **context) override;
  void on_completed(void * /*context*/) noexcept override {}

  MHD_Result answer(MHD_Connection *connection, std::string_view url, std::string_view method);
  MHD_Result refuse(MHD_Connection *connection, unsigned status, std::string_view why) const;
  MHD_Result expose(MHD_Connection *connection);
  std::string body(Form form);

  const ServerOptions options_;
  SeriesTable &table_;
  const Host host_;
  Snapshot snapshot_;
  SnapshotText exposition_;
  size_t last_size_ = 0;
  http_server::Daemon daemon_;  // declared last, because its thread uses all members above
};

}  // namespace atalaya::prometheus
