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

#include "core/base/text/text.h"
#include "plugins/shared/protocols/base/numbers.h"

namespace atalaya::protocols {
namespace {

constexpr size_t kMaxName = 1024;  // bytes of a name with its tags
constexpr size_t kMaxStatsdTags = 64;

// Reasons of refusals.
constexpr std::string_view kNoName = "a line of statsd is not NAME:VALUE|TYPE", kUnknownType = "the type of statsd is not known",
                           kNoNumber = "the value of statsd is no finite number",
                           kWrongRate = "the rate of statsd is not above 0 and at most 1",
                           kLongName = "the name of statsd has more than 1024 bytes or 64 tags",
                           kOtherType = "the name has another type in this window of statsd",
                           kBeyondLimits = "values beyond the limit of a window of statsd";

enum class Type : uint8_t { counter, gauge, timer, set };

std::optional<Type> type_from_name(std::string_view name) {
  if (name == "c" || name == "m") return Type::counter;
  if (name == "g") return Type::gauge;
  if (name == "ms" || name == "h" || name == "d") return Type::timer;
  if (name == "s") return Type::set;
  return std::nullopt;
}

// One value of a line, with the type and the sections behind it.
struct Value {
  std::string_view text;
  Type type = Type::counter;
  double rate = 1;
};

// The text up to one of these characters; removes it from `rest`, but not the character.
std::string_view cut_before(std::string_view &rest, std::string_view ends) {
  const std::string_view part = rest.substr(0, rest.find_first_of(ends));
  rest.remove_prefix(part.size());
  return part;
}

// Sorted, so that the same tags in another order are the same series. False: too many.
bool sort_tags(std::string_view tags, std::vector<std::string_view> &out) {
  out.clear();
  while (!tags.empty())
    if (const std::string_view tag = core::cut_at(tags, ','); !tag.empty() && tag.front() != ':') out.push_back(tag);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out.size() <= kMaxStatsdTags;
}

// A group of values of a line: "1:2|ms|@0.5|#k:v".
struct Group {
  std::string_view values, type, rate = "1", tags;
};

// Removes a group from `rest`. Behind a type or a rate, a colon begins the next group; the other sections contain colons.
Group cut_group(std::string_view &rest) {
  Group group;
  group.values = core::cut_at(rest, '|');
  group.type = cut_before(rest, "|:");
  while (rest.starts_with('|')) {
    rest.remove_prefix(1);
    if (rest.starts_with('@'))
      group.rate = cut_before(rest, "|:").substr(1);
    else if (rest.starts_with('#'))
      group.tags = cut_before(rest, "|").substr(1);
    else
      cut_before(rest, "|");
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return group;
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

bool add_number(Series &series, const Value &value, double number) {
  const bool is_change = value.text.front() == '+' || value.text.front() == '-';  // of a gauge
  switch (series.type) {
    case Type::counter:
      return add_to(series.value, number / value.rate);
    case Type::gauge:
      if (is_change) return add_to(series.value, number);
      series.value = number;
      return true;
    case Type::timer:
      if (!add_to(series.value, number / value.rate)) return false;
      series.smallest = series.count == 0 ? number : std::min(series.smallest, number);
      series.largest = series.count == 0 ? number : std::max(series.largest, number);
      if (!add_to(series.count, 1 / value.rate)) return false;
      return true;
    case Type::set:
      break;
  }
  return false;
}

void set_tags(Record &record, std::string_view tags) {
  record.tags.clear();
  while (!tags.empty()) {
    std::string_view tag = core::cut_at(tags, ',');
    const std::string_view key = core::cut_at(tag, ':');
    record.tags.push_back({key, tag.empty() ? std::string_view("true") : tag});
  }
}

class WindowReader {
 public:
  WindowReader(const Window &window, int64_t from_ns, int64_t to_ns) : window_(window), from_ns_(from_ns), to_ns_(to_ns) {}

  Account read(const Rules &rules, RecordReceiver &receiver) {
    rules_ = &rules;
    receiver_ = &receiver;
    for (const auto &[key, series] : window_) {
      std::string_view rest = key;
      const std::string name(core::cut_at(rest, '\n'));
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
    const bool agrees = receiver_->declare(
        name, {.struct_size = sizeof(atalaya_metric_info), .kind = kind, .decimals = 6, .unit = {kNoUnit.data(), kNoUnit.size()}});
    record_.point = true;
    record_.time_ns = to_ns_;
    record_.duration_ns = std::max<int64_t>(to_ns_ - from_ns_, 0);
    record_.fields.assign(1, {.name = name, .f64 = value});
    if (agrees && receiver_->take(record_)) {
      ++account_.good;
      return;
    }
    refuse(account_, *rules_,
           [&](std::string &out) { append_numbered(out, "value", account_.failed, agrees ? kTooManyNames : kOtherKind); });
  }

  const Window &window_;
  const int64_t from_ns_, to_ns_;
  const Rules *rules_ = nullptr;
  RecordReceiver *receiver_ = nullptr;
  Record record_;
  Account account_;
};

class Statsd final : public DatagramProtocol {
 public:
  explicit Statsd(const StatsdLimits &limits) : limits_(limits) {}

  void add(std::string_view datagram) override {
    while (!datagram.empty()) {
      std::string_view text = core::cut_at(datagram, '\n');
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (!text.empty()) add_line(text);
    }
  }

  std::optional<DatagramWindow> take(int64_t from_ns, int64_t to_ns) override {
    if (window_.empty()) return std::nullopt;
    auto window = std::make_shared<Window>(std::move(window_));
    window_.clear();
    bytes_ = members_ = 0;
    remember_gauges(*window);
    return DatagramWindow{std::exchange(values_, 0), [window, from_ns, to_ns](const Rules &rules, RecordReceiver &receiver) {
                            return WindowReader(*window, from_ns, to_ns).read(rules, receiver);
                          }};
  }

  Refusals refused() override { return std::exchange(refused_, {}); }

 private:
  void add_line(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      ++refused_[kNoName];
      return;
    }
    const std::string_view name = text.substr(0, colon);
    text.remove_prefix(colon + 1);
    do add_group(name, cut_group(text));
    while (!text.empty());
  }

  void add_group(std::string_view name, const Group &group) {
    const auto type = type_from_name(group.type);
    if (!type) return count_all(group.values, kUnknownType);
    const auto rate = parse_real(group.rate);
    if (!rate || !(*rate > 0) || *rate > 1 || !std::isfinite(1 / *rate)) return count_all(group.values, kWrongRate);
    Value value{.type = *type, .rate = *rate};
    if (!sort_tags(group.tags, tags_) || name.size() + group.tags.size() > kMaxName) return count_all(group.values, kLongName);
    key_.assign(name);
    char before = '\n';
    for (const std::string_view tag : tags_) key_.append(1, std::exchange(before, ',')).append(tag);
    std::string_view values = group.values;
    for (bool more = true; more;) {
      more = value.type != Type::set && values.find(':') != std::string_view::npos;
      value.text = more ? core::cut_at(values, ':') : values;
      count(add_value(value));
    }
  }

  void count_all(std::string_view values, std::string_view reason) {
    refused_[reason] += static_cast<uint64_t>(std::count(values.begin(), values.end(), ':')) + 1;
  }
  void count(std::string_view refusal) {
    if (refusal.empty())
      ++values_;
    else
      ++refused_[refusal];
  }

  // To the series of the current key. The result: the reason of a refusal, or "".
  std::string_view add_value(const Value &value) {
    if (value.text.empty()) return kNoNumber;
    double number = 0;
    if (value.type != Type::set) {
      const auto found = parse_real(value.text);
      if (!found || !std::isfinite(*found)) return kNoNumber;
      number = *found;
    }
    auto at = window_.find(key_);
    if (at == window_.end()) {
      if (window_.size() >= limits_.series || bytes_ + key_.size() > limits_.bytes) return kBeyondLimits;
      bytes_ += key_.size();
      at = window_.try_emplace(key_).first;
      at->second.type = value.type;
      if (const auto before = gauges_.find(key_); value.type == Type::gauge && before != gauges_.end())
        at->second.value = before->second;
    }
    Series &series = at->second;
    if (series.type != value.type) return kOtherType;
    if (value.type == Type::set) return add_member(series, value.text) ? std::string_view{} : kBeyondLimits;
    return add_number(series, value, number) ? std::string_view{} : kNoNumber;
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
  std::string key_;                     // of the current values: the name and its tags
  std::vector<std::string_view> tags_;  // of the current values
  size_t bytes_ = 0, members_ = 0;
  uint64_t values_ = 0;
  Refusals refused_;
};

}  // namespace

std::unique_ptr<DatagramProtocol> make_statsd(const StatsdLimits &limits) {
  return std::make_unique<Statsd>(limits);
}

}  // namespace atalaya::protocols
