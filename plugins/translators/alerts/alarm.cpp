// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/alarm.h"

namespace atalaya::alerts {

Event Alarm::step(const Rule &rule, bool beyond, bool clear, int64_t time_ns, const Gaps &gaps) {
  if (state == State::firing) {
    if (!clear) {
      calm_ns = 0;
      return Event::none;
    }
    if (calm_ns == 0) calm_ns = time_ns;
    if (gaps.collected(calm_ns, time_ns) < rule.keep_ns) return Event::none;
    state = State::quiet;
    return Event::closed;
  }
  if (!beyond) {
    state = State::quiet;
    return Event::none;
  }
  if (state == State::quiet) {
    state = State::pending;
    since_ns = time_ns;
  }
  if (gaps.collected(since_ns, time_ns) < rule.lasts_ns) return Event::none;
  state = State::firing;
  calm_ns = 0;
  return Event::opened;
}

}  // namespace atalaya::alerts
