// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/conntrack.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/text/text.h"

namespace atalaya::graph {
namespace {

// "ipv4 2 tcp 6 431999 ESTABLISHED src=10.0.0.5 dst=10.96.0.1 sport=51000 dport=443 src=10.0.0.9 dst=10.0.0.5 sport=6443
// dport=51000 ..." The second four are those of the answers.
struct Tuple {
  std::string src, dst, dport, sport;
};

std::optional<std::string_view> value_of(std::string_view word, std::string_view key) {
  if (word.size() <= key.size() + 1 || !word.starts_with(key) || word[key.size()] != '=') return std::nullopt;
  return word.substr(key.size() + 1);
}

// Converts an address to the notation of flows: the kernel's table has IPv6 addresses with all digits.
std::string address_of(std::string_view text) {
  std::string own(text);
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> shortest{};
  if (::inet_pton(AF_INET6, own.c_str(), &address) != 1) return own;
  return ::inet_ntop(AF_INET6, &address, shortest.data(), shortest.size());
}

class Line {
 public:
  explicit Line(std::string_view text) {
    while (!text.empty()) take(core::cut_at(text, ' '));
  }

  // A connection of any protocol, with both directions.
  bool is_connection() const { return tuples_.size() == 2 && !tuples_[0].dst.empty() && !tuples_[1].dst.empty(); }

  std::optional<std::pair<Service, Service>> translation() const {
    if (protocol_.empty() || tuples_.size() != 2 || tuples_[0].dport.empty() || tuples_[1].sport.empty()) return std::nullopt;
    const Service seen{protocol_, tuples_[0].src, tuples_[0].dst, tuples_[0].dport};
    const Service real{protocol_, tuples_[1].dst, tuples_[1].src, tuples_[1].sport};
    return std::pair(seen, real);
  }

 private:
  void take(std::string_view word) {
    if (word == "tcp" || word == "udp") protocol_ = word;
    if (const auto src = value_of(word, "src")) tuples_.push_back({address_of(*src), "", "", ""});
    if (tuples_.empty()) return;
    if (const auto dst = value_of(word, "dst")) tuples_.back().dst = address_of(*dst);
    if (const auto sport = value_of(word, "sport")) tuples_.back().sport = *sport;
    if (const auto dport = value_of(word, "dport")) tuples_.back().dport = *dport;
  }

  std::string protocol_;
  std::vector<Tuple> tuples_;
};

}  // namespace

void add_translation(const Service &seen, const Service &real, Translations &translations) {
  if (seen == real) return;
  const auto [begin, end] = translations.equal_range(seen);
  if (std::none_of(begin, end, [&](const auto &other) { return other.second == real; })) translations.emplace(seen, real);
}

size_t add_translations(std::string_view text, Translations &translations) {
  size_t connections = 0;
  while (!text.empty()) {
    const Line line(core::cut_at(text, '\n'));
    connections += line.is_connection() ? 1 : 0;
    if (const auto one = line.translation()) add_translation(one->first, one->second, translations);
  }
  return connections;
}

}  // namespace atalaya::graph
