// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/http/lane.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <unordered_map>

#include "core/base/now.h"
#include "plugins/shared/io/http/client/words.h"

namespace atalaya::http_sink {
namespace {

using core::monotonic;
using core::realtime;

// Maximum splits of a request in the search for refused points: enough for about thirty bad points among 5,000.
constexpr size_t kMaxSearches = 256;
// If a server refuses this number of single points with equal messages and accepts none, the cause is the server, not the points.
constexpr size_t kSuspicious = 8;
// After this number of attempts refusals are final, so that a batch of invalid points is not retried without end.
constexpr int kMaxTries = 10;

// OpenTSDB without tsd.http.request.enable_chunked accepts bodies of up to 8 KiB and reports larger ones as chunked.
bool too_large(int status, std::string_view body) {
  return status == 413 || body.find("Chunked request not supported") != std::string_view::npos;
}

}  // namespace

Lane::~Lane() = default;

Lane::Lane(const LaneOptions &options, const core::NameOf &name_of, const protocols::MetricOf &metric_of,
           http_client::Targets &targets, http_client::Connection connection)
    : options_(options),
      targets_(targets),
      connection_(std::move(connection)),
      encoder_(make_lines(options.form, options.tags, name_of)),
      compressor_(io::make_compressor(options.form.compress.empty() ? std::string_view(options.compress) : options.form.compress,
                                      options.level)),
      message_encoder_(make_messages(options.form, name_of, metric_of, options.exposed_names)),
      sample_encoder_(make_sample_encoder(options.form, options.sample_rate, name_of, metric_of)),
      max_records_(options.batch_records) {}

void Lane::load(std::span<const atalaya_sample> samples, std::span<const size_t> mine, size_t home) {
  preferred_server_ = home;
  text_.clear();
  records_.clear();
  not_encodable_.clear();
  dead_.clear();
  full_refusals_ = 0;
  details_useless_ = false;
  dead_texts_.clear();
  rejected_ = {};
  if (sample_encoder_) return load_samples(samples, mine);
  if (message_encoder_) return load_messages(samples, mine);
  for (const size_t sample : mine) {
    size_t begin = text_.size();
    if (const std::string_view reason = encoder_->append(samples[sample], text_); !reason.empty()) {
      not_encodable_.emplace_back(sample, reason);
      text_.resize(begin);
    }
    while (begin < text_.size()) {
      const size_t end = text_.find('\n', begin);
      if (options_.form.array) text_[end] = ',';
      records_.push_back({begin, end + 1, sample});
      begin = end + 1;
    }
  }
  reset_progress();
}

static size_t size_of(const atalaya_sample &sample) {
  size_t size = 32 + sample.text.size + sample.tag_count * size_t{8} + sample.field_count * size_t{16};
  for (uint32_t i = 0; i < sample.tag_count; ++i) size += sample.tags[i].value.size;
  return size;
}

// Creates one record per sample, sorted by address; the size of a record is approximately that of its part of the request.
void Lane::load_samples(std::span<const atalaya_sample> samples, std::span<const size_t> mine) {
  std::map<std::string, std::vector<size_t>> by_query;
  for (const size_t index : mine)
    if (const std::string_view reason = sample_encoder_->refusal_reason(samples[index]); !reason.empty())
      not_encodable_.emplace_back(index, reason);
    else
      by_query[sample_encoder_->query_of(samples[index])].push_back(index);
  queries_.clear();
  size_t at = 0;
  for (auto &[query, indices] : by_query) {
    for (const size_t index : indices) {
      const size_t size = size_of(samples[index]);
      records_.push_back({at, at + size, index, queries_.size()});
      at += size;
    }
    queries_.push_back(query);
  }
  reset_progress();
}

// Creates one record per sample. The markers of ended series are part of the last record.
void Lane::load_messages(std::span<const atalaya_sample> samples, std::span<const size_t> mine) {
  for (const size_t index : mine) {
    const size_t begin = text_.size();
    const std::string_view reason = message_encoder_->append(samples[index], text_);
    if (!reason.empty()) not_encodable_.emplace_back(index, reason);
    if (text_.size() > begin) records_.push_back({begin, text_.size(), index});
  }
  if (!records_.empty()) {
    message_encoder_->end_batch(text_);
    records_.back().end = text_.size();
  }
  reset_progress();
}

void Lane::reset_progress() {
  dead_.clear();
  splits_ = 0;
  split_end_ = 0;
  accepted_any_ = false;
  undelivered_.clear();
  if (!records_.empty()) undelivered_.push_back({0, records_.size()});
}

bool Lane::deliver(std::span<const atalaya_sample> samples, std::string_view authorization) {
  samples_ = samples;
  authorization_ = authorization;
  problem_.clear();
  while (!undelivered_.empty()) {
    const Range range = next_request();
    const Outcome outcome = send(range, false);
    if (outcome.verdict == Verdict::retry) return false;
    if (outcome.verdict == Verdict::accepted) {
      accepted_any_ = true;
      mark_delivered(range);
    } else if (!search(range, outcome)) {
      return false;
    }
  }
  if (!refused_everything()) return true;
  ++full_refusals_;
  problem_ = dead_.front().url + " refuses every point: " + dead_.front().server_message;
  reset_progress();
  pause_servers();
  return false;
}

// Returns the next records, up to the limits of a request.
Lane::Range Lane::next_request() {
  Range range = undelivered_.front();
  const size_t begin = records_[range.first].begin;
  range.last = std::min(range.last, range.first + max_records_);
  range.last =
      static_cast<size_t>(std::partition_point(records_.begin() + static_cast<std::ptrdiff_t>(range.first),
                                               records_.begin() + static_cast<std::ptrdiff_t>(range.last),
                                               [&](const Record &record) { return record.query == records_[range.first].query; }) -
                          records_.begin());
  while (range.count() > 1 && records_[range.last - 1].end - begin > options_.batch_bytes) {
    // First estimates the number by the share of the bytes, then removes one record at a time.
    const size_t fits = range.count() * options_.batch_bytes / (records_[range.last - 1].end - begin);
    range.last = range.first + std::clamp<size_t>(fits, 1, range.count() - 1);
  }
  return range;
}

// Whether the server needs the declarations of metrics: it has none, or may have lost them. The caller sends them then.
bool Lane::must_declare(size_t target) {
  static constexpr int64_t kDeclareEvery = 300'000'000'000;
  const int64_t now = monotonic();
  if (target == declared_to_ && now < declared_at_ + kDeclareEvery) return false;
  declared_to_ = target;
  declared_at_ = now;
  return true;
}

void Lane::build_message(Range range, size_t target) {
  if (must_declare(target)) declared_bytes_ = 0;
  const std::string_view declarations = message_encoder_->declarations().substr(declared_bytes_);
  declared_bytes_ += declarations.size();
  const size_t begin = records_[range.first].begin;
  const std::string_view pieces[] = {declarations, std::string_view(text_).substr(begin, records_[range.last - 1].end - begin)};
  compressor_->compress(pieces, body_);
}

// If a server accepts a part of a message, the message must not be sent again: only the number of refused points is counted.
void Lane::count_rejected(const std::string &body, size_t records) {
  protocols::MessageEncoder::Rejected found = message_encoder_ ? message_encoder_->rejected(body) : sample_encoder_->rejected(body);
  if (found.points == 0) return;
  rejected_.points += std::min<uint64_t>(found.points, records);
  rejected_.why = std::move(found.why);
}

void Lane::build_sample_request(Range range, size_t target) {
  request_samples_.clear();
  for (size_t i = range.first; i < range.last; ++i) request_samples_.push_back(samples_[records_[i].sample]);
  if (must_declare(target)) sample_encoder_->forget();
  encoded_samples_.clear();
  sample_encoder_->encode(request_samples_, encoded_samples_);
  const std::string_view pieces[] = {encoded_samples_};
  compressor_->compress(pieces, body_);
}

std::string Lane::target_of(const http_client::Url &url, Range range, bool details) const {
  const std::string_view query = details           ? "details"
                                 : sample_encoder_ ? std::string_view(queries_[records_[range.first].query])
                                                   : "";
  if (query.empty()) return url.target;
  return (url.target + (url.target.find('?') == std::string::npos ? '?' : '&')).append(query);
}

void Lane::build(Range range) {
  const size_t begin = records_[range.first].begin;
  const size_t end = records_[range.last - 1].end;
  const std::string_view text(text_);
  if (options_.form.array) {
    const std::string_view pieces[] = {"[", text.substr(begin, end - begin - 1), "]"};
    compressor_->compress(pieces, body_);
  } else {
    const std::string_view pieces[] = {text.substr(begin, end - begin)};
    compressor_->compress(pieces, body_);
  }
}

// Sends the request to the first server that answers. A failed server is not used again for some time.
Lane::Outcome Lane::send(Range range, bool details) {
  if (!sample_encoder_ && !message_encoder_) build(range);
  for (size_t tried = 0; tried <= targets_.size(); ++tried) {
    const auto choice = targets_.pick(preferred_server_, monotonic());
    if (!choice) break;
    Outcome outcome = try_target(range, choice->index, choice->suspect, details);
    if (outcome.verdict != Verdict::retry) {
      targets_.mark_available(choice->index);
      return outcome;
    }
  }
  if (problem_.empty()) problem_ = "every server failed recently; waiting for the next attempt";
  return {Verdict::retry, 0, {}, {}};
}

Lane::Outcome Lane::try_target(Range range, size_t index, bool suspect, bool details) {
  const http_client::Url &url = targets_.url(index);
  Outcome outcome{Verdict::retry, 0, url.text, {}};
  int64_t wait = 0;
  try {
    if (suspect && !options_.health.empty() && !healthy(url)) {
      targets_.mark_failed(index, 0, monotonic());
      return outcome;
    }
    if (sample_encoder_) build_sample_request(range, index);
    if (message_encoder_) build_message(range, index);
    const std::string target = target_of(url, range, details);
    const http_client::Answer answer =
        connection_.exchange(url, {"POST", target, options_.form.content_type, compressor_->encoding(), authorization_,
                                   std::string_view(body_), options_.form.header, options_.form.header_value});
    outcome.status = answer.status;
    outcome.verdict = verdict_of(answer.status);
    outcome.body = answer.body;
    if ((message_encoder_ || sample_encoder_) && outcome.verdict == Verdict::accepted) count_rejected(answer.body, range.count());
    if (outcome.verdict == Verdict::retry) {
      wait = retry_after(answer.retry_after, realtime());
      problem_ = url.text + " answered " + std::to_string(answer.status) + ": " + http_client::error_message(answer.body);
      if (!answer.location.empty()) problem_ += "; redirects are not followed: set the target url";
    }
  } catch (const http_client::NoAnswer &none) {
    problem_ = url.text + ": " + none.what();
  }
  if (outcome.verdict == Verdict::retry) targets_.mark_failed(index, wait, monotonic());
  if (outcome.verdict != Verdict::accepted) declared_to_ = SIZE_MAX;
  return outcome;
}

bool Lane::healthy(const http_client::Url &url) {
  const http_client::Answer answer = connection_.exchange(url, {"GET", options_.health, {}, {}, authorization_, {}});
  if (verdict_of(answer.status) == Verdict::accepted) return true;
  problem_ = url.text + " is not healthy: " + options_.health + " answered " + std::to_string(answer.status);
  return false;
}

// Handles a refused request: finds the refused records. Returns false if the request is not delivered yet.
bool Lane::search(Range range, const Outcome &refusal) {
  if (too_large(refusal.status, refusal.body)) {
    if (range.count() > 1) {
      max_records_ = range.count() / 2;
    } else {
      add_dead_letters(range, refusal);
    }
    return true;
  }
  if (options_.form.details && !details_useless_) return use_details(range);
  if (range.count() > 1 && can_halve(range)) {
    halve(range);
  } else {
    add_dead_letters(range, refusal);
  }
  return true;
}

// Whether the request may be split further. Records before `split_end_` belong to the request that is searched, later ones to a new
// request.
bool Lane::can_halve(Range range) {
  if (range.first >= split_end_) {
    splits_ = 0;
    split_end_ = range.last;
  }
  return splits_++ < kMaxSearches;
}

void Lane::halve(Range range) {
  const size_t middle = range.first + range.count() / 2;
  mark_delivered(range);
  undelivered_.push_front({middle, range.last});
  undelivered_.push_front({range.first, middle});
}

void Lane::mark_delivered(Range range) {
  undelivered_.front().first = range.last;
  if (undelivered_.front().count() == 0) undelivered_.pop_front();
}

void Lane::pause_servers() {
  for (size_t i = 0; i < targets_.size(); ++i) targets_.mark_failed(i, 0, monotonic());
}

// Uses the answer to ?details: OpenTSDB reports the points that it refuses, and stores the others.
bool Lane::use_details(Range range) {
  const Outcome outcome = send(range, true);
  if (outcome.verdict == Verdict::retry) return false;
  std::vector<RefusedPoint> refused;
  if (outcome.verdict == Verdict::refused) {
    auto named = refused_points(outcome.body);
    if (!named || named->empty()) {
      details_useless_ = true;
      return true;  // sends the same range again, in halves
    }
    refused = std::move(*named);
  }
  std::unordered_map<std::string_view, const RefusedPoint *> by_key;
  for (const RefusedPoint &point : refused) by_key.emplace(point.key, &point);
  std::vector<Range> again;
  size_t matched = 0;
  const size_t buried = dead_.size();
  for (size_t i = range.first; i < range.last && !by_key.empty(); ++i) {
    const std::string_view record = text_of(i);
    const auto found = by_key.find(point_key(record));
    if (found == by_key.end()) continue;
    ++matched;
    if (found->second->retry) {
      if (again.empty() || again.back().last < i) again.push_back({i, i});
      again.back().last = i + 1;
      problem_ = outcome.url + " could not store a point: " + found->second->error;
    } else {
      dead_.push_back({records_[i].sample, record, outcome.status, outcome.url, http_client::error_message(found->second->error)});
    }
  }
  if (matched < by_key.size()) {  // the answer has points that are not in the request: ignore it
    dead_.erase(dead_.begin() + static_cast<std::ptrdiff_t>(buried), dead_.end());
    details_useless_ = true;
    return true;
  }
  if (matched < range.count()) accepted_any_ = true;
  mark_delivered(range);
  undelivered_.insert(undelivered_.begin(), again.begin(), again.end());
  if (again.empty()) return true;
  pause_servers();
  return false;
}

// The text of a record for dead letters. The sample of a binary record is encoded as a line.
std::string_view Lane::text_of(size_t record) {
  const Record &found = records_[record];
  if (!sample_encoder_ && !message_encoder_) return std::string_view(text_).substr(found.begin, found.end - found.begin - 1);
  std::string &text = dead_texts_.emplace_back();
  encoder_->append(samples_[found.sample], text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void Lane::add_dead_letters(Range range, const Outcome &refusal) {
  const std::string server_message = http_client::error_message(refusal.body);
  for (size_t i = range.first; i < range.last; ++i) {
    dead_.push_back({records_[i].sample, text_of(i), refusal.status, refusal.url, server_message});
  }
  mark_delivered(range);
}

bool Lane::refused_everything() const {
  return !accepted_any_ && full_refusals_ < kMaxTries && dead_.size() >= kSuspicious &&
         std::all_of(dead_.begin(), dead_.end(),
                     [&](const DeadRecord &record) { return record.server_message == dead_.front().server_message; });
}

}  // namespace atalaya::http_sink
