// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/file/database.h"

#include <sys/stat.h>

#include <cerrno>

#include "core/base/files.h"

namespace atalaya::store {
namespace {

Cause cause_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return Cause::full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return Cause::retry;
    default:
      return Cause::permanent;
  }
}

constexpr std::string_view kOtherStore = "name another store with --store or $ATALAYA_STORE";

std::string_view advice(int code, int system_error, bool reads_only) {
  if (reads_only && (code & 0xff) == SQLITE_NOTADB) return "; it is no store: name one with --store or $ATALAYA_STORE";
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "; make room on its disk, or lower max_size";
    case SQLITE_BUSY:
      return "; another program holds the database locked: end it";
    case SQLITE_CANTOPEN:
      return system_error == EACCES ? "; run as the agent's user, or as a member of the file's group" : "";
    case SQLITE_READONLY:
      return "; allow the agent's user to write the file and its folder";
    case SQLITE_CORRUPT:
      return "; the file was left as it is: end the agent, and run `atalaya store repair`, or move it away";
    case SQLITE_NOTADB:
      return "; the file was left as it is: move it away and restart";
    default:
      return "";
  }
}

// A reader's error says how to create a store, and the default path.
void check_is_file(const std::string &path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return;  // SQLite says it
    throw Error(Cause::config, "there is no store " + path + "; `atalaya run pipelines/host.lua` fills one, or " +
                                   std::string(kOtherStore) + " (the service's is /var/lib/atalaya/atalaya.db)");
  }
  if (!S_ISREG(status.st_mode))
    throw Error(Cause::config, path + (S_ISDIR(status.st_mode) ? " is a folder" : " is not a file") + ": it is no store; " +
                                   std::string(kOtherStore));
}

}  // namespace

Database::Database(const std::string &path, Access access) : path_(path) {
  if (access == Access::read_only) check_is_file(path);
  const int flags = access == Access::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3 *handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  sqlite3_busy_timeout(handle, 5000);
}

void Database::fail(int code) const {
  const bool is_last = handle_ && sqlite3_extended_errcode(handle_.get()) == code;
  std::string text = "database " + path_ + ": " + (is_last ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code));
  const int system_error = handle_ ? sqlite3_system_errno(handle_.get()) : 0;
  const int primary = code & 0xff;
  if (system_error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN))
    text += " (" + core::error_text(system_error) + ")";
  text += advice(code, system_error, handle_ && sqlite3_db_readonly(handle_.get(), "main") == 1);
  throw Error(cause_of(code), text);
}

void Database::execute(const char *sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Database::run(Prepared &statement, const char *sql) {
  if (!statement) {
    sqlite3_stmt *handle = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
    if (code != SQLITE_OK) fail(code);
    statement.reset(handle);
  }
  const int code = sqlite3_step(statement.get());
  sqlite3_reset(statement.get());
  if (code != SQLITE_DONE) fail(code);
}

int64_t Database::number(const char *sql) {
  return Statement(*this, sql).number().value_or(0);
}

void Database::add_function(const char *name, int arguments, Function function) {
  const int code = sqlite3_create_function_v2(handle_.get(), name, arguments, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, function,
                                              nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Statement::Statement(Database &database, std::string_view sql) : database_(&database) {
  sqlite3_stmt *handle = nullptr;
  check(
      sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &handle, nullptr));
  handle_.reset(handle);
}

void Statement::bind(int index, int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), index, value));
}

void Statement::bind(int index, std::string_view value) {
  // A null pointer would bind NULL; the empty text is a value.
  const char *data = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(handle_.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(int index, Blob value) {
  const char *data = value.bytes.data() == nullptr ? "" : value.bytes.data();
  check(sqlite3_bind_blob64(handle_.get(), index, data, value.bytes.size(), SQLITE_STATIC));
}

void Statement::run_with(const Row &row, int count) {
  const Reset reset{handle_.get()};
  for (int i = 0; i < count; ++i) check(sqlite3_bind_value(handle_.get(), i + 1, row.value(i)));
  step();
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}

void Transaction::commit() {
  database_.commit();
  open_ = false;
}

Transaction::~Transaction() {
  // Some errors have already rolled back; then this does nothing.
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace atalaya::store
