// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/collectd/collectd.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace atalaya::protocols {
namespace {

// Types of parts.
constexpr uint16_t kHost = 0x0000, kTimeSeconds = 0x0001, kPlugin = 0x0002, kPluginInstance = 0x0003, kType = 0x0004,
                   kTypeInstance = 0x0005, kValues = 0x0006, kIntervalSeconds = 0x0007, kTimeFine = 0x0008, kIntervalFine = 0x0009,
                   kSigned = 0x0200, kEncrypted = 0x0210;
// Types of values; 0 is a counter.
constexpr uint8_t kGaugeValue = 1, kDerive = 2, kAbsolute = 3;

constexpr size_t kHeader = 4;  // type and length of a part, both 16 bits
constexpr size_t kMaxText = 256;
constexpr std::string_view kBeyondLimits = "datagrams beyond the limit of a window";
constexpr int64_t kSecondNs = 1'000'000'000;

template <class Integer>
Integer big_endian(std::string_view bytes) {
  Integer value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) value = static_cast<Integer>(value << 8 | static_cast<uint8_t>(bytes[i]));
  return value;
}

// Gauges are the only little-endian numbers.
double little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return std::bit_cast<double>(value);
}

// A time in 2^-30 seconds.
int64_t fine_ns(uint64_t value) {
  constexpr int kFraction = 30;
  constexpr uint64_t kMask = (uint64_t{1} << kFraction) - 1;
  const uint64_t seconds = value >> kFraction;
  if (seconds > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / kSecondNs - 1)) return 0;
  const uint64_t nanos = ((value & kMask) * static_cast<uint64_t>(kSecondNs)) >> kFraction;
  return static_cast<int64_t>(seconds) * kSecondNs + static_cast<int64_t>(nanos);
}

int64_t seconds_ns(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / kSecondNs)) return 0;
  return static_cast<int64_t>(value) * kSecondNs;
}

struct NamedType {
  std::string_view type;
  std::array<std::string_view, 5> values;  // "" behind the last one
};

// The types of collectd 5.12's types.db with several values.
constexpr std::array kNamedTypes = std::to_array<NamedType>({
    {"arc_counts", {"demand_data", "demand_metadata", "prefetch_data", "prefetch_metadata"}},
    {"arc_l2_bytes", {"read", "write"}},
    {"arc_size", {"current", "target", "minlimit", "maxlimit"}},
    {"compression", {"uncompressed", "compressed"}},
    {"df", {"used", "free"}},
    {"disk_io_time", {"io_time", "weighted_io_time"}},
    {"disk_latency", {"read", "write"}},
    {"disk_merged", {"read", "write"}},
    {"disk_octets", {"read", "write"}},
    {"disk_ops", {"read", "write"}},
    {"disk_time", {"read", "write"}},
    {"dns_octets", {"queries", "responses"}},
    {"domain_state", {"state", "reason"}},
    {"ib_octets", {"rx", "tx"}},
    {"ib_packets", {"rx", "tx"}},
    {"if_dropped", {"rx", "tx"}},
    {"if_errors", {"rx", "tx"}},
    {"if_octets", {"rx", "tx"}},
    {"if_packets", {"rx", "tx"}},
    {"io_octets", {"rx", "tx"}},
    {"io_ops", {"read", "write"}},
    {"io_packets", {"rx", "tx"}},
    {"load", {"shortterm", "midterm", "longterm"}},
    {"memcached_octets", {"rx", "tx"}},
    {"mysql_octets", {"rx", "tx"}},
    {"mysql_qcache", {"hits", "inserts", "not_cached", "lowmem_prunes", "queries_in_cache"}},
    {"mysql_threads", {"running", "connected", "cached", "created"}},
    {"node_octets", {"rx", "tx"}},
    {"ps_count", {"processes", "threads"}},
    {"ps_cputime", {"user", "syst"}},
    {"ps_disk_octets", {"read", "write"}},
    {"ps_disk_ops", {"read", "write"}},
    {"ps_pagefaults", {"minflt", "majflt"}},
    {"serial_octets", {"rx", "tx"}},
    {"smart_attribute", {"current", "worst", "threshold", "pretty"}},
    {"vf_bytes", {"vf_rx", "vf_tx"}},
    {"vf_dropped", {"vf_rx", "vf_tx"}},
    {"vf_packets", {"vf_rx", "vf_tx"}},
    {"vmpage_faults", {"minflt", "majflt"}},
    {"vmpage_io", {"in", "out"}},
    {"voltage_threshold", {"value", "threshold"}},
});

