// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/wire.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "core/base/sample/batch.h"

namespace atalaya::core {
namespace {

void write_parameter(const Parameter &parameter, Writer &to) {
  to.text(parameter.key).number(parameter.type).number(parameter.i64).number(parameter.f64).text(parameter.text);
  to.number(static_cast<uint32_t>(parameter.children.size()));
  for (const Parameter &child : parameter.children) write_parameter(child, to);
}

Parameter read_parameter(Reader &from, int depth) {
  static constexpr int kDeepest = 64;
  Parameter parameter;
  parameter.key = from.text();
  parameter.type = from.number<uint32_t>();
  parameter.i64 = from.number<int64_t>();
  parameter.f64 = from.number<double>();
  parameter.text = from.text();
  const auto count = from.number<uint32_t>();
  for (uint32_t i = 0; i < count && from.ok() && depth < kDeepest; ++i)
    parameter.children.push_back(read_parameter(from, depth + 1));
  return parameter;
}

constexpr std::array kRowNumbers = {
    &atalaya_ledger_row::in,     &atalaya_ledger_row::created,     &atalaya_ledger_row::out,    &atalaya_ledger_row::dropped,
    &atalaya_ledger_row::merged, &atalaya_ledger_row::dead_letter, &atalaya_ledger_row::queued, &atalaya_ledger_row::queued_bytes,
    &atalaya_ledger_row::gaps,   &atalaya_ledger_row::errors,      &atalaya_ledger_row::busy_ns};

}  // namespace

std::string encode_order(const Order &order) {
  Writer to;
  to.text(order.path).number(order.kind).text(order.name).text(order.label);
  const Parameter *root = order.parameters.find("");
  write_parameter(root == nullptr ? Parameter{} : *root, to);
  return to.bytes();
}

std::optional<Order> decode_order(std::string_view bytes) {
  Reader from(bytes);
  Order order;
  order.path = from.text();
  order.kind = from.number<uint32_t>();
  order.name = from.text();
  order.label = from.text();
  order.parameters = Parameters(read_parameter(from, 0));
  if (!from.ok()) return std::nullopt;
  return order;
}

void write_metric(const atalaya_metric_info &info, Writer &to) {
  to.number(info.kind).number(info.decimals).text(view_of(info.unit)).text(view_of(info.summary)).text(view_of(info.source));
}

atalaya_metric_info read_metric(Reader &from) {
  atalaya_metric_info info{};
  info.struct_size = sizeof(info);
  info.kind = from.number<uint32_t>();
  info.decimals = from.number<int32_t>();
  for (atalaya_str atalaya_metric_info::*member :
       {&atalaya_metric_info::unit, &atalaya_metric_info::summary, &atalaya_metric_info::source}) {
    const std::string_view text = from.text();
    info.*member = {text.data(), text.size()};
  }
  return info;
}

void write_row(const atalaya_ledger_row &row, Writer &to) {
  to.number(row.type).text(view_of(row.pipeline)).text(view_of(row.component)).text(view_of(row.reason));
  for (const auto member : kRowNumbers) to.number(row.*member);
}

atalaya_ledger_row read_row(Reader &from) {
  const auto text = [&from]() -> atalaya_str {
    const std::string_view view = from.text();
    return {view.data(), view.size()};
  };
  atalaya_ledger_row row{};
  row.type = from.number<uint32_t>();
  row.pipeline = text();
  row.component = text();
  row.reason = text();
  for (const auto member : kRowNumbers) row.*member = from.number<int64_t>();
  return row;
}

bool send_message(int socket, std::string_view bytes, int flags) {
  for (;;) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), flags | MSG_NOSIGNAL);
    if (sent >= 0 || errno != EINTR) return sent == static_cast<ssize_t>(bytes.size());
  }
}

std::optional<std::string> receive_message(int socket, int flags) {
  std::string bytes(kMaxMessage, '\0');
  for (;;) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), flags);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    bytes.resize(static_cast<size_t>(got));
    return bytes;
  }
}

}  // namespace atalaya::core
