// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/compress/compressor.h"
#include "plugins/shared/io/http/client/connection.h"
#include "plugins/shared/io/http/client/targets.h"
#include "plugins/shared/protocols/base/message_encoder.h"
#include "plugins/shared/protocols/base/sample_encoder.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "plugins/sinks/http/answer.h"
#include "plugins/sinks/http/form.h"

namespace atalaya::http_sink {

struct LaneOptions {
  Form form;
  protocols::TagLimit tags;
  std::string compress;
  int level = 6;
  size_t batch_records = 5000;
  size_t batch_bytes = size_t{4} << 20;
  int64_t sample_rate = 0;  // samples of stacks per second
  std::string health;       // path of the health check; a healthy server answers 2xx; empty: no check
  // Exposed names of remote write, shared by all lanes of a sink.
  std::shared_ptr<prometheus::ExposedNames> exposed_names = std::make_shared<prometheus::ExposedNames>();
};

// A record that the server refuses permanently.
struct DeadRecord {
  size_t sample;            // index in the batch
  std::string_view record;  // valid until the lane's next batch
  int status;
  std::string url, server_message;
};

// Delivers a part of a batch, one request after another. A call of deliver continues where the last one failed. Not thread-safe.
class Lane {
 public:
  Lane(const LaneOptions &options, const core::NameOf &name_of, const protocols::MetricOf &metric_of, http_client::Targets &targets,
       http_client::Connection connection);
  ~Lane();

  // Sets the current batch: the samples with the indices `mine`. `home` is the index of the preferred server.
  void load(std::span<const atalaya_sample> samples, std::span<const size_t> mine, size_t home);
  // Sends the undelivered records of the batch; `samples` are those of load. Returns false if some remain: problem() has the
  // reason, and the caller must try again later.
  bool deliver(std::span<const atalaya_sample> samples, std::string_view authorization);

  const std::string &problem() const { return problem_; }
  // The refused records of the current batch; complete when deliver() has returned true.
  const std::vector<DeadRecord> &dead() const { return dead_; }
  const std::vector<std::pair<size_t, std::string_view>> &not_encodable() const { return not_encodable_; }
  // The number of points of the current batch that the server refused without reporting which, and its last reason.
  const protocols::MessageEncoder::Rejected &rejected() const { return rejected_; }

 private:
  struct Record {
    // Range in text_, including the separator after the record. For complete samples: cumulated sizes. `sample`: index in the
    // batch.
    size_t begin, end, sample;
    size_t query = 0;  // index in queries_; it never decreases from record to record
  };
  struct Range {
    size_t first, last;
    size_t count() const { return last - first; }
  };
  struct Outcome {
    Verdict verdict;
    int status = 0;
    std::string url, body;
  };

  Range next_request();
  Outcome send(Range range, bool details);
  Outcome try_target(Range range, size_t index, bool suspect, bool details);
  void load_samples(std::span<const atalaya_sample> samples, std::span<const size_t> mine);
  void load_messages(std::span<const atalaya_sample> samples, std::span<const size_t> mine);
  void build(Range range);
  void build_sample_request(Range range, size_t target);
  void build_message(Range range, size_t target);
  bool must_declare(size_t target);
  void count_rejected(const std::string &body, size_t records);
  std::string target_of(const http_client::Url &url, Range range, bool details) const;
  std::string_view text_of(size_t record);
  bool healthy(const http_client::Url &url);
  bool search(Range range, const Outcome &refusal);
  bool can_halve(Range range);
  void halve(Range range);
  void mark_delivered(Range range);
  bool use_details(Range range);
  void add_dead_letters(Range range, const Outcome &refusal);
  bool refused_everything() const;
  void reset_progress();
  void pause_servers();

  const LaneOptions &options_;
  http_client::Targets &targets_;
  http_client::Connection connection_;
  std::unique_ptr<core::Encoder> encoder_;
  std::unique_ptr<io::Compressor> compressor_;
  std::string body_;
  std::unique_ptr<protocols::MessageEncoder> message_encoder_;
  size_t declared_bytes_ = 0;  // size of the metric declarations that the server has received
  protocols::MessageEncoder::Rejected rejected_;
  // For complete samples and messages. The first request to a server has the declarations of metrics; they are sent again after a
  // failure and at intervals, because the server may have restarted.
  std::unique_ptr<protocols::SampleEncoder> sample_encoder_;
  std::string encoded_samples_;
  std::vector<atalaya_sample> request_samples_;
  size_t declared_to_ = SIZE_MAX;  // index of the server that has the declarations
  int64_t declared_at_ = 0;        // monotonic time at which they were sent
  size_t max_records_;             // maximum records per request; reduced after status 413

  // The current batch.
  std::span<const atalaya_sample> samples_;
  std::string text_;
  std::vector<std::string> queries_;    // query strings of the requests with complete samples
  std::deque<std::string> dead_texts_;  // records of refused complete samples
  std::vector<Record> records_;
  std::vector<std::pair<size_t, std::string_view>> not_encodable_;
  std::deque<Range> undelivered_;  // undelivered records, in order; a range is one request or several
  std::vector<DeadRecord> dead_;
  std::string problem_;
  size_t preferred_server_ = 0;
  std::string_view authorization_;
  size_t splits_ = 0;          // number of splits of the refused request
  size_t split_end_ = 0;       // end of that request
  bool accepted_any_ = false;  // the server has accepted a record of this batch
  int full_refusals_ = 0;
  bool details_useless_ = false;  // the server does not support ?details
};

}  // namespace atalaya::http_sink
