// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/io/compress/decoder.h"
#include "plugins/shared/protocols/opentsdb/json_reader.h"
#include "plugins/sources/receive/datagrams.h"
#include "plugins/sources/receive/senders.h"

struct MHD_Connection;

namespace atalaya::receive {

struct Answer {
  unsigned status = 0;
  std::string body;     // JSON; empty for 204
  int retry_after = 0;  // seconds; 0: no header
  const char *content_type = "application/json; charset=UTF-8";
};

enum class Form : uint8_t { put, stacks, lines, flat, influx, otlp };

// A sender's request, and the connection that waits for the answer. After `wait`, any thread may call `answer`; the first answer is
// sent, later ones are ignored.
class Request {
 public:
  SenderPtr sender;
  Form form = Form::put;
  bool summary = false, details = false;
  bool json = false;    // the body of OTLP is JSON, not protobuf
  int64_t unit_ns = 1;  // unit of timestamps in the line protocol
  std::optional<int64_t> sync_timeout_ms;
  io::Encoding encoding = io::Encoding::identity;
  std::string body;
  std::optional<protocols::DatagramWindow> datagrams;  // instead of a body

  // Registers the suspended connection, which `answer` resumes. Called on the connection's thread.
  void wait(MHD_Connection *connection);
  void answer(Answer answer);
  std::optional<Answer> answered();

 private:
  std::mutex mutex_;
  MHD_Connection *connection_ = nullptr;  // set while it is suspended
  std::optional<Answer> answer_;
};

// An error in OpenTSDB's format: {"error":{"code":...,"message":...,"details":...}}. Empty details are omitted.
Answer error_answer(unsigned status, std::string_view message, std::string_view details = {});
Answer throttle(std::string_view why, int retry_after = 1);  // status 429: the sender must wait
Answer unavailable(std::string_view why);                    // 503: not stored, send again

// The answer to a parsed body after its valid points are stored.
Answer answer_for(const Request &request, const protocols::Account &account);
// The answer when `sync_timeout` expires: it is unknown whether the valid points are stored.
Answer timeout_answer(const Request &request, const protocols::Account &account);

}  // namespace atalaya::receive
