// SPDX-License-Identifier: Apache-2.0
// The status socket of a running agent: a Unix socket in the runtime folder. A client sends one line, then reads the response
// until the connection closes. "json" and "table" return the ledger; "doctor" returns the features of the host, examined with the
// agent's privileges.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/base/status_socket.h"
#include "core/control/slow_answers.h"
#include "core/ledger/ledger.h"

namespace atalaya::core {

struct AgentFacts {
  std::string version, file;
  int pid = 0;
  int launcher = 0;  // pid of the process that starts isolated components; 0: none
  double uptime_s = 0;
};

std::string status_json(const AgentFacts &facts, const std::vector<LedgerRow> &rows);
std::string status_table(const AgentFacts &facts, const std::vector<LedgerRow> &rows);

// Answers status requests on a separate thread, one client at a time, with a time limit for each.
class StatusServer {
 public:
  using Answer = std::function<std::string(bool json)>;
  // Fails if another running agent has the socket. `doctor` is slow; it does not delay other requests.
  static Result<std::unique_ptr<StatusServer>> listen(const std::string &path, Answer answer, SlowAnswers::Make doctor);
  StatusServer(const StatusServer &) = delete;
  StatusServer &operator=(const StatusServer &) = delete;
  ~StatusServer();

 private:
  StatusServer(std::string path, Descriptor socket, Descriptor stop_read, Descriptor stop_write, Answer answer,
               SlowAnswers::Make doctor);
  void serve();
  void answer(Descriptor client);

  std::string path_;
  Descriptor socket_, stop_read_, stop_write_;
  Answer answer_;
  SlowAnswers doctor_;
  std::thread thread_;
};

}  // namespace atalaya::core
