// SPDX-License-Identifier: Apache-2.0
// Statements over HTTP, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/http/client/authorization.h"
#include "plugins/shared/http/client/compressor.h"
#include "plugins/shared/http/client/connection.h"
#include "plugins/shared/store/clickhouse/row_binary.h"
#include "plugins/shared/store/clickhouse/row_stream.h"
#include "plugins/shared/store/clickhouse/sql.h"
#include "plugins/shared/store/error.h"

namespace atalaya::store::clickhouse {

// The address of a database, and the credentials.
struct Location {
  http_client::Url url;  // of the server; its target is empty
  std::string database;
  std::string basic;  // a file with user:password; empty: the user "default" without a password
  http_client::TlsFiles tls;
  std::string name() const { return "clickhouse:" + url.text + "/" + database; }
};
// "http://host:8123/database", with ?basic=FILE&ca=FILE&certificate=FILE&key=FILE. Throws Error (config).
Location parse_location(std::string_view text);
// Whether it can stand in a statement as it is: letters, digits and _.
bool is_plain_name(std::string_view name);

struct ClientOptions {
  Location location;
  std::chrono::nanoseconds timeout{}, deadline{};
  std::string compress = "none";         // of inserted rows
  std::chrono::nanoseconds connect{};    // 0: as `timeout`
  std::chrono::nanoseconds execution{};  // after which the server ends a question by itself; 0: when it likes
};

// The server's number of an error, and its words.
struct Refusal {
  int code = 0;
  std::string words;
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

// One thread. Everything throws Error, and begins with the name of the database.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();

  const std::string &name() const { return name_; }
  const std::string &database() const { return options_.location.database; }
  // Checks the server and its version.
  void connect();

  void execute(const Sql &sql);
  // A statement ON CLUSTER. Servers that are away do it when they come back: they are not waited for.
  void execute_on_cluster(const Sql &sql);
  // Rows in order, read as they come. An answer that ends early is an error, however it ends.
  void select(const Query &query, const RowVisitor &visitor);
  // Rows in RowBinary. A refusal that is due to the rows comes back; every other is thrown.
  std::optional<Refusal> insert(std::string_view table_and_columns, std::string_view rows);

 private:
  http_client::Answer ask(const std::string &settings, std::string_view body, std::string_view encoding,
                          const http_client::BodyReader &reader = nullptr);
  [[noreturn]] void fail(const http_client::Answer &answer) const;

  ClientOptions options_;
  std::string name_;
  http_client::ConnectionOptions connection_options_;
  http_client::Deadlines deadlines_;
  http_client::Connection connection_;
  std::unique_ptr<http_client::Compressor> compressor_;
  ServerVersion version_;
  std::string body_;
};

// The error of a server's answer.
Refusal refusal_of(std::string_view body);
// Whether the rows are to blame, and not the server, the table or the user.
bool is_of_the_rows(int code);

}  // namespace atalaya::store::clickhouse
