// SPDX-License-Identifier: Apache-2.0
// What strangers may ask: forms, OpenTSDB's m= and JSON, selectors, formulas, times, experiments. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <string>

#include "plugins/commands/serve/opentsdb.h"
#include "plugins/commands/serve/prometheus.h"
#include "plugins/commands/serve/stacks.h"
#include "plugins/query/downsample.h"
#include "plugins/query/experiment_json.h"
#include "plugins/query/formula.h"
#include "plugins/query/time_text.h"

using namespace atalaya;

static void read(uint8_t what, const std::string &text) {
  constexpr int64_t now = 1'700'000'000'000'000'000;
  serve::Request request{"POST", "/", {}, text, ""};
  switch (what % 8) {
    case 0:
      (void)serve::read_form(text, request.arguments);
      request.method = "GET";
      (void)serve::read_steps(request, now);
      break;
    case 1:
      (void)serve::read_m(text);
      break;
    case 2:
      (void)serve::read_opentsdb(request, now);
      break;
    case 3:
      (void)serve::read_selector(text, {"proc.cpu.user"});
      break;
    case 4: {
      const query::Answer answer{"m", {}, {}, {{now, 1}}};
      query::Budget budget({100, 10'000, 1'000'000'000});
      (void)query::evaluate(text, {{answer}, {answer, answer}}, budget);
      break;
    }
    case 5:
      (void)query::parse_time(text, now);
      break;
    case 6:
      (void)query::experiments_json(query::read_experiments(text, now));
      break;
    default:
      (void)query::parse_downsample(text);
      (void)serve::tree_json({{text, 1}});
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], std::string(reinterpret_cast<const char *>(data) + 1, size - 1));
  } catch (const query::Wrong &) {
    // said what is wrong
  } catch (const query::TooMuch &) {
    // or that it is too much
  }
  return 0;
}
