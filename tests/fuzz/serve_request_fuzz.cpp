// SPDX-License-Identifier: Apache-2.0
// Requests of unknown clients: forms, OpenTSDB's m= and JSON, selectors, formulas, times, experiments, the page's parameters,
// PromQL. The first byte chooses.
#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "plugins/commands/serve/opentsdb/opentsdb.h"
#include "plugins/commands/serve/page/page_request.h"
#include "plugins/commands/serve/pprof/stacks.h"
#include "plugins/commands/serve/prometheus/prometheus.h"
#include "plugins/commands/serve/prometheus/promql.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/experiments/experiment_json.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/query/arithmetic/formula.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/memory_store.h"

using namespace atalaya;

// Written JSON reads back the same.
static void parse(const std::string &text) {
  simdjson::dom::parser parser;
  if (parser.parse(text).error() != simdjson::SUCCESS) std::abort();
}

// Every form of an answer.
static void write(const std::vector<query::Answer> &answers, query::Budget &budget) {
  parse(command_line::as_json(answers));
  (void)command_line::as_csv(answers);
  (void)command_line::as_table(answers);
  parse("[" + serve::opentsdb_json(answers, query::Fill::null, {{}, true, false}) + "]");
  parse("[" + serve::matrix_json(answers, {0, 3'600'000'000'000, 60'000'000'000}, budget) + "]");
}

// Every valid request is run, on series at the limits of time.
static void ask(query::Query query) {
  query::test::MemoryStore store;
  store.add("a", {{"host", "h"}}, {{-1'699'000'000, 1}, {0, 2}, {10, 3}, {2'000'000'000, 4}});
  store.add("a", {{"host", "i"}}, {{5, 1}, {10, 3}});
  store.add("c", {{"host", "h"}}, {{5, 1.7e308}, {10, -1.7e308}});
  store.add("c", {{"host", "i"}}, {{5, 1.7e308}, {10, 1.7e308}});
  store.add_counts("b", {}, {{5, std::numeric_limits<int64_t>::max()}, {10, std::numeric_limits<int64_t>::min()}});
  query.metrics = {"*"};
  query.tags.clear();
  query::Budget budget({100, 10'000, 1'000'000'000});
  write(query::run_query(query, store, budget), budget);
}

// Every valid expression is evaluated, in a range and at an instant.
static void evaluate(const std::string &text) {
  const serve::Part expression = serve::read_promql(text);
  query::test::MemoryStore store;
  store.add("a.b", {{"host", "h"}, {"pid", "1"}}, {{0, 2}, {10, 3}, {20, 1}});
  store.add("a.b", {{"host", "h"}, {"pid", "2"}}, {{0, 1e308}, {10, 1e308}, {20, 0}});
  store.add("c", {{"host", "h"}}, {{5, 0}, {15, -1}});
  const serve::Steps steps{query::test::kT0, query::test::kT0 + 30'000'000'000, 7'000'000'000};
  query::Budget budget({100, 10'000, 1'000'000'000});
  parse("[" + serve::matrix_json(serve::evaluated(*expression, steps, false, store, budget).columns, steps) + "]");
  const serve::Steps now{steps.to_ns, steps.to_ns, 1};
  parse("[" + serve::vector_json(serve::evaluated(*expression, now, true, store, budget).columns, now.to_ns) + "]");
}

// A form with the parameters that all paths of the page have.
static void read_page(const std::string &text, int64_t now) {
  serve::Request request{"GET", "/api/page/series", {}, "", ""};
  if (!serve::read_form(text, request.arguments)) return;
  for (const store::TagFilter &filter : serve::page_filters(request))
    if (filter.key.empty() || filter.patterns.empty()) std::abort();
  const query::Range range = serve::page_times(request, now);
  if (range.from_ns >= range.to_ns) std::abort();
  const int64_t points = serve::page_count(request, "points", 300, 1, 5000);
  if (points < 1 || points > 5000) std::abort();
  (void)serve::page_choice(request, "sort", {"cpu", "memory"});
}

static void read(uint8_t kind, const std::string &text) {
  constexpr int64_t now = 1'700'000'000'000'000'000;
  serve::Request request{"POST", "/", {}, text, ""};
  switch (static_cast<uint8_t>(kind - '0') % 10) {
    case 0:
      (void)serve::read_form(text, request.arguments);
      request.method = "GET";
      (void)serve::read_steps(request, now);
      break;
    case 1: {
      query::Query query = serve::read_m(text);
      query.range = {now - 3'600'000'000'000, now};
      ask(query);
      break;
    }
    case 2:
      for (const query::Query &query : serve::read_opentsdb(request, now).queries) ask(query);
      break;
    case 9:
      evaluate(text);
      break;
    case 3: {
      query::Query query = serve::read_selector(text, {"proc.cpu.user"});
      query.range = {now - 3'600'000'000'000, now};
      ask(query);
      break;
    }
    case 4: {
      const query::Answer answer{"m", {}, {}, {{now, 1}}};
      query::Budget budget({100, 10'000, 1'000'000'000});
      (void)query::constant_of(text);
      write(query::evaluate(text, {{answer}, {answer, answer}}, budget), budget);
      break;
    }
    case 5:
      (void)io::parse_time(text, now);
      break;
    case 8:
      read_page(text, now);
      break;
    case 6:
      (void)experiments::experiments_json(experiments::read_experiments(text, now));
      break;
    default:
      if (const auto downsample = query::parse_downsample(text))
        for (const query::Edge edge : {query::Edge::start, query::Edge::end}) {
          query::Query query;
          query.downsample = downsample.value();
          query.edge = edge;
          query.range = {-1, 7'258'118'400'000'000'000};
          ask(query);
        }
      (void)serve::tree_json({{text, 1}});
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], std::string(reinterpret_cast<const char *>(data) + 1, size - 1));
  } catch (const query::Wrong &) {
    // the error is reported
  } catch (const query::TooMuch &) {
    // or that it is too much
  }
  return 0;
}
