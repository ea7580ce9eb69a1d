// SPDX-License-Identifier: Apache-2.0
// The client against a server with set responses: requests to today's versions, and responses that go wrong.
#include <doctest/doctest.h>

#include <future>
#include <string>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/client.h"
#include "tests/unit/io/http_client/server.h"

namespace atalaya::store::clickhouse {
namespace {

using http_client::testing::answer;
using http_client::testing::Asked;
using http_client::testing::Server;

std::string row(uint8_t last, std::string_view name, uint64_t number) {
  std::string bytes;
  append_number(bytes, last);
  append_text(bytes, name);
  append_number(bytes, number);
  return bytes;
}

ClientOptions options_for(uint16_t port) {
  const auto response_timeout = std::chrono::seconds(60);
  return {parse_location("http://127.0.0.1:" + std::to_string(port) + "/db"), response_timeout, response_timeout, "none"};
}

// A client of a current server with this response to a select; the result, and the requests to the server.
struct Selected {
  std::vector<std::string> names;
  std::string error, asked;
};
Selected select(const std::string &said) {
  Server server([&](const Asked &asked) { return asked.has("version()") ? answer("200 OK", "24.8.1.1\n") : said; });
  Selected selected;
  {
    Client client(options_for(server.port));
    client.connect();
    Sql from("t WHERE a = ");
    from.bind("x'y");
    try {
      client.select({{{"a", "name", Type::text}, {"b", "number", Type::u64}}, from, "name"},
                    [&](const std::vector<Cell> &cells) { return selected.names.emplace_back(cells[1].text), true; });
    } catch (const Error &error) {
      selected.error = error.what();
    }
  }
  selected.asked = server.asked().back().head + server.asked().back().body;
  return selected;
}

TEST_CASE("clickhouse: an answer is read to its last row; texts are parameters") {
  const Selected whole = select(answer("200 OK", row(0, "one", 1) + row(0, "two", 2) + row(1, "", 0)));
  CHECK(whole.error.empty());
  CHECK(whole.names == std::vector<std::string>{"one", "two"});
  CHECK(whole.asked.find("&param_p0=x%27y ") != std::string::npos);
  CHECK(whole.asked.find("SELECT * FROM (SELECT toUInt8(0) AS last, a AS name, b AS number FROM t WHERE a = {p0:String} UNION ALL "
                         "SELECT toUInt8(1) AS last, '' AS name, toUInt64(0) AS number) ORDER BY last, name FORMAT RowBinary") !=
        std::string::npos);
}

TEST_CASE("clickhouse: half an answer is an error, however it ends") {
  const auto half = select(answer("200 OK", row(0, "one", 1)));
  CHECK(half.error.find(": the answer ended early: nothing more came") != std::string::npos);
  const auto cut = select(answer("200 OK", row(0, "one", 1) + row(0, "two", 2).substr(0, 5)));
  CHECK(cut.error.find("the answer ended early") != std::string::npos);
  const auto late = select(
      answer("200 OK", row(0, "one", 1) + "Code: 241, e.displayText() = DB::Exception: Memory limit exceeded, e.what() = x"));
  CHECK(late.error.find("the answer ended early: Memory limit exceeded") != std::string::npos);
  const auto more = select(answer("200 OK", row(0, "one", 1) + row(1, "", 0) + std::string(1 << 20, 'x')));
  CHECK(more.error.find(": the answer goes on after its last row") != std::string::npos);
  const auto huge = select(answer("200 OK", row(0, "one", 1) + std::string("\0\xff\xff\xff\xff\x7f", 6) + "xxxx"));
  CHECK(huge.error.find("the answer ended early: a row holds more than atalaya ever writes") != std::string::npos);
}

TEST_CASE("clickhouse: no setting of the user's makes a part of an answer look whole") {
  const std::string asked = select(answer("200 OK", row(1, "", 0))).asked;
  for (const char *limit : {"read", "timeout", "sort", "group_by", "result", "set", "distinct", "transfer"})
    CHECK_MESSAGE(asked.find("&" + std::string(limit) + "_overflow_mode=throw") != std::string::npos, limit);
  CHECK(asked.find("&skip_unavailable_shards=0") != std::string::npos);
}

TEST_CASE("clickhouse: servers that collect inserts must write each at once; older ones do not know the setting") {
  const auto asked = [](const char *version) {
    Server server([&](const Asked &) { return answer("200 OK", version); });
    Client client(options_for(server.port));
    client.connect();
    CHECK_FALSE(client.insert("t (a)", "rows"));
    return server.asked().back().head;
  };
  CHECK(asked("24.8.1.1\n").find("&async_insert=0") != std::string::npos);
  CHECK(asked("21.11.1.1\n").find("&async_insert=0") != std::string::npos);
  CHECK(asked("18.16.1\n").find("async_insert") == std::string::npos);
}

TEST_CASE("clickhouse: other servers are not taken for ClickHouse") {
  Server server([](const Asked &) { return answer("200 OK", "<html>hello</html>"); });
  Client client(options_for(server.port));
  const std::string server_message = "clickhouse:http://127.0.0.1:" + std::to_string(server.port) +
                                     "/db: the server is not ClickHouse; write the port of its HTTP interface, usually 8123";
  CHECK_THROWS_WITH_AS(client.connect(), server_message.c_str(), Error);
}

TEST_CASE("clickhouse: a refusal is caused by the rows, or by another reason") {
  std::string said = answer("500 Internal Server Error", "Code: 469. DB::Exception: Constraint is violated. (VIOLATED_CONSTRAINT)");
  Server server([&](const Asked &) { return said; });
  Client client(options_for(server.port));
  const auto refusal = client.insert("t (a)", "rows");
  REQUIRE(refusal);
  CHECK(refusal->code == 469);
  CHECK(refusal->server_message == "Constraint is violated. (VIOLATED_CONSTRAINT)");
  said = answer("500 Internal Server Error", "Code: 252. DB::Exception: Too many parts");
  CHECK_THROWS_AS(client.insert("t (a)", "rows"), Error);
  said = answer("400 Bad Request", "Code: 33. DB::Exception: Cannot read all data");
  CHECK_THROWS_AS(client.insert("t (a)", "rows"), Error);
}

TEST_CASE("clickhouse: a question ends when its time is over, though nothing came") {
  std::promise<void> over;
  const std::shared_future<void> is_over = over.get_future();
  Server server([&](const Asked &) {
    is_over.wait();
    return answer("200 OK");
  });
  ClientOptions options = options_for(server.port);
  options.timeout = options.deadline = std::chrono::milliseconds(100);
  Client client(options);
  CHECK_THROWS_AS(client.select({{{"a", "name", Type::text}}, "t", "name"}, [](const std::vector<Cell> &) { return true; }), Error);
  over.set_value();
}

TEST_CASE("clickhouse: the server gets the time limit of a query") {
  Server server([&](const Asked &) { return answer("200 OK", std::string("\1\0", 2)); });
  {
    ClientOptions options = options_for(server.port);
    options.execution = std::chrono::milliseconds(1500);
    Client client(options);
    client.select({{{"a", "name", Type::text}}, "t", "name"}, [](const std::vector<Cell> &) { return true; });
  }
  CHECK(server.asked().back().has("&max_execution_time=2"));
}

// Servers of one list, by their ports. A port of 0 is one where nothing listens.
ClientOptions options_for(const std::vector<uint16_t> &ports) {
  const auto response_timeout = std::chrono::seconds(60);
  std::string text;
  for (const uint16_t port : ports)
    text += (text.empty() ? "http://127.0.0.1:" : ",http://127.0.0.1:") + std::to_string(port == 0 ? 1 : port);
  return {parse_location(text + "/db"), response_timeout, response_timeout, "none"};
}

std::string selected_texts(Client &client) {
  std::string all;
  client.select({{{"a", "name", Type::text}, {"b", "number", Type::u64}}, "t", "name"},
                [&](const std::vector<Cell> &cells) { return all.append(cells[1].text), true; });
  return all;
}

TEST_CASE("clickhouse: the first server that works is used, and said once") {
  Server second([](const Asked &) { return answer("200 OK", "24.8.1.1\n"); });
  std::vector<std::string> said;
  ClientOptions options = options_for({0, second.port});
  options.warn = [&said](const std::string &text) { said.push_back(text); };
  {
    Client client(options);
    client.connect();
    client.connect();
    CHECK(client.name() == "clickhouse:http://127.0.0.1:1,http://127.0.0.1:" + std::to_string(second.port) + "/db");
  }
  CHECK(second.asked().size() == 2);
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("uses clickhouse:http://127.0.0.1:" + std::to_string(second.port) +
                            "/db instead of clickhouse:http://127.0.0.1:1/db; clickhouse:http://127.0.0.1:1/db: "));
  Client none(options_for({0, 0}));
  try {
    none.connect();
    CHECK(false);
  } catch (const Error &error) {
    CHECK(error.cause() == Cause::retry);
    CHECK(std::string(error.what()).find(": no server responds; clickhouse:http://127.0.0.1:1/db: ") != std::string::npos);
  }
}

TEST_CASE("clickhouse: a question is sent to the next server if its server does not respond, never after the first row") {
  const std::string rows = answer("200 OK", row(0, "one", 1) + row(0, "two", 2) + row(1, "", 0));
  const std::string version = answer("200 OK", "24.8.1.1\n");
  std::string said = answer("503 Service Unavailable", "away");
  Server first([&](const Asked &asked) { return asked.has("version()") ? version : said; });
  Server second([&](const Asked &asked) { return asked.has("version()") ? version : rows; });
  {
    Client client(options_for({first.port, second.port}));
    client.connect();
    CHECK(selected_texts(client) == "onetwo");
    CHECK(selected_texts(client) == "onetwo");
    CHECK(first.asked().size() == 2);
  }
  said = answer("500 Internal Server Error", "Code: 42. DB::Exception: wrong statement");
  {
    Client client(options_for({first.port, second.port}));
    client.connect();
    CHECK_THROWS_AS(selected_texts(client), Error);  // the next one would say the same
  }
  said = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9999\r\n\r\n" + row(0, "one", 1);
  Client client(options_for({first.port, second.port}));
  client.connect();
  CHECK_THROWS_AS(selected_texts(client), Error);
}

TEST_CASE("clickhouse: where a database is") {
  const Location location = parse_location("https://ch.example:8443/metrics?basic=/etc/x&ca=/etc/ca.pem");
  CHECK(location.name() == "clickhouse:https://ch.example:8443/metrics");
  CHECK(location.basic == "/etc/x");
  CHECK(location.tls.ca == "/etc/ca.pem");
  CHECK(parse_location("http://[::1]:8123/m").name() == "clickhouse:http://[::1]:8123/m");
  const Location servers = parse_location("http://a:8123,https://b:8443/m?basic=/etc/x,y");
  CHECK(servers.name() == "clickhouse:http://a:8123,https://b:8443/m");
  CHECK(servers.basic == "/etc/x,y");
  CHECK(parse_location(std::vector<std::string>{"http://a/m", "http://b/m"}).name() == "clickhouse:http://a,http://b/m");
  CHECK_THROWS_WITH_AS(parse_location("http://a/m,http://b/n"),
                       "servers of one list have the same data, but clickhouse:http://a/m and clickhouse:http://b/n are different "
                       "databases; write them as two stores, or two sinks",
                       Error);
  for (const char *wrong : {"http://a,http://b", "http://a/m,", "", "http://h", "http://h/", "http://h/a/b", "http://h/a'b",
                            "ftp://h/a", "http://h/a?cluster=x", "http://u:p@h/a"})
    CHECK_THROWS_AS(parse_location(wrong), Error);
}

}  // namespace
}  // namespace atalaya::store::clickhouse
