// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/child_requests.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace atalaya::core {
namespace {

constexpr uint32_t kMaxNames = uint32_t{1} << 16;
constexpr uint32_t kMaxMetrics = uint32_t{1} << 13;

}  // namespace

bool ChildRequests::serve(int socket) {
  const auto message = receive_message(socket, MSG_DONTWAIT);
  if (!message) return errno == EAGAIN;
  Reader reader(*message);
  const auto request = reader.number<uint8_t>();
  if (request == static_cast<uint8_t>(Request::answered)) return true;
  return send_message(socket, reply(request, reader));
}

std::string ChildRequests::reply(uint8_t request, Reader &reader) {
  Writer answer;
  switch (static_cast<Request>(request)) {
    case Request::log: {
      const auto level = std::clamp(reader.number<int32_t>(), ATALAYA_LOG_ERROR, ATALAYA_LOG_DEBUG);
      surroundings_.log(static_cast<LogLevel>(level), reader.text());
      break;
    }
    case Request::intern: {
      const std::string_view name = reader.text();
      const uint32_t before = symbols_.size();
      const uint32_t id = added_names_ < kMaxNames ? symbols_.intern(name) : 0;
      if (symbols_.size() > before) ++added_names_;
      answer.number(id);
      break;
    }
    case Request::name_of:
      answer.text(symbols_.name(reader.number<uint32_t>()));
      break;
    case Request::state_dir:
      answer.text(surroundings_.state_dir().value_or(""));
      break;
    case Request::ledger: {
      atalaya_ledger_row row{};
      const bool found = surroundings_.ledger(reader.number<uint64_t>(), row);
      answer.number(uint8_t{found});
      if (found) write_row(row, answer);
      break;
    }
    case Request::metric_of: {
      const atalaya_metric_info *info = symbols_.metric(reader.number<uint32_t>());
      answer.number(uint8_t{info != nullptr});
      if (info != nullptr) write_metric(*info, answer);
      break;
    }
    case Request::declare:
      answer.number(declare(reader));
      break;
    case Request::answered:
      break;
  }
  return answer.bytes().empty() ? std::string(1, '\0') : answer.bytes();
}

Catalogue::Outcome ChildRequests::declare(Reader &reader) {
  const std::string_view name = reader.text();
  const atalaya_metric_info info = read_metric(reader);
  if (!reader.ok()) return Catalogue::Outcome::invalid;
  if (added_metrics_ >= kMaxMetrics) return Catalogue::Outcome::full;
  const Catalogue::Outcome outcome = symbols_.declare(name, info, label_);
  if (outcome == Catalogue::Outcome::added) ++added_metrics_;
  return outcome;
}

}  // namespace atalaya::core
