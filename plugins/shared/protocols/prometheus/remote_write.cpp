// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/prometheus/remote_write.h"

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <bit>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/shared/protocols/prometheus/legal_text.h"
#include "plugins/shared/protocols/prometheus/metric.h"

namespace atalaya::protocols {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

// Field numbers of prompb.
namespace write_request {
constexpr pbf_tag_type kSeries = 1, kMetadata = 3;
}
namespace time_series {
constexpr pbf_tag_type kLabel = 1, kSample = 2;
}
namespace label {
constexpr pbf_tag_type kName = 1, kValue = 2;
}
namespace point {
constexpr pbf_tag_type kValue = 1, kTime = 2;
}
namespace metadata {
constexpr pbf_tag_type kType = 1, kFamily = 2, kHelp = 4, kUnit = 5;
constexpr int32_t kUnknown = 0, kCounter = 1, kGauge = 2;
}  // namespace metadata

constexpr int64_t kMilli = 1'000'000;
// Prometheus' own NaN for the end of a series: model/value/value.go.
const double kStale = std::bit_cast<double>(uint64_t{0x7ff0000000000002});

struct SentName {
  std::string label;   // the encoded label __name__; "": another metric has the exposed name
  std::string family;  // the first word: "proc" of proc.cpu.user
};

class RemoteWrite final : public MessageEncoder {
 public:
  RemoteWrite(core::NameOf name_of, MetricOf metric_of, const RemoteWriteOptions &options)
      : name_of_(std::move(name_of)), metric_of_(std::move(metric_of)), options_(options) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind != ATALAYA_METRICS) return "remote write has no form for stacks and spans";
    if (!read_labels(sample)) return "two tags have the same label name";
    std::string_view refusal;
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const atalaya_field &field = sample.fields[i];
      const SentName *name = name_of_field(field.name);
      if (name == nullptr) continue;
      if (name->label.empty()) {
        refusal = "another metric has the same exposed name";
        continue;
      }
      const double value = field.type == ATALAYA_I64 ? static_cast<double>(field.value.i64) : field.value.f64;
      append_series(sample, *name, value, out);
    }
    return refusal;
  }

  void end_batch(std::string &out) override {
    if (!advanced_) return;
    advanced_ = false;
    for (auto series = series_.begin(); series != series_.end();) {
      const State &state = series->second;
      const Stream &stream = streams_[state.stream];
      // The first sample of an agent has no window; its series has those that follow.
      const int64_t length = state.length_ns > 0 ? state.length_ns : stream.length_ns;
      // In the window after the next one, so that a late sample of the missing window is not refused.
      if (length == 0 || stream.newest_ns < state.time_ns + 2 * length) {
        ++series;
        continue;
      }
      bytes_ = series->first;
      add_point(kStale, state.time_ns + length);
      pbf_writer(out).add_message(write_request::kSeries, bytes_);
      series = series_.erase(series);
    }
  }

  std::string_view declarations() const override { return declarations_; }

 private:
  // The windows of one host and family.
  struct Stream {
    int64_t newest_ns = INT64_MIN, length_ns = 0;  // of the newest window; 0: none yet
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  struct State {
    int64_t time_ns = 0, length_ns = 0;
    uint32_t stream = 0;
  };

  static std::string encoded_label(std::string_view name, std::string_view value) {
    std::string bytes;
    pbf_writer written(bytes);
    written.add_string(label::kName, name.data(), name.size());
    written.add_string(label::kValue, value.data(), value.size());
    return bytes;
  }

  // The sample's labels, in the order that the specification demands. False: two have one name.
  bool read_labels(const atalaya_sample &sample) {
    pairs_.clear();
    host_ = {};
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const std::string_view key = name_of_(sample.tags[i].key);
      const std::string_view value{sample.tags[i].value.data, sample.tags[i].value.size};
      if (key.empty() || value.empty()) continue;
      if (key == "host") host_ = value;
      std::string text;
      prometheus::append_utf8(text, value);
      pairs_.emplace_back(prometheus::legal_label(key), std::move(text));
    }
    std::sort(pairs_.begin(), pairs_.end());
    for (size_t i = 1; i < pairs_.size(); ++i)
      if (pairs_[i].first == pairs_[i - 1].first) return false;
    before_name_.clear();
    after_name_.clear();
    for (const auto &[key, value] : pairs_) {
      std::string &part = std::string_view(key) < "__name__" ? before_name_ : after_name_;
      pbf_writer written(part);
      const std::string bytes = encoded_label(key, value);
      written.add_message(time_series::kLabel, bytes);
    }
    return true;
  }

  const SentName *name_of_field(uint32_t id) {
    if (const auto known = names_.find(id); known != names_.end()) return &known->second;
    const std::string_view name = name_of_(id);
    if (name.empty()) return nullptr;
    const prometheus::Metric metric = prometheus::describe(name, metric_of_(id));
    SentName &entry = names_[id];
    if (!options_.names->claim(metric)) return &entry;
    const std::string sent = metric.family + (metric.type == prometheus::Type::counter ? "_total" : "");
    declare(metric, sent);
    pbf_writer written(entry.label);
    written.add_message(time_series::kLabel, encoded_label("__name__", sent));
    entry.family = name.substr(0, name.find('.'));
    return &entry;
  }

  void declare(const prometheus::Metric &metric, const std::string &sent) {
    pbf_writer request(declarations_);
    pbf_writer written(request, write_request::kMetadata);
    const int32_t type = metric.type == prometheus::Type::counter ? metadata::kCounter
                         : metric.type == prometheus::Type::gauge ? metadata::kGauge
                                                                  : metadata::kUnknown;
    written.add_enum(metadata::kType, type);
    written.add_string(metadata::kFamily, sent);
    written.add_string(metadata::kHelp, metric.help);
    if (!metric.unit.empty()) written.add_string(metadata::kUnit, metric.unit);
  }

  // To the current series, behind its labels.
  void add_point(double value, int64_t time_ns) {
    pbf_writer series(bytes_);
    pbf_writer written(series, time_series::kSample);
    written.add_double(point::kValue, value);
    written.add_int64(point::kTime, time_ns / kMilli);
  }

  void append_series(const atalaya_sample &sample, const SentName &name, double value, std::string &out) {
    labels_.assign(before_name_).append(name.label).append(after_name_);
    bytes_ = labels_;
    if (const std::optional<int64_t> gap = note(sample, name)) add_point(kStale, *gap);
    add_point(value, sample.time_ns);
    pbf_writer(out).add_message(write_request::kSeries, bytes_);
  }

  // Remembers the series in this window. The result: it was missing before, from this time on.
  std::optional<int64_t> note(const atalaya_sample &sample, const SentName &name) {
    const uint32_t number = stream_of(name.family);
    if (number == kNone) return std::nullopt;
    Stream &stream = streams_[number];
    if (sample.duration_ns <= 0 && stream.length_ns > 0) return std::nullopt;  // a point among windows: its rhythm is unknown
    if (sample.time_ns > stream.newest_ns) {
      stream = {sample.time_ns, std::max<int64_t>(sample.duration_ns, 0)};
      advanced_ = true;
    }
    auto at = series_.find(labels_);
    if (at == series_.end()) {
      if (series_.size() >= options_.max_series) return std::nullopt;
      at = series_.try_emplace(labels_).first;
    }
    State &state = at->second;
    if (sample.time_ns <= state.time_ns) return std::nullopt;  // late
    const bool known = state.length_ns > 0;
    const int64_t expected = state.time_ns + state.length_ns;
    state = {sample.time_ns, std::max<int64_t>(sample.duration_ns, 0), number};
    return known && sample.time_ns > expected ? std::optional(expected) : std::nullopt;
  }

  uint32_t stream_of(const std::string &family) {
    stream_key_.assign(host_).append(1, '\0').append(family);
    if (const auto known = stream_numbers_.find(stream_key_); known != stream_numbers_.end()) return known->second;
    if (streams_.size() >= options_.max_series) return kNone;
    stream_numbers_.emplace(stream_key_, static_cast<uint32_t>(streams_.size()));
    streams_.emplace_back();
    return static_cast<uint32_t>(streams_.size() - 1);
  }

  const core::NameOf name_of_;
  const MetricOf metric_of_;
  const RemoteWriteOptions options_;
  std::unordered_map<uint32_t, SentName> names_;
  std::string declarations_;

  // Of the current sample.
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::string_view host_;
  std::string before_name_, after_name_, labels_, stream_key_;
  std::string bytes_;  // of the current series

  std::unordered_map<std::string, State> series_;  // by encoded labels
  std::unordered_map<std::string, uint32_t> stream_numbers_;
  std::vector<Stream> streams_;
  bool advanced_ = false;  // a stream has a new window
};

}  // namespace

std::unique_ptr<MessageEncoder> make_remote_write(const core::NameOf &name_of, const MetricOf &metric_of,
                                                  const RemoteWriteOptions &options) {
  return std::make_unique<RemoteWrite>(name_of, metric_of, options);
}

}  // namespace atalaya::protocols
