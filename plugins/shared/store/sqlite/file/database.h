// SPDX-License-Identifier: Apache-2.0
// A thin layer on SQLite's C API: handles that close themselves, errors with their remedy. One thread at a time per database.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/store/error.h"

namespace atalaya::store {

enum class Access { read_only, read_write };

class Database {
 public:
  // With Access::read_write a missing file is created.
  Database(const std::string &path, Access access);

  void execute(const char *sql);
  // Starts a transaction that takes the write lock at once, and ends it. The statements are prepared once.
  void start_writing() { run(begin_, "BEGIN IMMEDIATE"); }
  void commit() { run(commit_, "COMMIT"); }
  // Returns the first column of the first row, for `PRAGMA x` and similar statements.
  int64_t number(const char *sql);
  // A function for the SQL of this connection. Its result depends on its arguments only.
  using Function = void (*)(sqlite3_context *context, int count, sqlite3_value **arguments);
  void add_function(const char *name, int arguments, Function function);
  int64_t last_id() const { return sqlite3_last_insert_rowid(handle_.get()); }
  int64_t changes() const { return sqlite3_changes64(handle_.get()); }

  const std::string &path() const { return path_; }
  sqlite3 *handle() const { return handle_.get(); }
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3 *handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt *handle) const { sqlite3_finalize(handle); }
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;
  void run(Prepared &statement, const char *sql);

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
  Prepared begin_, commit_;
};

// One row of a running statement; valid inside the callback of Statement::each.
class Row {
 public:
  explicit Row(sqlite3_stmt *statement) : statement_(statement) {}
  int columns() const { return sqlite3_column_count(statement_); }
  int type(int column) const { return sqlite3_column_type(statement_, column); }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string_view text(int column) const {
    const auto *data = reinterpret_cast<const char *>(sqlite3_column_text(statement_, column));
    return data == nullptr ? std::string_view{}
                           : std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  std::string_view blob(int column) const {
    const auto *data = static_cast<const char *>(sqlite3_column_blob(statement_, column));
    return data == nullptr ? std::string_view{}
                           : std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }

  const sqlite3_value *value(int column) const { return sqlite3_column_value(statement_, column); }

 private:
  sqlite3_stmt *statement_;
};

// A text that is bound as bytes.
struct Blob {
  std::string_view bytes;
};

// A prepared statement. Every call binds all parameters and resets the statement at its end, so that no read remains open.
class Statement {
 public:
  Statement(Database &database, std::string_view sql);

  template <class... Arguments>
  void run(const Arguments &...arguments) {
    each([](const Row &) {}, arguments...);
  }
  template <class Callback, class... Arguments>
  void each(Callback &&callback, const Arguments &...arguments) {
    const auto go_on = [&](const Row &row) {
      callback(row);
      return true;
    };
    for_each_while(go_on, arguments...);
  }
  // Calls the callback for each row until it returns false.
  template <class Callback, class... Arguments>
  void for_each_while(Callback &&callback, const Arguments &...arguments) {
    const Reset reset{handle_.get()};
    int index = 0;
    (bind(++index, arguments), ...);
    while (step())
      if (!callback(Row(handle_.get()))) return;
  }
  // Binds the first `count` values of a row of another statement as parameters.
  void run_with(const Row &row, int count);
  // Returns the first column of the first row; nothing if there is no row or it is NULL.
  template <class... Arguments>
  std::optional<int64_t> number(const Arguments &...arguments) {
    const Reset reset{handle_.get()};
    int index = 0;
    (bind(++index, arguments), ...);
    if (!step() || Row(handle_.get()).type(0) == SQLITE_NULL) return std::nullopt;
    return Row(handle_.get()).integer(0);
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt *handle) const { sqlite3_finalize(handle); }
  };
  struct Reset {
    sqlite3_stmt *handle;
    ~Reset() { sqlite3_reset(handle); }
  };

  void bind(int index, int64_t value);
  void bind(int index, std::string_view value);  // not copied: must outlive the call
  void bind(int index, Blob value);              // not copied: must outlive the call
  template <class T>
  void bind(int index, const std::optional<T> &value) {
    if (value) return bind(index, *value);
    check(sqlite3_bind_null(handle_.get(), index));
  }
  bool step();
  void check(int code) {
    if (code != SQLITE_OK) database_->fail(code);
  }

  Database *database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// In its scope all statements read one state of the database.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database &database) : database_(database) { database_.execute("BEGIN"); }
  ReadTransaction(const ReadTransaction &) = delete;
  ReadTransaction &operator=(const ReadTransaction &) = delete;
  ~ReadTransaction() { sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr); }

 private:
  Database &database_;
};

// Takes the write lock at once; rolls back unless commit was called.
class Transaction {
 public:
  explicit Transaction(Database &database) : database_(database) { database_.start_writing(); }
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  ~Transaction();
  void commit();

 private:
  Database &database_;
  bool open_ = true;
};

}  // namespace atalaya::store
