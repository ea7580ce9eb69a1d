// SPDX-License-Identifier: Apache-2.0
// The HTTP API over one store. One object per thread.
#pragma once

#include <atalaya/plugin.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/analysis/experiments/experiment_log.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

class Api {
 public:
  Api(Host host, std::vector<std::string> stores, std::string status_socket, const query::Limits &limits)
      : host_(host), stores_(std::move(stores)), status_socket_(std::move(status_socket)), limits_(limits) {}

  // Answers a request; a failure is an answer with an error status and the reason.
  Answer answer(const Request &request);
  // Whether the request changes stored data.
  static bool writes(const Request &request);
  // Returns the next part of a large answer, which another object may have started. Throws if the part cannot be produced.
  std::string next_part(AnswerRest &rest);
  // Returns the answer to a message of the Model Context Protocol; "" if it needs none. `cancelled` as in Request.
  std::string message(std::string_view text, const std::atomic<bool> *cancelled = nullptr);

 private:
  Answer route(const Request &request);
  Answer page(const Request &request);
  Answer mcp(const Request &request);
  Answer pprof(const Request &request);
  Answer opentsdb(const Request &request);
  Answer prometheus(const Request &request);
  Answer stacks(const Request &request);
  Answer experiments(const Request &request);

  // The log of experiments of the store. Throws Wrong if several stores are read.
  experiments::ExperimentLog log() const;
  Answer success(const std::string &data);  // an answer in Prometheus' format, with a warning if parts of the store are damaged
  Answer query(const Request &request);
  Answer metrics();
  Answer suggest(const Request &request);
  Answer lookup(const Request &request);
  Answer query_range(const Request &request);
  Answer instant(const Request &request);
  using Texts = std::set<std::string>;
  using AddTexts = std::function<void(const store::Series &, Texts &)>;
  std::optional<Texts> matched(const Request &request, const AddTexts &add);
  Answer labels(const Request &request);
  Answer label_values(const Request &request, const std::string &label);
  Answer series(const Request &request);
  Answer metadata();
  Answer list_experiments(const Request &request, bool workloads, const std::string &name);
  Answer put_experiments(const Request &request);

  // The store; opened by the first request, and again after a failure.
  store::Store &store();

  Host host_;
  const std::vector<std::string> stores_;
  const std::string status_socket_;
  query::Limits limits_;  // also has the flag that is set when the client of the current request has left
  std::unique_ptr<store::Store> store_;
};

}  // namespace atalaya::serve
