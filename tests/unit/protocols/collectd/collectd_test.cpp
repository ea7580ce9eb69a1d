// SPDX-License-Identifier: Apache-2.0
// Each rule of collectd's network protocol.
#include "plugins/shared/protocols/collectd/collectd.h"

#include <doctest/doctest.h>

#include <bit>
#include <limits>

#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string part(uint16_t type, const std::string &payload) {
  return big_endian(type, 2) + big_endian(payload.size() + 4, 2) + payload;
}
std::string text(uint16_t type, const std::string &value) {
  return part(type, value + std::string(1, '\0'));
}
std::string number(uint16_t type, uint64_t value) {
  return part(type, big_endian(value, 8));
}

struct Value {
  uint8_t type;
  uint64_t bits;
};
Value counter(uint64_t value) {
  return {0, value};
}
Value gauge(double value) {
  return {1, std::bit_cast<uint64_t>(value)};
}
Value derive(int64_t value) {
  return {2, static_cast<uint64_t>(value)};
}
Value absolute(uint64_t value) {
  return {3, value};
}
std::string values(const std::vector<Value> &list) {
  std::string types, numbers;
  for (const Value &value : list) {
    types += static_cast<char>(value.type);
    std::string bytes = big_endian(value.bits, 8);
    if (value.type == 1) bytes.assign(bytes.rbegin(), bytes.rend());
    numbers += bytes;
  }
  return part(6, big_endian(list.size(), 2) + types + numbers);
}
std::string head(const std::string &plugin, const std::string &type) {
  return text(0, "vm") + number(1, 5) + number(7, 2) + text(2, plugin) + text(4, type);
}

struct Result {
  Records records;
  Account account;
};
Result read(const std::vector<std::string> &datagrams) {
  const auto protocol = make_collectd();
  for (const std::string &datagram : datagrams) protocol->add(datagram);
  Result result;
  if (const auto window = protocol->take(0, 10)) result.account = window->read({.details = true}, result.records);
  return result;
}

}  // namespace

TEST_CASE("collectd: a gauge has the interval as its window, and the tags of its parts") {
  const Result result = read({text(0, "vm") + number(1, 5) + number(7, 2) + text(2, "cpu") + text(3, "0") + text(4, "percent") +
                              text(5, "user") + values({gauge(1.5)})});
  CHECK(result.records.lines == Lines{"cpu.percent{host=vm,instance=0,type_instance=user} 1.5 @5000000000+2000000000"});
  CHECK(result.records.kinds.at("cpu.percent") == ATALAYA_GAUGE);
}

TEST_CASE("collectd: counters and derives are totals, an absolute value is a delta") {
  const Result result = read({head("x", "count") + values({counter(7)}), head("y", "count") + values({derive(-7)}),
                              head("z", "count") + values({absolute(7)}), head("x", "count") + values({counter(UINT64_MAX)})});
  CHECK(result.records.lines == Lines{"x.count{host=vm} 7i @5000000000", "y.count{host=vm} -7i @5000000000",
                                      "z.count{host=vm} 7i @5000000000+2000000000",
                                      "x.count{host=vm} 18446744073709551616 @5000000000"});
  CHECK(result.records.kinds.at("y.count") == ATALAYA_TOTAL);
  CHECK(result.records.kinds.at("z.count") == ATALAYA_DELTA);
}

TEST_CASE("collectd: fine times are in 2^-30 seconds") {
  const std::string fine =
      text(0, "vm") + number(8, (5ULL << 30) + (1ULL << 29)) + number(9, 1ULL << 31) + text(2, "p") + text(4, "t");
  CHECK(read({fine + values({gauge(1)})}).records.lines == Lines{"p.t{host=vm} 1 @5500000000+2000000000"});
}

TEST_CASE("collectd: parts hold for all values behind them in their datagram, and only there") {
  const Result result =
      read({head("a", "count") + values({gauge(1)}) + text(4, "delay") + values({gauge(2)}) + text(0, "other") + values({gauge(3)}),
            text(4, "count") + values({gauge(4)})});
  CHECK(result.records.lines == Lines{"a.count{host=vm} 1 @5000000000+2000000000", "a.delay{host=vm} 2 @5000000000+2000000000",
                                      "a.delay{host=other} 3 @5000000000+2000000000"});
  CHECK(result.account.failed == 1);
  CHECK(result.account.errors.find("the values have no plugin or type") != std::string::npos);
}

TEST_CASE("collectd: the values of types with several have the names of types.db") {
  const std::pair<const char *, Lines> types[] = {
      {"load", {"shortterm", "midterm", "longterm"}},
      {"disk_io_time", {"io_time", "weighted_io_time"}},
      {"disk_octets", {"read", "write"}},
      {"if_octets", {"rx", "tx"}},
      {"df", {"used", "free"}},
      {"io_ops", {"read", "write"}},
      {"dns_octets", {"queries", "responses"}},
      {"vmpage_io", {"in", "out"}},
      {"vmpage_faults", {"minflt", "majflt"}},
      {"ps_cputime", {"user", "syst"}},
      {"smart_attribute", {"current", "worst", "threshold", "pretty"}},
      {"mysql_qcache", {"hits", "inserts", "not_cached", "lowmem_prunes", "queries_in_cache"}},
      {"own_type", {"0", "1"}},
      {"if_new", {"0", "1"}},
  };
  for (const auto &[type, names] : types) {
    std::vector<Value> list;
    Lines expected;
    for (size_t i = 0; i < names.size(); ++i) {
      list.push_back(derive(static_cast<int64_t>(i)));
      expected.push_back(std::string("p.") + type + "." + names[i] + "{host=vm} " + std::to_string(i) + "i @5000000000");
    }
    CHECK(read({head("p", type) + values(list)}).records.lines == expected);
  }
  CHECK(read({head("p", "load") + values({gauge(1), gauge(2)})}).records.lines.at(0) ==
        "p.load.0{host=vm} 1 @5000000000+2000000000");
}

