// SPDX-License-Identifier: Apache-2.0
// The protocol of requests to running recorders: one datagram to the socket recorder-NAME.sock in the runtime folder, and one
// datagram back with the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::recorder {

struct Request {
  std::optional<int64_t> last_ns;
  bool is_user = false;
  std::string cause;
};
struct Answer {
  int64_t from_ns = 0, until_ns = 0;  // range of the recording; both 0: the request was ignored
};

inline constexpr size_t kMaxRequest = 1024;
std::string request_text(const Request &request);
std::optional<Request> parse_request(std::string_view text);
std::string answer_text(const Answer &answer);
std::optional<Answer> parse_answer(std::string_view text);

// The server side in the agent. It never blocks.
class TriggerServer {
 public:
  // Returns an error if another process serves this socket.
  core::Status open(const std::string &path);
  void close();
  ~TriggerServer() { close(); }
  TriggerServer() = default;
  TriggerServer(const TriggerServer &) = delete;
  TriggerServer &operator=(const TriggerServer &) = delete;
  // Answers waiting requests with the result of `take`, at most 100 per call.
  void serve(const std::function<Answer(const Request &)> &take) const;

 private:
  std::string path_;
  core::Descriptor socket_;
};

struct RecorderSocket {
  std::string name, path;
};
std::vector<RecorderSocket> find_recorders(const std::string &folder);
std::string socket_path(const std::string &folder, const std::string &name);

// Sends a request and waits for the answer. `timeout_ms` 0: returns an empty answer without waiting.
core::Result<Answer> send_request(const std::string &path, const Request &request, int timeout_ms);

}  // namespace atalaya::recorder
