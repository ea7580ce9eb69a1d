// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/http/server/params.h"
#include "plugins/sources/receive/flat_reader.h"
#include "plugins/sources/receive/sample_builder.h"
#include "plugins/sources/receive/server.h"

namespace atalaya::receive {

// What senders put goes on as batches, and a sender is answered when every sink holds its points. Requests that come while batches
// are under way are gathered into the next one: a store commits once for all of them, and the busier it is the larger they get.
class ReceiveSource final : public PushSource {
 public:
  static constexpr Param params[] = {
      {.name = "listen"_str,
       .type = ATALAYA_STRING,
       .default_text = "127.0.0.1:4242"_str,
       .summary = "Address and port: 127.0.0.1:4242, [::1]:4242, *:4242 for all addresses; port 0 takes any free one."_str},
      {.name = "tokens"_str,
       .type = ATALAYA_STRING,
       .summary =
           "File with the secrets that senders must show, one a line, read again when it changes; absent: none is asked for."_str},
      http_server::kOpen,
      http_server::kCertificate,
      http_server::kKey,
      {.name = "strict"_str,
       .type = ATALAYA_BOOL,
       .default_text = "true"_str,
       .summary =
           "Refuses puts that OpenTSDB refuses: without tags, with more than 8, or with characters outside its alphabet."_str},
      {.name = "threads"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "2"_str,
       .unit = "threads"_str,
       .summary = "Threads for connections."_str,
       .min = 1,
       .max = 64},
      {.name = "max_connections"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10000"_str,
       .unit = "connections"_str,
       .summary = "Connections beyond it wait until one is free; the limit of open files may set a lower one."_str,
       .min = 1,
       .max = 1000000},
      http_server::kMaxHeader,
      {.name = "max_body"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "16 MiB"_str,
       .summary = "A request's body as sent; larger ones are refused with 413."_str,
       .min = 1024,
       .max = 1073741824},
      {.name = "max_decoded"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "64 MiB"_str,
       .summary = "A request's body after decompression; larger ones are refused with 413."_str,
       .min = 1024,
       .max = 1073741824},
      {.name = "max_waiting"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "64 MiB"_str,
       .summary = "Bodies of all requests that are being received or wait; beyond it senders get 429 and Retry-After."_str,
       .min = 65536,
       .max = 17179869184},
      {.name = "max_names"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "65536"_str,
       .unit = "names"_str,
       .summary = "Different names of metrics and tags that senders may use; points with further ones are refused."_str,
       .min = 16,
       .max = 500000},
      http_server::kRequestTimeout,
      http_server::kIdleTimeout,
      {.name = "store_timeout"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "4s"_str,
       .summary =
           "A sender whose points the sinks do not hold by then is told to send them again (503): sooner than it hangs up."_str,
       .min = 1e8,
       .max = 3.6e12},
  };
  static constexpr Description description = {
      .name = "receive"_str,
      .summary = "takes points, stacks and samples from other hosts by HTTP: OpenTSDB's put, BDWatchdog's stacks, JSON lines"_str,
      .params = params};

  explicit ReceiveSource(Host host);

  void start() override;
  void stop() override;
  Code run() override;
  void interrupt() noexcept override;
  void acked(uint64_t batch_id, Code status) noexcept override;

 private:
  // A request whose points are in a batch, and its answer for when the sinks hold it.
  struct Pending {
    std::shared_ptr<Request> request;
    Answer answer;
    std::optional<Answer> late;  // when its own sync_timeout is over
    int64_t deadline = 0;        // monotonic
  };
  using Pendings = std::vector<Pending>;
  struct Waiting {
    std::shared_ptr<Request> request;
    int64_t since = 0;
  };

  std::optional<Answer> take(const std::shared_ptr<Request> &request);
  // The next request, when a batch may be begun or goes on; nothing: stopping, or the batch at hand should go.
  std::optional<Waiting> next(bool begun);
  void answer_late();
  int64_t next_deadline() const;
  void read_safely(const Waiting &waiting, Pendings &pending);
  // Reads the request into the batch at hand; answers it when nothing of it has to wait for the sinks.
  void read(const Waiting &waiting, Pendings &pending);
  Account parse(const Request &request);
  void emit(Pendings pending);
  static void settle(const Pendings &pending, Code status);

  const Host host_;
  http_server::Address address_;
  ServerOptions options_;
  Rules rules_;
  size_t max_decoded_;
  int64_t store_timeout_ns_;
  http_server::TlsFiles tls_;
  std::unique_ptr<http_server::Tokens> tokens_;
  std::unique_ptr<Server> server_;

  // Of the thread of run.
  Decoder decoder_;
  JsonReader reader_;
  FlatReader flat_reader_;
  SampleBuilder builder_;
  std::string_view text_;  // of the request at hand
  atalaya_batch *batch_ = nullptr;
  size_t decoded_ = 0;  // bytes in the batch at hand

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> queue_;
  std::map<uint64_t, Pendings> in_flight_;  // by batch id
  std::map<uint64_t, Code> early_;          // acked before emit had said the id
  bool emitting_ = false, stopping_ = true;
  int64_t last_batch_ = 0;  // when it was emitted
};

}  // namespace atalaya::receive
