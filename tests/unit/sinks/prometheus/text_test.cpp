// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "plugins/shared/protocols/prometheus/legal_text.h"
#include "plugins/sinks/prometheus/negotiation.h"

namespace atalaya::prometheus {

TEST_CASE("prometheus: names become legal") {
  CHECK(legal_metric("proc.cpu.user") == "proc_cpu_user");
  CHECK(legal_metric("a:b-c\xc3\xa9") == "a_b_c__");
  CHECK(legal_metric("9lives") == "_9lives");
  CHECK(legal_metric("") == "_");
  CHECK(legal_label("__name__") == "_name__");
  CHECK(legal_label("___x") == "_x");
  CHECK(legal_label("pid") == "pid");
}

TEST_CASE("prometheus: texts are escaped and valid UTF-8") {
  std::string out;
  append_escaped(out, "a\\b\"c\nd\xffz\xc3\xa9\t");
  CHECK(out == "a\\\\b\\\"c\\nd\xef\xbf\xbdz\xc3\xa9\t");
  out.clear();
  append_help(out, "a\\b\"c\n");
  CHECK(out == "a\\\\b\"c\\n");
}

TEST_CASE("prometheus: the form is the one that the scraper prefers") {
  CHECK(negotiate_form("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                       "text/plain;version=0.0.4;q=0.5,*/*;q=0.1") == Form::openmetrics);
  CHECK(negotiate_form("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8") == Form::openmetrics);
  CHECK(negotiate_form("Application/OpenMetrics-Text") == Form::openmetrics);
  for (const char *accept :
       {"", "*/*", "text/plain", "application/openmetrics-text;version=0.0.1", "application/openmetrics-text;version=1.0.0;q=0",
        "application/openmetrics-text;q=0.3,text/plain;q=0.5", "application/openmetrics-text;q=x", ",;,=;q=", "text/html"})
    CHECK_MESSAGE(negotiate_form(accept) == Form::text, accept);
}

TEST_CASE("prometheus: gzip for clients that accept it") {
  for (const char *accept : {"gzip", "deflate, GZIP;q=0.5", "*", "br;q=1, *;q=0.1"}) CHECK_MESSAGE(takes_gzip(accept), accept);
  for (const char *accept : {"", "identity", "gzip;q=0", "*;q=0", "gzip;q=0, *", "gzipped", "gzip;q=2"})
    CHECK_MESSAGE(!takes_gzip(accept), accept);
}

}  // namespace atalaya::prometheus