TEST_CASE("collectd: NaN is an absent value, an infinite one is refused") {
  const Result result =
      read({head("p", "load") + values({gauge(std::numeric_limits<double>::quiet_NaN()), gauge(2), gauge(HUGE_VAL)})});
  CHECK(result.records.lines == Lines{"p.load.midterm{host=vm} 2 @5000000000+2000000000"});
  CHECK(result.account.failed == 1);
}

TEST_CASE("collectd: a malformed list of values leaves its neighbours as they are") {
  const std::string good = values({gauge(1)});
  for (const std::string &bad :
       {part(6, ""), part(6, big_endian(0, 2)), part(6, big_endian(2, 2) + std::string(9, '\0')), values({{9, 0}})}) {
    const Result result = read({head("p", "t") + good + bad + good});
    CHECK(result.records.lines.size() == 2);
    CHECK(result.account.failed == 1);
  }
}

TEST_CASE("collectd: a broken part ends its datagram, an unknown one does not") {
  const std::string good = head("p", "t") + values({gauge(1)});
  for (const std::string &bad : {std::string("\0", 1), std::string("\0\x02\0\x03", 4), std::string("\0\x02\0\x09x", 5),
                                 part(2, "x"), part(0x0210, "x"), part(0x0200, "x")}) {
    const Result result = read({good + bad + values({gauge(2)}), good});
    CHECK(result.records.lines.size() == 2);
    CHECK(result.account.failed == 1);
    CHECK(result.account.errors.find("the datagram is malformed") != std::string::npos);
  }
  CHECK(read({head("p", "t") + part(0x0100, "a notification") + values({gauge(1)})}).records.lines.size() == 1);
}

TEST_CASE("collectd: datagrams beyond the limit are counted") {
  const auto protocol = make_collectd(100);
  protocol->add(std::string(60, 'x'));
  protocol->add(std::string(60, 'x'));
  CHECK(protocol->refused() == Refusals{{"datagrams beyond the limit of a window", 1}});
  CHECK(protocol->refused().empty());
}

TEST_CASE("collectd: random datagrams arrive value by value") {
  for (uint32_t seed = 0; seed < test::rounds(2000); ++seed) {
    Random random(seed);
    std::string datagram = head("p", "t");
    Lines expected;
    std::string plugin = "p", type = "t", instance;
    for (uint64_t i = random.between(1, 10); i > 0; --i) {
      if (random.one_of(2)) datagram += text(2, plugin = random.text("abc", 3));
      if (random.one_of(2)) datagram += text(4, type = random.text("xyz", 3));
      if (random.one_of(2)) datagram += text(5, instance = random.one_of(3) ? "" : random.text("é/ ", 3));
      if (random.one_of(4)) datagram += part(0x0101, "x");
      std::vector<Value> list;
      const uint64_t count = random.between(1, 3);
      for (uint64_t k = 0; k < count; ++k) {
        const double value = static_cast<double>(random.below(1U << 20)) / 64;
        list.push_back(gauge(value));
        expected.push_back(plugin + "." + type + (count > 1 ? "." + std::to_string(k) : "") + "{host=vm" +
                           (instance.empty() ? "" : ",type_instance=" + instance) + "} " + real_text(value) +
                           " @5000000000+2000000000");
      }
      datagram += values(list);
    }
    REQUIRE(read({datagram}).records.lines == expected);
    // No mutation harms the datagram behind it.
    datagram[random.below(datagram.size())] = static_cast<char>(random.below(256));
    REQUIRE(read({datagram, head("last", "t") + values({gauge(1)})}).records.lines.back() ==
            "last.t{host=vm} 1 @5000000000+2000000000");
  }
}

TEST_CASE("collectd: a datagram of collectd itself") {
  const Result result = read({fixture("collectd/collectd.bin")});
  CHECK(result.account.failed == 0);
  CHECK(result.account.good == 41);
  const auto has = [&](const std::string &start) {
    return std::any_of(result.records.lines.begin(), result.records.lines.end(),
                       [&](const std::string &line) { return line.starts_with(start); });
  };
  CHECK(has("load.load.shortterm{host=vm} 21.79150390625 "));
  CHECK(has("disk.disk_io_time.io_time{host=vm,instance=vda} 380572i "));
  CHECK(has("disk.disk_io_time.weighted_io_time{host=vm,instance=vda} 3598606i "));
  CHECK(has("interface.if_octets.tx{host=vm,instance=lo} 177259056495i "));
  CHECK(has("processes.ps_state{host=vm,type_instance=running} 20 "));
  CHECK(has("processes.fork_rate{host=vm} 862852i "));
}

}  // namespace atalaya::protocols::testing