// "" for a type that is not known, or has another number of values here.
std::string_view name_of_value(std::string_view type, size_t index, size_t count) {
  const auto at = std::lower_bound(kNamedTypes.begin(), kNamedTypes.end(), type,
                                   [](const NamedType &known, std::string_view wanted) { return known.type < wanted; });
  if (at == kNamedTypes.end() || at->type != type) return {};
  const auto named = std::find(at->values.begin(), at->values.end(), std::string_view{}) - at->values.begin();
  return static_cast<size_t>(named) == count ? at->values.at(index) : std::string_view{};
}

// Calls use(type, payload) for each part. False: a part does not fit, or a text has no end.
template <class Use>
bool each_part(std::string_view datagram, Use &&use) {
  while (!datagram.empty()) {
    if (datagram.size() < kHeader) return false;
    const auto type = big_endian<uint16_t>(datagram);
    const auto length = big_endian<uint16_t>(datagram.substr(2));
    if (length < kHeader || length > datagram.size()) return false;
    if (!use(type, datagram.substr(kHeader, length - kHeader))) return false;
    datagram.remove_prefix(length);
  }
  return true;
}

// The state that parts set for the values behind them.
struct Meaning {
  std::string host, plugin, plugin_instance, type, type_instance;
  int64_t time_ns = 0, interval_ns = 0;
};

class PartReader {
 public:
  PartReader(const Rules &rules, RecordReceiver &receiver) : rules_(rules), receiver_(receiver) {}

  void read(std::string_view datagram) {
    meaning_ = Meaning{};
    if (!each_part(datagram, [this](uint16_t type, std::string_view payload) { return part(type, payload); }))
      refuse_value("the datagram is malformed");
  }
  Account account() { return std::move(account_); }

 private:
  bool part(uint16_t type, std::string_view payload) {
    switch (type) {
      case kHost:
        return text(payload, meaning_.host);
      case kPlugin:
        return text(payload, meaning_.plugin);
      case kPluginInstance:
        return text(payload, meaning_.plugin_instance);
      case kType:
        return text(payload, meaning_.type);
      case kTypeInstance:
        return text(payload, meaning_.type_instance);
      case kTimeSeconds:
        return number(payload, meaning_.time_ns, seconds_ns);
      case kTimeFine:
        return number(payload, meaning_.time_ns, fine_ns);
      case kIntervalSeconds:
        return number(payload, meaning_.interval_ns, seconds_ns);
      case kIntervalFine:
        return number(payload, meaning_.interval_ns, fine_ns);
      case kValues:
        return values(payload);
      case kEncrypted:
        return false;
      default:
        return type != kSigned;  // others, such as notifications, are no metrics
    }
  }

  static bool text(std::string_view payload, std::string &out) {
    if (payload.empty() || payload.back() != '\0' || payload.size() > kMaxText) return false;
    out = payload.substr(0, payload.find('\0'));
    return true;
  }

  static bool number(std::string_view payload, int64_t &out, int64_t (*convert)(uint64_t)) {
    if (payload.size() != sizeof(uint64_t)) return false;
    out = convert(big_endian<uint64_t>(payload));
    return true;
  }

  // A list of values that is malformed leaves those behind it as they are: its length is known.
  bool values(std::string_view payload) {
    if (payload.size() < 2) return refuse_values(1, "the list of values is malformed");
    const size_t count = big_endian<uint16_t>(payload);
    payload.remove_prefix(2);
    if (count == 0 || payload.size() != count * 9)
      return refuse_values(std::max<size_t>(payload.size() / 9, 1), "the list of values is malformed");
    if (meaning_.plugin.empty() || meaning_.type.empty()) return refuse_values(count, "the values have no plugin or type");
    if (meaning_.time_ns <= 0) return refuse_values(count, "the values have no time");
    for (size_t i = 0; i < count; ++i) value(static_cast<uint8_t>(payload[i]), payload.substr(count + i * 8, 8), i, count);
    return true;
  }

