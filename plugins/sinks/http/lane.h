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
  int64_t sample_rate = 0;  // of stacks
  std::string health;       // path that answers 2xx on a healthy server; empty: none
};

// A record that the server refuses for good.
struct DeadRecord {
  size_t sample;            // index in the batch
  std::string_view record;  // valid until the lane's next batch
  int status;
  std::string url, words;
};

// Delivers its share of a batch, one request after another, and keeps its progress. One thread at a time.
class Lane {
 public:
  Lane(const LaneOptions &options, const core::NameOf &name_of, const protocols::MetricOf &metric_of, http_client::Targets &targets,
       http_client::Connection connection);
  ~Lane();

  // Makes the samples with these indices the current batch.
  void load(std::span<const atalaya_sample> samples, std::span<const size_t> mine, size_t home);
  // Sends the rest of the batch; `samples` are the loaded ones. False: not delivered yet, `problem` has the reason; call it again
  // later.
  bool deliver(std::span<const atalaya_sample> samples, std::string_view authorization);

  const std::string &problem() const { return problem_; }
  // Of the current batch; complete when deliver() has returned true.
  const std::vector<DeadRecord> &dead() const { return dead_; }
  const std::vector<std::pair<size_t, std::string_view>> &without_form() const { return without_form_; }
  // Points that the server reported as refused without naming them, and its last reason. Of the current batch.
  const protocols::MessageEncoder::Rejected &rejected() const { return rejected_; }

 private:
  struct Record {
    size_t begin, end, sample;  // of text_, including the separator behind it; of whole samples: sums of sizes
    size_t query = 0;           // of queries_; it never decreases from record to record
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
  bool may_halve(Range range);
  void halve(Range range);
  void done_with(Range range);
  bool use_details(Range range);
  void add_dead_letters(Range range, const Outcome &refusal);
  bool refused_everything() const;
  void start_again();
  void pause_servers();

  const LaneOptions &options_;
  http_client::Targets &targets_;
  http_client::Connection connection_;
  std::unique_ptr<core::Encoder> encoder_;
  std::unique_ptr<io::Compressor> compressor_;
  std::string body_;
  std::unique_ptr<protocols::MessageEncoder> message_encoder_;
  size_t declared_bytes_ = 0;  // of the encoder's declarations, that the server has
  protocols::MessageEncoder::Rejected rejected_;
  // For whole samples and messages. A server gets the declarations of metrics with the first request, after a failure, and again at
  // intervals, because it may have restarted.
  std::unique_ptr<protocols::SampleEncoder> sample_encoder_;
  std::string whole_;
  std::vector<atalaya_sample> picked_;
  size_t declared_to_ = SIZE_MAX;  // the server that has them
  int64_t declared_at_ = 0;        // monotonic
  size_t max_records_;             // limit learnt from the servers

  // The current batch.
  std::span<const atalaya_sample> samples_;
  std::string text_;
  std::vector<std::string> queries_;    // of the addresses of whole samples
  std::deque<std::string> dead_texts_;  // of whole samples
  std::vector<Record> records_;
  std::vector<std::pair<size_t, std::string_view>> without_form_;
  std::deque<Range> todo_;  // in order; each is one request or several
  std::vector<DeadRecord> dead_;
  std::string problem_;
  size_t home_ = 0;
  std::string_view authorization_;
  size_t searches_ = 0;        // splits of the request that is being searched
  size_t searched_to_ = 0;     // end of that request
  bool accepted_any_ = false;  // of this batch
  int full_refusals_ = 0;
  bool details_useless_ = false;  // the server does not support it
};

}  // namespace atalaya::http_sink
