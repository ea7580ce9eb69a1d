// SPDX-License-Identifier: Apache-2.0
// Each rule of the line protocol.
#include <doctest/doctest.h>

#include "tests/unit/protocols/influx/influx_text.h"

namespace atalaya::protocols::testing {

TEST_CASE("influx: a line has a measurement, tags, fields and a time") {
  CHECK(read_influx("cpu,host=a,core=1 user=1.5,steps=3i 1000").lines ==
        Lines{"cpu.user{host=a,core=1} 1.5 @1000", "cpu.steps{host=a,core=1} 3i @1000"});
  CHECK(read_influx("cpu value=1 5").lines == Lines{"cpu{} 1 @5"});
}

TEST_CASE("influx: a line without a time has the time of its arrival") {
  CHECK(read_influx("cpu v=1").lines == Lines{"cpu.v{} 1 @77"});
}

TEST_CASE("influx: the precision is the unit of times") {
  CHECK(read_influx("cpu v=1 5", precision_from_name("ms").value()).lines == Lines{"cpu.v{} 1 @5000000"});
  CHECK(precision_from_name("fortnight") == std::nullopt);
}

TEST_CASE("influx: forms of numbers and booleans") {
  CHECK(read_influx("n a=.5,b=5.,c=+1,d=1e3,e=-2i,f=7u,g=t,h=FALSE 1").lines == Lines{"n.a{} 0.5 @1", "n.b{} 5 @1", "n.c{} 1 @1",
                                                                                      "n.d{} 1000 @1", "n.e{} -2i @1",
                                                                                      "n.f{} 7i @1", "n.g{} 1i @1", "n.h{} 0i @1"});
  CHECK(read_influx("n a=18446744073709551615u 1").lines == Lines{"n.a{} 18446744073709551616 @1"});
  for (const char *wrong : {"nan", "inf", "1e999", "1x", "-1u", "1.5i", "9223372036854775808i", "tRUE", "'1'"}) {
    CAPTURE(wrong);
    const InfluxResult result = read_influx(std::string("n a=") + wrong + " 1\nb v=1 2");
    CHECK(result.lines == Lines{"b.v{} 1 @2"});
    CHECK(result.account.errors == R"({"line":1,"error":"the value of the field a is no finite number, boolean or text"})");
  }
}

TEST_CASE("influx: a quote in a measurement, a tag or a field's name is a plain character") {
  const InfluxResult result = read_influx(fixture("influx/quotes.txt"));
  CHECK(result.account.failed == 0);
  CHECK(result.lines == Lines{
                            "disk.used{path=/data/6\"drive} 1 @1795219532000000000",
                            "disk.used{path=/b} 2 @1795219532000000000",
                            "a\"b.v{\"k=1} 3 @1795219532000000000",
                            "c.\"f{} 4 @1795219532000000000",
                            "disk.used{path=/c} 5 @1795219532000000000",
                        });
}

TEST_CASE("influx: blanks and tabs around the parts are no part of them") {
  CHECK(read_influx("  lead,h=a v=1 5").lines == Lines{"lead.v{h=a} 1 @5"});
  CHECK(read_influx("\tcpu v=2 5").lines == Lines{"cpu.v{} 2 @5"});
  CHECK(read_influx("many,h=b   v=3   5  \r").lines == Lines{"many.v{h=b} 3 @5"});
  CHECK(read_influx("cpu v=2\t5").lines == Lines{"cpu.v{} 2 @5"});
  CHECK(read_influx("cpu v=2  ").lines == Lines{"cpu.v{} 2 @77"});
  CHECK(read_influx("\n \n\t\r\n  # a comment v=1\ncpu v=1 5\n\n").lines == Lines{"cpu.v{} 1 @5"});
}

TEST_CASE("influx: a tab is no part of a name") {
  for (const char *wrong : {"c\tpu v=1 1", "cpu,a\tb=1 v=1 1", "cpu a\tv=1 1"}) {
    CAPTURE(wrong);
    const InfluxResult result = read_influx(wrong);
    CHECK(result.lines.empty());
    CHECK(result.account.errors == R"({"line":1,"error":"a tab is no part of a name"})");
  }
}

TEST_CASE("influx: a backslash escapes commas, blanks and, behind the measurement, '='") {
  CHECK(read_influx(R"(a\,b\ c=d,k\=\,\ 1=v\=\,\ 2 f\=\,\ 3=1 5)").lines == Lines{"a,b c=d.f=, 3{k=, 1=v=, 2} 1 @5"});
  CHECK(read_influx(R"(a\=b v=1 5)").lines == Lines{R"(a\=b.v{} 1 @5)"});
}

TEST_CASE("influx: other backslashes are plain characters") {
  CHECK(read_influx(R"(a,p=C:\dir\\x v=1 5)").lines == Lines{R"(a.v{p=C:\dir\\x} 1 @5)"});
  // A backslash, and an escaped comma.
  CHECK(read_influx(R"(a,p=x\\,y v=1 5)").lines == Lines{R"(a.v{p=x\,y} 1 @5)"});
}

TEST_CASE("influx: a text field may contain everything but an unescaped quote") {
  CHECK(read_influx("a t=\"one, two = \\\" 3\\\\\",v=1 5\nb v=2 6").lines == Lines{"a.v{} 1 @5", "b.v{} 2 @6"});
  CHECK(read_influx("a t=\"one\nb v=9 9\n\",v=1 5\nb v=2 6").lines == Lines{"a.v{} 1 @5", "b.v{} 2 @6"});
  CHECK(read_influx("a v=1,t=\"\" 5").lines == Lines{"a.v{} 1 @5"});
}

TEST_CASE("influx: a text without an end does not hide the lines behind it") {
  for (const char *body : {"a t=\"one 5\nb v=1 6\n", "a t=\"one 5\nb v=1 6\nc t=\"x\",v=2 7\n"}) {
    CAPTURE(body);
    const InfluxResult result = read_influx(body);
    CHECK(result.lines.at(0) == "b.v{} 1 @6");
    CHECK(result.account.failed == 1);
    CHECK(result.account.errors == R"({"line":1,"error":"the text of the field t has no end"})");
  }
}

TEST_CASE("influx: errors name the line of the body") {
  const InfluxResult result = read_influx("a t=\"1\n2\",v=1 5\nbad\nb v=1 6\n,x=1 v=1\n");
  CHECK(result.lines == Lines{"a.v{} 1 @5", "b.v{} 1 @6"});
  CHECK(result.account.good == 2);
  CHECK(result.account.failed == 2);
  CHECK(result.account.errors == R"({"line":3,"error":"the line has no fields"},{"line":5,"error":"the line has no measurement"})");
}

TEST_CASE("influx: what is wrong in a line is its error") {
  const std::pair<const char *, const char *> cases[] = {
      {"a,k v=1 1", "a tag is not KEY=VALUE"},
      {"a,=1 v=1 1", "a tag is not KEY=VALUE"},
      {"a,k= v=1 1", "the tag k has no value"},
      {"a,k=1", "the line has no fields"},
      {"a v 1", "a field is not KEY=VALUE"},
      {"a =1 1", "a field is not KEY=VALUE"},
      {"a v=1,", "a field is not KEY=VALUE"},
      {"a v=\"x\" 1", "the line has texts only; a metric is a number"},
      {"a v=1 12x", "the time is not a whole number after 1970 in the precision of the request"},
      {"a v=1 -5", "the time is not a whole number after 1970 in the precision of the request"},
  };
  for (const auto &[line, error] : cases) {
    CAPTURE(line);
    const InfluxResult result = read_influx(line);
    CHECK(result.lines.empty());
    CHECK(result.account.errors == "{\"line\":1,\"error\":\"" + std::string(error) + "\"}");
  }
}

TEST_CASE("influx: lines of InfluxDB's own client") {
  const InfluxResult result = read_influx(fixture("influx/influxdb-client.txt"));
  CHECK(result.account.failed == 0);
  std::string lines;
  for (const std::string &line : result.lines) lines += line + "\n";
  CHECK(lines == fixture("influx/influxdb-client.expected"));
}

}  // namespace atalaya::protocols::testing
