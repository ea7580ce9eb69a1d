// SPDX-License-Identifier: Apache-2.0
// Command sql: SQL on the embedded store.
#include <unistd.h>

#include <atalaya/plugin.hpp>
#include <cstdlib>

#include <cstdio>
#include <string>
#include <vector>

#include "core/base/now.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/units.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/sql/points_table.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/file/schema.h"

namespace atalaya::sql_command {
namespace {

using namespace atalaya::literals;

// Prints the rows of a statement.
class Printer {
 public:
  Printer(const std::string &format, bool header) : format_(format), header_(header) {}

  void add(sqlite3_stmt *statement) {
    if (format_ == "json") return add_json(statement);
    command_line::Row row = cells(statement, sqlite3_column_text);
    if (format_ == "table") {
      if (rows_.empty()) rows_.push_back(names(statement));
      rows_.push_back(std::move(row));
      return;
    }
    if (header_) print(command_line::as_csv_rows({names(statement)}));
    header_ = false;
    print(command_line::as_csv_rows({row}));
  }
  void end() {
    if (format_ == "json") print(any_ ? "]\n" : "[]\n");
    if (!rows_.empty()) print(command_line::as_columns(rows_));
  }

 private:
  static void print(const std::string &text) { std::fwrite(text.data(), 1, text.size(), stdout); }

  command_line::Row names(sqlite3_stmt *statement) const {
    command_line::Row row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) row.emplace_back(sqlite3_column_name(statement, i));
    return row;
  }
  template <class Text>
  command_line::Row cells(sqlite3_stmt *statement, Text text) const {
    command_line::Row row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto *data = reinterpret_cast<const char *>(text(statement, i));
      const std::string value = data == nullptr ? "" : std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement, i)));
      row.emplace_back();
      if (format_ == "table")
        core::append_visible(row.back(), value);
      else
        row.back() = value;
    }
    return row;
  }
  void add_json(sqlite3_stmt *statement) {
    core::JsonWriter json;
    json.object();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      json.key(sqlite3_column_name(statement, i));
      const int type = sqlite3_column_type(statement, i);
      const auto *data = reinterpret_cast<const char *>(sqlite3_column_text(statement, i));
      const std::string_view text(data == nullptr ? "" : data, static_cast<size_t>(sqlite3_column_bytes(statement, i)));
      if (type == SQLITE_NULL)
        json.null();
      else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        json.raw(text == "Inf" || text == "-Inf" ? "null" : text);
      else
        json.text(text);
    }
    print((std::exchange(any_, true) ? ",\n" : "[") + json.end_object().take());
  }

  const std::string format_;
  bool header_, any_ = false;
  std::vector<command_line::Row> rows_;
};

