// SPDX-License-Identifier: Apache-2.0
// Sends statements over HTTP, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/compress/compressor.h"
#include "plugins/shared/io/http/client/authorization.h"
#include "plugins/shared/io/http/client/connection.h"
#include "plugins/shared/io/http/client/targets.h"
#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/clickhouse/wire/row_binary.h"
#include "plugins/shared/store/clickhouse/wire/row_stream.h"
#include "plugins/shared/store/clickhouse/wire/sql.h"
#include "plugins/shared/store/error.h"

namespace atalaya::store::clickhouse {

// The address of a database, and the credentials.
struct Location {
  std::vector<http_client::Url> urls;  // URLs of its servers, in the order in which they are tried; their targets are empty
  std::string database;
  std::string basic;  // a file with user:password; empty: the user "default" without a password
  http_client::TlsFiles tls;
  std::string name() const;
  std::string name(size_t server) const { return "clickhouse:" + urls[server].text + "/" + database; }
};
// "http://host:8123/database", with ?basic=FILE&ca=FILE&certificate=FILE&key=FILE; servers that have the same data are separated by
// commas, and only the last one needs the database. Throws Error (config).
Location parse_location(std::string_view text);
// Parses a location with one text per server.
Location parse_location(const std::vector<std::string> &texts);
// Whether the name needs no quotes in a statement: letters, digits and _.
bool is_plain_name(std::string_view name);

struct ClientOptions {
  Location location;
  std::chrono::nanoseconds timeout{}, deadline{};
  std::string compress = "none";         // compression of inserted rows
  std::chrono::nanoseconds connect{};    // 0: as `timeout`
  std::chrono::nanoseconds execution{};  // time after which the server itself ends a query; 0: the server's limit
  Warn warn = nullptr;                   // receives a line when the server in use changes
};

// The server's error code and message.
struct Refusal {
  int code = 0;
  std::string server_message;
};

struct Column {
  const char *expression, *name;
  Type type;
};
struct Query {
  std::vector<Column> columns;
  Sql from;           // the part after FROM, conditions included
  const char *order;  // names of columns
};

// One thread. All functions throw Error, with a text that starts with the name of the database. Of several servers the first
// one that works is used: connect() tries them in turn, and a select whose server did not respond is sent to the next one.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();

  const std::string &name() const { return name_; }
  const std::string &database() const { return options_.location.database; }
  // Finds a server and checks its version. Throws if none responds.
  void connect();
  // Reports that the server in use failed: the next connect() prefers the others for a while, up to five minutes.
  void give_up(const std::string &why);
  void mark_available() { targets_.mark_available(server_); }
  // Whether a server earlier in the list may be tried again.
  bool could_return() const;
  bool connected() const { return connected_; }
  size_t servers() const { return targets_.size(); }

  void execute(const Sql &sql);
  // Executes a statement ON CLUSTER. Does not wait for unavailable servers, which execute it when they are available again.
  void execute_on_cluster(const Sql &sql);
  // Reads rows in order while they arrive. An incomplete answer is an error.
  void select(const Query &query, const RowVisitor &visitor);
  // Inserts rows in RowBinary. Returns a refusal if the rows caused it; throws all other errors.
  std::optional<Refusal> insert(std::string_view table_and_columns, std::string_view rows);

 private:
  void connect_to(size_t server);
  void select_on_server(const Query &query, const RowVisitor &visitor);
  const std::string &server_name() const { return server_names_[server_]; }
  http_client::Answer ask(const std::string &settings, std::string_view body, std::string_view encoding,
                          const http_client::BodyReader &reader = nullptr);
  [[noreturn]] void fail(const http_client::Answer &answer) const;

  ClientOptions options_;
  std::string name_;
  std::vector<std::string> server_names_;
  http_client::Targets targets_;
  size_t server_ = 0;  // index of the server in use
  bool connected_ = false;
  std::string why_;  // reason why the last server was replaced; empty: it was not
  http_client::ConnectionOptions connection_options_;
  http_client::Deadlines deadlines_;
  http_client::Connection connection_;
  std::unique_ptr<io::Compressor> compressor_;
  ServerVersion version_;
  std::string body_;
};

// Parses the error in a server's answer.
Refusal refusal_of(std::string_view body);
// Whether the rows caused the error, not the server, the table or the user.
bool belongs_to_rows(int code);

}  // namespace atalaya::store::clickhouse
