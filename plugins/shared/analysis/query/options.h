// SPDX-License-Identifier: Apache-2.0
// Common parts of the commands that read a store: parameters, the store and the range, and exit statuses.
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/analysis/query/params.h"
#include "plugins/shared/analysis/query/types.h"

namespace atalaya::query {

// kWindowParams and kStoreParams as written, as far as a command has them.
struct ReadOptions {
  std::string store;
  std::string from, to, experiment, workload;
  Limits limits;
};
// Throws Failure.
ReadOptions read_options(Host host);
// The path of an embedded store: --store, else the default. Throws Wrong for a store of another engine.
std::string sqlite_path(const std::string &text);

// An open store, the range of the query, and the limits of the answer.
struct Reading {
  // Throws Wrong, and store::Error.
  explicit Reading(const ReadOptions &options);

  std::unique_ptr<store::Store> store;
  int64_t now_ns = 0;
  Range range;  // (from, to], or the experiment's time
  Budget budget;
};

// kQuestionParams without the time.
struct Question {
  Query query;  // without metrics and range
  std::vector<std::string> metrics;
  std::string formula;
  size_t top = 0;
};
// Throws Failure.
Question read_question(Host host);
// --tag. Throws Failure.
std::vector<store::TagFilter> read_tags(Host host);
// All answers, metric by metric, or the result of the formula.
std::vector<Answer> answers_to(const Question &question, Reading &reading);

// The advice of a command that has neither --metric nor --every, instead of kAskForLess.
inline constexpr const char *kAskForLessTime =
    "; ask for less: more --tag, or a shorter time; or allow more with --max-points and --timeout";
// A message of TooMuch, with this advice.
std::string advised(std::string message, std::string_view advice);

// Calls body, and turns its exceptions into a message and an exit status.
template <class Body>
auto answered(Body &&body, const char *advice = kAskForLess) {
  try {
    return body();
  } catch (const Wrong &wrong) {
    throw Failure(Code::bad_config, wrong.what());
  } catch (const TooMuch &much) {
    throw Failure(Code::permanent, advised(much.what(), advice));
  } catch (const store::Error &error) {
    throw Failure(error.cause() == store::Cause::retry ? Code::retry : Code::permanent, error.what());
  }
}

}  // namespace atalaya::query