// Authorizer: statements may read this database only. It refuses VACUUM INTO, which writes another file, and ATTACH, which reads
// one.
int authorize(void *, int action, const char *, const char *, const char *, const char *) {
  return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

// Limits the time that SQLite uses for a statement; the time in which its rows are printed does not count.
class Stopwatch {
 public:
  Stopwatch(sqlite3 *database, int64_t limit_ns) : limit_ns_(limit_ns) {
    constexpr int kInstructions = 10000;
    sqlite3_progress_handler(database, kInstructions, is_over, this);
  }
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

  void begin() { left_ns_ = limit_ns_; }
  int step(sqlite3_stmt *statement) {
    started_ns_ = core::monotonic();
    const int code = sqlite3_step(statement);
    left_ns_ -= core::monotonic() - started_ns_;
    return code;
  }
  std::string limit_text() const { return core::format_duration(limit_ns_); }

 private:
  static int is_over(void *self) {
    const auto &watch = *static_cast<Stopwatch *>(self);
    return core::monotonic() - watch.started_ns_ > watch.left_ns_ ? 1 : 0;
  }

  const int64_t limit_ns_;
  int64_t left_ns_ = 0, started_ns_ = 0;
};

class Sql final : public Command {
 public:
  static constexpr Param params[] = {
      command_line::kEmbeddedStore,
      param::choice("format", "table|csv|json", "Output format; csv and json stream the rows").defaults("table"),
      command_line::kTimeout,
  };
  static constexpr Description description = {.name = "sql"_str,
                                              .summary = "Run read-only SQL on the embedded store"_str,
                                              .params = params,
                                              .operands = "[STATEMENT]"_str,
                                              .example =
                                                  "atalaya sql \"select metric, count(*) from points group by 1\"\n"
                                                  "atalaya sql --format csv \"select * from metrics\" > metrics.csv\n"
                                                  "atalaya sql < statements.sql"_str};

  explicit Sql(Host host) : options_(command_line::read_options(host)), format_(host.text("format")) {}

  int run(std::span<const atalaya_str> arguments) override {
    return command_line::with_failures([&] {
      if (arguments.size() > 1) throw query::Wrong("too many arguments; put the statement in quotes");
      store::Database database(command_line::sqlite_path(options_), store::Access::read_only);
      store::check_is_store(database);
      if (database.number("PRAGMA user_version") == 0)
        throw Failure(Code::permanent, "database " + database.path() + " is empty; run a pipeline with the sink \"sqlite\" first");
      if (const core::Status done = store::register_points(database.handle()); !done) throw Failure(Code::permanent, done.error());
      sqlite3_set_authorizer(database.handle(), authorize, nullptr);
      Stopwatch watch(database.handle(), options_.limits.time_ns);
      watch_ = &watch;
      if (!arguments.empty()) {
        if (execute(database, std::string(view(arguments[0])))) return 0;
        throw Failure(Code::permanent, problem_);
      }
      return session(database);
    });
  }

 private:
  // Runs all statements of the text. Sets problem_ and returns false on an error.
  bool execute(store::Database &database, const std::string &text) {
    const char *rest = text.c_str();
    while (*rest != '\0') {
      sqlite3_stmt *statement = nullptr;
      const int code = sqlite3_prepare_v2(database.handle(), rest, -1, &statement, &rest);
      const bool good = code == SQLITE_OK && (statement == nullptr || print_rows(statement));
      if (!good) problem_ = problem_of(sqlite3_errcode(database.handle()), sqlite3_errmsg(database.handle()));
      sqlite3_finalize(statement);
      if (!good) return false;
    }
    return true;
  }

  std::string problem_of(int code, const char *text) const {
    switch (code & 0xff) {
      case SQLITE_AUTH:
        return "ATTACH and VACUUM INTO are not available: statements use the store only";
      case SQLITE_INTERRUPT:
        return "stopped after " + watch_->limit_text() + "; narrow the query, or raise --timeout";
      default:
        return text;
    }
  }

  bool print_rows(sqlite3_stmt *statement) const {
    Printer printer(format_, true);
    int code = SQLITE_ROW;
    watch_->begin();
    while ((code = watch_->step(statement)) == SQLITE_ROW) printer.add(statement);
    if (code == SQLITE_DONE) printer.end();
    return code == SQLITE_DONE;
  }

  // Reads statements, which may span lines. An error does not end the session.
  int session(store::Database &database) {
    const bool terminal = ::isatty(0) == 1;
    if (terminal) std::fprintf(stderr, "%s: end a statement with ; and the session with Ctrl-D\n", database.path().c_str());
    std::string text;
    int status = 0;
    char *line = nullptr;
    size_t room = 0;
    while (prompt(terminal, text.empty()), ::getline(&line, &room, stdin) >= 0) {
      text += line;
      if (sqlite3_complete(text.c_str()) == 0) continue;
      if (!execute(database, text)) status = print_problem();
      std::fflush(stdout);
      text.clear();
    }
    std::free(line);
    if (!execute(database, text)) status = print_problem();
    return terminal ? 0 : status;
  }
  int print_problem() const {
    std::fprintf(stderr, "atalaya sql: %s\n", problem_.c_str());
    return 1;
  }
  static void prompt(bool terminal, bool first) {
    if (terminal) std::fputs(first ? "sql> " : "  -> ", stderr);
  }

  const command_line::ReadOptions options_;
  const std::string format_;
  std::string problem_;
  Stopwatch *watch_ = nullptr;  // while statements run
};

}  // namespace
}  // namespace atalaya::sql_command

ATALAYA_PLUGIN("sql", "0.1.0", "command sql", atalaya::sql_command::Sql)
