// SPDX-License-Identifier: Apache-2.0
// Common code of commands that read a store: their parameters, the store and time range that the parameters name, and error
// handling.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/command_line/params.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::command_line {

// The unparsed values of kWindowParams and kStoreParams; empty if a command lacks the parameter.
struct ReadOptions {
  std::vector<std::string> stores;  // empty: the default
  std::string from, to, experiment, workload;
  query::Limits limits;
};
// Returns the value of a parameter; "" if it is not set.
std::string text_of(Host host, std::string_view name);
// Reads the parameters of a command. Throws Failure.
ReadOptions read_options(Host host);
// Returns the store of a command that also writes. Throws Wrong if several are set.
std::string one_store(const ReadOptions &options);
// Returns the path of the embedded store in --store, or the default path. Throws Wrong for a store of another engine.
std::string sqlite_path(const ReadOptions &options);

// An open store, the time range of the query, and the limits of its cost.
struct Reading {
  // Throws Wrong, and store::Error.
  explicit Reading(const ReadOptions &options);
  Reading(const Reading &) = delete;
  Reading &operator=(const Reading &) = delete;
  ~Reading();  // prints a warning if the query skipped damaged parts of the store

  std::unique_ptr<store::Store> store;
  int64_t now_ns = 0;
  query::Range range;  // (from, to], or the range of the experiment
  query::Budget budget;
};

// The parsed kQuestionParams, without the time range.
struct Question {
  query::Query query;  // the query without its metrics and its range
  std::vector<std::string> metrics;
  std::string formula;
  size_t top = 0;
  bool total = false;  // print the amounts of the range instead of points
};
// Reads kQuestionParams, except the time range. Throws Failure.
Question read_question(Host host);
// Parses the parameter `tag`. Throws Failure.
std::vector<store::TagFilter> read_tags(Host host);
// Runs the query. Returns the answers of each metric, or the results of the formula.
std::vector<query::Answer> run_query(const Question &question, Reading &reading);

// The advice after exceeded limits for commands without --metric and --every, which kAskForLess names.
inline constexpr const char *kAskForLessTime =
    "; narrow the query with --tag or a shorter time range, or raise --max-points and --timeout";
// Returns a message of TooMuch with this advice instead of its own.
std::string advised(std::string message, std::string_view advice);

// Calls body and converts its exceptions to Failure, with the message and exit status of a command.
template <class Body>
auto with_failures(Body &&body, const char *advice = query::kAskForLess) {
  try {
    return body();
  } catch (const query::Wrong &wrong) {
    throw Failure(Code::bad_config, wrong.what());
  } catch (const query::TooMuch &much) {
    throw Failure(Code::permanent, advised(much.what(), advice));
  } catch (const store::Error &error) {
    throw Failure(error.cause() == store::Cause::retry ? Code::retry : Code::permanent, error.what());
  }
}

}  // namespace atalaya::command_line
