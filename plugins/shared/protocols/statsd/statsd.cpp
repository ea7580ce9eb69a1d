// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/statsd/statsd.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plugins/shared/protocols/base/numbers.h"

namespace atalaya::protocols {
namespace {

constexpr size_t kMaxName = 1024;  // bytes of a name with its tags
constexpr size_t kMaxStatsdTags = 64;

enum class Type : uint8_t { counter, gauge, timer, set };

std::optional<Type> type_from_name(std::string_view name) {
  if (name == "c" || name == "m") return Type::counter;
  if (name == "g") return Type::gauge;
  if (name == "ms" || name == "h" || name == "d") return Type::timer;
  if (name == "s") return Type::set;
  return std::nullopt;
}

// The text up to the separator; removes both from `rest`.
std::string_view cut(std::string_view &rest, char separator) {
  const size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

struct Line {
  std::string_view name, value, tags;
  Type type = Type::counter;
  double rate = 1, number = 0;  // number: the value, unless it is a member of a set
};

std::optional<Line> parse(std::string_view text) {
  Line line;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  line.name = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  line.value = cut(text, '|');
  const auto type = type_from_name(cut(text, '|'));
  if (!type || line.value.empty()) return std::nullopt;
  line.type = *type;
  while (!text.empty()) {
    const std::string_view part = cut(text, '|');
    if (part.starts_with('@')) {
      const auto rate = parse_real(part.substr(1));
      if (!rate || !(*rate > 0) || *rate > 1) return std::nullopt;
      line.rate = *rate;
    } else if (part.starts_with('#')) {
      line.tags = part.substr(1);
    }
  }
  if (line.name.size() + line.tags.size() > kMaxName) return std::nullopt;
  if (line.type == Type::set) return line;
  const auto number = parse_real(line.value);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  line.number = *number;
  return line;
}

struct Series {
  Type type = Type::counter;
  double value = 0;  // of a counter, a gauge; the sum of a timer
  double count = 0, smallest = 0, largest = 0;
  std::unordered_set<std::string> members;
};

// By name and tags, with a line feed between them.
using Window = std::unordered_map<std::string, Series>;

// Adds to a sum; false: it would no longer be finite.
bool add_to(double &sum, double value) {
  const double next = sum + value;
  if (!std::isfinite(next)) return false;
  sum = next;
  return true;
}

bool add_number(Series &series, const Line &line) {
  const bool is_change = line.value.front() == '+' || line.value.front() == '-';  // of a gauge
  switch (series.type) {
    case Type::counter:
      return add_to(series.value, line.number / line.rate);
    case Type::gauge:
      if (is_change) return add_to(series.value, line.number);
      series.value = line.number;
      return true;
    case Type::timer:
      if (!add_to(series.value, line.number / line.rate)) return false;
      series.smallest = series.count == 0 ? line.number : std::min(series.smallest, line.number);
      series.largest = series.count == 0 ? line.number : std::max(series.largest, line.number);
      series.count += 1 / line.rate;
      return true;
    case Type::set:
      break;
  }
  return false;
}

void set_tags(Record &record, std::string_view tags) {
  record.tags.clear();
  while (!tags.empty() && record.tags.size() < kMaxStatsdTags) {
    std::string_view tag = cut(tags, ',');
    const std::string_view key = cut(tag, ':');
    if (!key.empty()) record.tags.push_back({key, tag.empty() ? std::string_view("true") : tag});
  }
}

class WindowReader {
 public:
  WindowReader(const Window &window, int64_t from_ns, int64_t to_ns) : window_(window), from_ns_(from_ns), to_ns_(to_ns) {}

  Account read(const Rules &rules, Taker &taker) {
    rules_ = &rules;
    taker_ = &taker;
    for (const auto &[key, series] : window_) {
      std::string_view rest = key;
      const std::string name(cut(rest, '\n'));
      set_tags(record_, rest);
      put_series(name, series);
    }
    return std::move(account_);
  }

 private:
  void put_series(const std::string &name, const Series &series) {
    switch (series.type) {
      case Type::counter:
        return put(name, series.value, ATALAYA_DELTA);
      case Type::gauge:
        return put(name, series.value, ATALAYA_GAUGE);
      case Type::set:
        return put(name, static_cast<double>(series.members.size()), ATALAYA_GAUGE);
      case Type::timer:
        put(name + ".count", series.count, ATALAYA_DELTA);
        put(name + ".sum", series.value, ATALAYA_DELTA);
        put(name + ".min", series.smallest, ATALAYA_GAUGE);
        return put(name + ".max", series.largest, ATALAYA_GAUGE);
    }
  }

  void put(const std::string &name, double value, uint32_t kind) {
    static constexpr std::string_view kNoUnit = "1";
    taker_->declare(
        name, {.struct_size = sizeof(atalaya_metric_info), .kind = kind, .decimals = 6, .unit = {kNoUnit.data(), kNoUnit.size()}});
    record_.point = true;
    record_.time_ns = to_ns_;
    record_.duration_ns = std::max<int64_t>(to_ns_ - from_ns_, 0);
    record_.fields.assign(1, {.name = name, .f64 = value});
    if (taker_->take(record_)) {
      ++account_.good;
      return;
    }
    refuse(account_, *rules_, [&](std::string &out) { append_numbered(out, "value", account_.failed, kTooManyNames); });
  }

  const Window &window_;
  const int64_t from_ns_, to_ns_;
  const Rules *rules_ = nullptr;
  Taker *taker_ = nullptr;
  Record record_;
  Account account_;
};

class Statsd final : public DatagramProtocol {
 public:
  explicit Statsd(const StatsdLimits &limits) : limits_(limits) {}

  void add(std::string_view datagram) override {
    while (!datagram.empty()) {
      std::string_view text = cut(datagram, '\n');
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (text.empty()) continue;
      const auto line = parse(text);
      if (line && add_line(*line))
        ++values_;
      else
        ++refused_;
    }
  }

  std::optional<DatagramWindow> take(int64_t from_ns, int64_t to_ns) override {
    if (window_.empty()) return std::nullopt;
    auto window = std::make_shared<Window>(std::move(window_));
    window_.clear();
    bytes_ = members_ = 0;
    remember_gauges(*window);
    return DatagramWindow{std::exchange(values_, 0), [window, from_ns, to_ns](const Rules &rules, Taker &taker) {
                            return WindowReader(*window, from_ns, to_ns).read(rules, taker);
                          }};
  }

  uint64_t refused() override { return std::exchange(refused_, 0); }

 private:
  bool add_line(const Line &line) {
    key_.assign(line.name).append(1, '\n').append(line.tags);
    auto at = window_.find(key_);
    if (at == window_.end()) {
      if (window_.size() >= limits_.series || bytes_ + key_.size() > limits_.bytes) return false;
      bytes_ += key_.size();
      at = window_.try_emplace(key_).first;
      at->second.type = line.type;
      if (const auto before = gauges_.find(key_); line.type == Type::gauge && before != gauges_.end())
        at->second.value = before->second;
    }
    Series &series = at->second;
    if (series.type != line.type) return false;
    return line.type == Type::set ? add_member(series, line.value) : add_number(series, line);
  }

  bool add_member(Series &series, std::string_view value) {
    if (series.members.contains(std::string(value))) return true;
    if (members_ >= limits_.members || value.size() > kMaxName || bytes_ + value.size() > limits_.bytes) return false;
    series.members.emplace(value);
    bytes_ += value.size();
    ++members_;
    return true;
  }

  // A change of a gauge refers to its value in an earlier window.
  void remember_gauges(const Window &window) {
    for (const auto &[key, series] : window) {
      if (series.type != Type::gauge) continue;
      if (const auto known = gauges_.find(key); known != gauges_.end())
        known->second = series.value;
      else if (gauges_.size() < limits_.series)
        gauges_.emplace(key, series.value);
    }
  }

  const StatsdLimits limits_;
  Window window_;
  std::unordered_map<std::string, double> gauges_;
  std::string key_;
  size_t bytes_ = 0, members_ = 0;
  uint64_t values_ = 0, refused_ = 0;
};

}  // namespace

std::unique_ptr<DatagramProtocol> make_statsd(const StatsdLimits &limits) {
  return std::make_unique<Statsd>(limits);
}

}  // namespace atalaya::protocols