  bool refuse_values(size_t count, std::string_view why) {
    for (size_t i = 0; i < count; ++i) refuse_value(why);
    return true;
  }

  void value(uint8_t type, std::string_view bytes, size_t index, size_t count) {
    RecordField field;
    uint32_t kind = ATALAYA_TOTAL;
    if (type == kGaugeValue) {
      kind = ATALAYA_GAUGE;
      field.f64 = little_endian(bytes);
      if (std::isnan(field.f64)) return;  // collectd's way to write an absent value
      if (std::isinf(field.f64)) return refuse_value("the value is infinite");
    } else {
      if (type > kAbsolute) return refuse_value("the value has an unknown type");
      if (type == kAbsolute) kind = ATALAYA_DELTA;
      const auto number = big_endian<uint64_t>(bytes);
      if (type == kDerive || number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        field.type = ATALAYA_I64;
        field.i64 = std::bit_cast<int64_t>(number);
      } else {
        field.f64 = static_cast<double>(number);
      }
    }
    std::string name = meaning_.plugin + "." + meaning_.type;
    if (const std::string_view known = name_of_value(meaning_.type, index, count); !known.empty())
      name.append(1, '.').append(known);
    else if (count > 1)
      name += "." + std::to_string(index);
    field.name = name;
    if (!declare(name, kind)) return refuse_value(kOtherKind);
    take(field, kind);
  }

  bool declare(std::string_view name, uint32_t kind) {
    static constexpr std::string_view kNoUnit = "1";
    return receiver_.declare(name, {.struct_size = sizeof(atalaya_metric_info),
                                    .kind = kind,
                                    .decimals = kind == ATALAYA_GAUGE ? 6 : -1,
                                    .unit = {kNoUnit.data(), kNoUnit.size()}});
  }

  void take(const RecordField &field, uint32_t kind) {
    Record record;
    record.point = true;
    record.time_ns = meaning_.time_ns;
    if (kind != ATALAYA_TOTAL) record.duration_ns = meaning_.interval_ns;
    const auto add_tag = [&](std::string_view key, const std::string &value) {
      if (!value.empty()) record.tags.push_back({key, value});
    };
    add_tag("host", meaning_.host);
    add_tag("instance", meaning_.plugin_instance);
    add_tag("type_instance", meaning_.type_instance);
    record.fields.push_back(field);
    if (receiver_.take(record))
      ++account_.good;
    else
      refuse_value(kTooManyNames);
  }

  void refuse_value(std::string_view why) {
    refuse(account_, rules_, [&](std::string &out) { append_numbered(out, "value", account_.failed, why); });
  }

  const Rules &rules_;
  RecordReceiver &receiver_;
  Meaning meaning_;
  Account account_;
};

class Collectd final : public DatagramProtocol {
 public:
  explicit Collectd(size_t max_bytes) : max_bytes_(max_bytes) {}

  void add(std::string_view datagram) override {
    if (datagram.empty()) return;
    if (bytes_ + datagram.size() > max_bytes_) {
      ++refused_[kBeyondLimits];
      return;
    }
    bytes_ += datagram.size();
    datagrams_.emplace_back(datagram);
  }

  std::optional<DatagramWindow> take(int64_t /*from_ns*/, int64_t /*to_ns*/) override {
    if (datagrams_.empty()) return std::nullopt;
    bytes_ = 0;
    auto datagrams = std::make_shared<std::vector<std::string>>(std::exchange(datagrams_, {}));
    return DatagramWindow{datagrams->size(), [datagrams](const Rules &rules, RecordReceiver &receiver) {
                            PartReader reader(rules, receiver);
                            for (const std::string &datagram : *datagrams) reader.read(datagram);
                            return reader.account();
                          }};
  }

  Refusals refused() override { return std::exchange(refused_, {}); }

 private:
  const size_t max_bytes_;
  std::vector<std::string> datagrams_;
  size_t bytes_ = 0;
  Refusals refused_;
};

}  // namespace

std::unique_ptr<DatagramProtocol> make_collectd(size_t max_bytes) {
  return std::make_unique<Collectd>(max_bytes);
}

}  // namespace atalaya::protocols
