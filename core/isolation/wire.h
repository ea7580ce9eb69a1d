// SPDX-License-Identifier: Apache-2.0
// The messages between the agent (host) and a child process, apart from calls (call.h), and the encoding of a component's
// parameters. Both processes run the same binary on one host: numbers are in its byte order, a text is a u32 size and its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/plugin/describe/parameters.h"

namespace atalaya::core {

// Child to host. The host replies to each request except `answered`, which announces the answer of a call.
enum class Request : uint8_t { log = 1, intern, name_of, state_dir, ledger, answered, metric_of, declare };
// Host to child.
enum class Notice : uint8_t { acked = 1, interrupt };

constexpr size_t kMaxMessage = size_t{16} << 10;

class Writer {
 public:
  template <class T>
  Writer &number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  Writer &text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  const std::string &bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads the output of a Writer. After the end, values are 0 or empty and `ok` is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof(value)) {
      ok_ = false;
      rest_ = {};
      return value;
    }
    rest_.copy(reinterpret_cast<char *>(&value), sizeof(value));
    rest_.remove_prefix(sizeof(value));
    return value;
  }
  std::string_view text() {
    const auto size = number<uint32_t>();
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
    }
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    return text;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// The component that a child creates.
struct Order {
  std::string path;  // path of the plugin's file
  uint32_t kind = 0;
  std::string name, label;
  Parameters parameters;
};
std::string encode_order(const Order &order);
std::optional<Order> decode_order(std::string_view bytes);

// A declared metric without its name. Texts of the result are views of the reader's bytes.
void write_metric(const atalaya_metric_info &info, Writer &to);
atalaya_metric_info read_metric(Reader &from);

void write_row(const atalaya_ledger_row &row, Writer &to);
// Texts of the result are views of the reader's bytes.
atalaya_ledger_row read_row(Reader &from);

// Sends or receives one message. `receive_message` returns nothing at the end of the connection, on an error, or if no message
// waits and the flags contain MSG_DONTWAIT.
bool send_message(int socket, std::string_view bytes, int flags = 0);
std::optional<std::string> receive_message(int socket, int flags = 0);

}  // namespace atalaya::core
