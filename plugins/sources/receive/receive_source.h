// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/io/http/server/params.h"
#include "plugins/shared/protocols/flat/flat_reader.h"
#include "plugins/shared/protocols/influx/influx_reader.h"
#include "plugins/shared/protocols/otlp/otlp_reader.h"
#include "plugins/sources/receive/fair_queue.h"
#include "plugins/sources/receive/own_metrics.h"
#include "plugins/sources/receive/sample_builder.h"
#include "plugins/sources/receive/server.h"

namespace atalaya::receive {

// Emits received points as batches, and answers a sender when every sink has accepted its points. Requests that arrive while
// batches are in flight are combined into the next batch: a store commits once for all of them, and batches grow with the load.
class ReceiveSource final : public PushSource {
 public:
  static constexpr Param params[] = {
      param::string("listen", "Address and port: 127.0.0.1:4242, [::1]:4242, *:4242 for all addresses; port 0 is any free port")
          .defaults("127.0.0.1:4242"),
      param::string("tokens", "File of tokens that senders must present, one per line; reloaded on change (default: no token)")
          .unit("secret file"),
      param::boolean("influx", "Accept InfluxDB's line protocol at /write and /api/v2/write").defaults("false"),
      param::boolean("otlp", "Accept OpenTelemetry's metrics as protobuf or JSON at /v1/metrics").defaults("false"),
      param::string("statsd", "Address of UDP at which statsd's protocol is accepted, such as 127.0.0.1:8125 (default: none)"),
      param::duration("statsd_window", "Window of the values of statsd").defaults("10s").range(1e8, 3.6e12),
      param::string("collectd",
                    "Address of UDP at which collectd's network protocol is accepted, such as 127.0.0.1:25826 (default: none)"),
      http_server::kOpen,
      http_server::kCertificate,
      http_server::kKey,
      param::boolean("strict", "Refuses puts that OpenTSDB refuses: no tags, more than 8 tags, or characters outside its alphabet")
          .defaults("true"),
      param::integer("threads", "Threads for connections").defaults("2").unit("threads").range(1, 64),
      param::integer("max_connections",
                     "Maximum connections, half of it per address; further ones wait. The limit of open files may be lower.")
          .defaults("10000")
          .unit("connections")
          .range(1, 1000000),
      http_server::kMaxHeader,
      param::size("max_body", "Maximum size of a body as sent; larger ones are refused with 413")
          .defaults("16 MiB")
          .range(1024, 1073741824),
      param::size("max_decoded", "Maximum size of a body after decompression; larger ones are refused with 413")
          .defaults("64 MiB")
          .range(1024, 1073741824),
      param::size("max_waiting", "Maximum size of all bodies being received or waiting; beyond it senders get 429 and Retry-After")
          .defaults("64 MiB")
          .range(65536, 17179869184),
      param::integer("max_names",
                     "Maximum names of metrics and tags within an hour, of 1 KiB each and 16 MiB in all; others are refused")
          .defaults("65536")
          .unit("names")
          .range(16, 500000),
      param::size("hourly_bytes",
                  "Maximum bytes per sender (address) and hour, decompressed; then 429 and Retry-After. 0: no limit")
          .defaults("16 GiB")
          .range(0, 1099511627776),
      param::duration("hourly_cpu", "Maximum CPU time for a sender's requests per hour; then 429 and Retry-After. 0: no limit")
          .defaults("45m")
          .range(0, 3.6e12),
      param::integer("hourly_series",
                     "Maximum series and stacks per sender and hour, within 3 %; then 429 and Retry-After. 0: no limit")
          .defaults("2000000")
          .unit("series")
          .range(0, 1000000000),
      param::duration("metrics_every", "Window of the metrics about senders (receive.*); 0s: none").defaults("0s").range(0, 3.6e12),
      http_server::kRequestTimeout,
      http_server::kIdleTimeout,
      param::duration("store_timeout", "Maximum wait for the sinks; then the sender gets 503 and must send again")
          .defaults("4s")
          .range(1e8, 3.6e12),
  };
  static constexpr Description description = {.name = "receive"_str,
                                              .summary = "Receive points, stacks, spans and samples from other hosts by HTTP"_str,
                                              .params = params,
                                              .metrics = kOwnMetrics};

  explicit ReceiveSource(Host host);

  void start() override;
  void stop() override;
  Code run() override;
  void interrupt() noexcept override;
  void acked(uint64_t batch_id, Code status) noexcept override;

 private:
  // A request whose points are in a batch, and the answer to send when the sinks have accepted the batch.
  struct Pending {
    std::shared_ptr<Request> request;
    Answer answer;
    std::optional<Answer> late;  // the answer to send when its sync_timeout expires first
    int64_t deadline = 0;        // monotonic time
  };
  using Pendings = std::vector<Pending>;

  std::optional<Answer> admit(Request &request, std::string_view address);
  std::optional<Answer> enqueue(const std::shared_ptr<Request> &request);
  void open_datagrams(const char *name, std::unique_ptr<protocols::DatagramProtocol> protocol, int64_t window_ns);
  void discard(const Request &request);
  void emit_last_datagrams();
  // Adds the own metrics to the current batch if their window has ended. Returns true if it added them.
  bool add_own_metrics();
  // Returns the next request of the batch. Waits for one only if the batch is empty. Returns nothing when the source stops, when
  // the current batch should be emitted, or when own metrics are due.
  std::optional<Waiting> next(bool has_requests);
  void answer_expired();
  int64_t next_deadline() const;
  int64_t next_batch() const;
  void read_safely(const Waiting &waiting, Pendings &pending);
  // Adds the points of the request to the current batch. Answers immediately if the request has no valid points.
  void read(const Waiting &waiting, Pendings &pending);
  protocols::Account parse(const Request &request);
  void log_full_names(const Request &request) const;
  void emit(Pendings pending);
  static void settle(const Pendings &pending, Code status);

  const Host host_;
  http_server::Address address_;
  ServerOptions options_;
  protocols::Rules rules_;
  size_t max_decoded_;
  int64_t store_timeout_ns_;
  http_server::TlsFiles tls_;
  std::unique_ptr<http_server::Tokens> tokens_;
  Senders senders_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<DatagramReader>> datagram_readers_;

  // Used by the thread of run.
  io::Decoder decoder_;
  protocols::JsonReader reader_;
  protocols::FlatReader flat_reader_;
  protocols::InfluxReader influx_reader_;
  protocols::OtlpReader otlp_reader_;
  SampleBuilder builder_;
  OwnMetrics own_metrics_;
  std::string_view text_;  // text of the current request
  atalaya_batch *batch_ = nullptr;
  size_t decoded_ = 0;  // bytes in the current batch

  std::mutex mutex_;
  std::condition_variable wake_;
  FairQueue queue_;
  std::map<uint64_t, Pendings> in_flight_;  // by batch id
  std::map<uint64_t, Code> early_;          // results of batches that were acknowledged before emit returned their ids
  bool emitting_ = false, stopping_ = true;
  int64_t last_batch_ = 0;    // time of the last emission
  int64_t last_arrival_ = 0;  // time of the last request
};

}  // namespace atalaya::receive
