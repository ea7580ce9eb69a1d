// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/wire/row_stream.h"

#include "plugins/shared/store/clickhouse/wire/client.h"
#include "plugins/shared/store/error.h"

namespace atalaya::store::clickhouse {
namespace {

constexpr size_t kMaxRowLength = size_t{64} << 20;

}  // namespace

RowStream::RowStream(const std::vector<Type> &types, const RowVisitor &visitor) : visitor_(visitor) {
  types_.reserve(types.size() + 1);
  types_.push_back(Type::u8);
  types_.insert(types_.end(), types.begin(), types.end());
}

bool RowStream::take(std::string_view piece) {
  buffer_ += piece;
  std::string_view rest = buffer_;
  const bool go_on = read(rest);
  buffer_.erase(0, buffer_.size() - rest.size());
  return go_on;
}

void RowStream::finish(const std::string &name) const {
  if (problem_) std::rethrow_exception(problem_);
  if (visitor_is_done_ || (is_complete_ && buffer_.empty())) return;
  throw Error(Cause::retry, name + (is_complete_ ? ": the answer goes on after its last row"
                                                 : ": the answer ended early: " + describe_received()));
}

std::string RowStream::describe_received() const {
  if (*wrong_ != 0) return wrong_;
  return buffer_.empty() ? "nothing more came" : refusal_of(buffer_).server_message;
}

bool RowStream::read(std::string_view &rest) {
  while (!rest.empty()) {
    if (is_complete_ || static_cast<unsigned char>(rest.front()) > 1) return false;  // no row: the server's words
    const Parsed parsed = parse_row(rest, types_, row_);
    if (parsed == Parsed::incomplete && rest.size() <= kMaxRowLength) return true;
    if (parsed != Parsed::row) {
      wrong_ = parsed == Parsed::damaged ? "a row holds more than atalaya ever writes" : "a row is longer than 64 MiB";
      return false;
    }
    is_complete_ = row_.front().bits == 1;
    if (!is_complete_ && !visit()) return false;
  }
  return true;
}

// Exceptions of a visitor must not pass through the connection's code.
bool RowStream::visit() {
  try {
    visitor_is_done_ = !visitor_(row_);
  } catch (...) {
    problem_ = std::current_exception();
  }
  return !visitor_is_done_ && !problem_;
}

}  // namespace atalaya::store::clickhouse
