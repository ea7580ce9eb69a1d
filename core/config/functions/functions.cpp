// SPDX-License-Identifier: Apache-2.0
#include "core/config/functions/functions.h"

#include <mutex>
#include <utility>

#include "core/config/functions/sample_view.h"
#include "core/config/lua/lua_functions.h"
#include "core/config/lua/lua_read.h"

namespace atalaya::core {
namespace {

class LuaFunctions final : public FunctionHost {
 public:
  LuaFunctions(std::unique_ptr<LuaState> state, std::vector<int> functions, Symbols &symbols)
      : state_(std::move(state)), functions_(std::move(functions)), views_(*state_, symbols) {}

  Result apply(int function, Batch &batch, bool pass_failed) override {
    const std::lock_guard lock(mutex_);
    Result result;
    atalaya_batch &raw = batch.raw();
    const int reference = functions_.at(static_cast<size_t>(function) - 1);
    const auto samples = static_cast<int64_t>(raw.count);
    state_->start_limit(LuaLimits::kBatch_ns + samples * LuaLimits::kSample_ns);
    views_.start(batch);
    // If the time limit is exceeded, the remaining samples fail too.
    while (views_.has_next() && !state_->timed_out()) {
      const bool returned = views_.run(reference);
      if (!result.error.empty()) continue;
      if (views_.wrong_type() != nullptr)  // its sample precedes the error's
        result.error = wrong_type_error(reference, views_.wrong_type());
      else if (!returned)
        result.error = text_of(state_->failure());
    }
    state_->end_limit();
    apply_verdicts(raw, pass_failed, result);
    return result;
  }

 private:
  using Verdict = SampleViews::Verdict;

  void apply_verdicts(atalaya_batch &raw, bool pass_failed, Result &result) const {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < raw.count; ++i) {
      const Verdict verdict = views_.verdict(i);
      if (verdict == Verdict::dropped) ++result.dropped;
      if (verdict == Verdict::failed) ++result.failed;
      if (verdict == Verdict::dropped || (verdict == Verdict::failed && !pass_failed)) continue;
      if (kept != i) raw.samples[kept] = raw.samples[i];
      ++kept;
    }
    raw.count = kept;
  }

  std::string wrong_type_error(int reference, const char *type) {
    lua_Debug info{};
    lua_rawgeti(state_->raw(), LUA_REGISTRYINDEX, reference);
    lua_getinfo(state_->raw(), ">S", &info);
    return text_of({location_of(info, info.linedefined),
                    std::string("the function returned a ") + type + "; return the sample to keep it, nil to drop it"});
  }

  static std::string text_of(const LuaState::Failure &failure) {
    if (failure.where.line == 0) return failure.text;
    return prefix_of(failure.where) + failure.text;
  }

  std::mutex mutex_;
  std::unique_ptr<LuaState> state_;
  std::vector<int> functions_;
  SampleViews views_;
};

}  // namespace

std::shared_ptr<FunctionHost> make_function_host(std::unique_ptr<LuaState> state, std::vector<int> functions, Symbols &symbols) {
  return std::make_shared<LuaFunctions>(std::move(state), std::move(functions), symbols);
}

}  // namespace atalaya::core
