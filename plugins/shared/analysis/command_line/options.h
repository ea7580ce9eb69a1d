// SPDX-License-Identifier: Apache-2.0
// Code that reading commands share: their parameters, the store and time range that these name, and error handling.
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

// kWindowParams and kStoreParams as written, as far as a command has them.
struct ReadOptions {
  std::vector<std::string> stores;  // empty: the default
  std::string from, to, experiment, workload;
  query::Limits limits;
};
// "" for an optional parameter without a value.
std::string text_of(Host host, std::string_view name);
// Throws Failure.
ReadOptions read_options(Host host);
// The store of a command that also writes. Throws Wrong for several.
std::string one_store(const ReadOptions &options);
// The path of the embedded store in --store, or the default path. Throws Wrong for a store of another engine.
std::string sqlite_path(const ReadOptions &options);

// An open store, the time range of the query, and the limits of its cost.
struct Reading {
  // Throws Wrong, and store::Error.
  explicit Reading(const ReadOptions &options);
  Reading(const Reading &) = delete;
  Reading &operator=(const Reading &) = delete;
  ~Reading();  // prints a warning if damaged parts were left out

  std::unique_ptr<store::Store> store;
  int64_t now_ns = 0;
  query::Range range;  // (from, to], or the experiment's time
  query::Budget budget;
};

// kQuestionParams without the time.
struct Question {
  query::Query query;  // without metrics and range
  std::vector<std::string> metrics;
  std::string formula;
  size_t top = 0;
  bool total = false;  // the amounts of the range instead of points
};
// Throws Failure.
Question read_question(Host host);
// --tag. Throws Failure.
std::vector<store::TagFilter> read_tags(Host host);
// All answers by metric, or the results of the formula.
std::vector<query::Answer> run_query(const Question &question, Reading &reading);

// The advice of commands without --metric and --every, in place of kAskForLess.
inline constexpr const char *kAskForLessTime =
    "; narrow the query with --tag or a shorter time range, or raise --max-points and --timeout";
// A message of TooMuch with this advice.
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
