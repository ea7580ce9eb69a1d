// SPDX-License-Identifier: Apache-2.0
#include "core/control/status_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "core/base/files.h"
#include "core/base/log.h"
#include "core/base/text/json_writer.h"

namespace atalaya::core {
namespace {

constexpr std::array<const char *, 4> kTypes = {"", "source", "stage", "sink"};

const char *type_name(RowType type) {
  return kTypes[static_cast<size_t>(type)];
}

struct Column {
  const char *name;
  int64_t Counts::*value;
};
constexpr Column kColumns[] = {
    {"in", &Counts::in},
    {"created", &Counts::created},
    {"out", &Counts::out},
    {"dropped", &Counts::dropped},
    {"merged", &Counts::merged},
    {"dead_letter", &Counts::dead_letter},
    {"queued", &Counts::queued},
    {"queued_bytes", &Counts::queued_bytes},
    {"gaps", &Counts::gaps},
    {"errors", &Counts::errors},
    {"busy_ns", &Counts::busy_ns},
    {"spooled", &Counts::spooled},
    {"restarts", &Counts::restarts},
};

bool balanced(const std::vector<LedgerRow> &rows) {
  return std::all_of(rows.begin(), rows.end(), [](const LedgerRow &row) { return row.imbalance() == 0; });
}

// The rows grouped by pipeline, in the order of creation.
std::vector<LedgerRow> by_pipeline(const std::vector<LedgerRow> &rows) {
  std::vector<LedgerRow> ordered;
  for (const LedgerRow &row : rows) {
    const auto same = [&](const LedgerRow &other) { return other.pipeline == row.pipeline; };
    const auto last = std::find_if(ordered.rbegin(), ordered.rend(), same);
    ordered.insert(last == ordered.rend() ? ordered.end() : last.base(), row);
  }
  return ordered;
}

void write_row(JsonWriter &json, const LedgerRow &row) {
  json.object().key("pipeline").text(row.pipeline).key("component").text(row.component).key("type").text(type_name(row.type));
  for (const Column &column : kColumns) json.key(column.name).integer(row.counts.*column.value);
  json.key("reasons").object();
  for (const auto &[reason, samples] : row.reasons) json.key(reason).integer(samples);
  json.end_object().end_object();
}

// The problems, printed before all tables.
void append_trouble(std::string &out, const LedgerRow &row) {
  const Counts &c = row.counts;
  std::string text;
  const auto add = [&text](int64_t count, const char *what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(c.errors, "errors");
  add(c.gaps, "windows skipped");
  add(c.restarts, "restarts of its process");
  add(c.dead_letter, "dead letters");
  add(row.type == RowType::sink ? c.dropped : 0, "samples dropped");
  if (!text.empty()) out += "! " + row.pipeline + ": " + row.component + ": " + text + "\n";
}

}  // namespace

std::string status_json(const AgentFacts &facts, const std::vector<LedgerRow> &rows) {
  char uptime[32];
  std::snprintf(uptime, sizeof(uptime), "%.1f", facts.uptime_s);
  JsonWriter json;
  json.object().key("version").text(facts.version).key("pid").integer(facts.pid).key("launcher").integer(facts.launcher);
  json.key("uptime").raw(uptime).key("file").text(facts.file).key("balanced").boolean(balanced(rows)).key("ledger").list();
  for (const LedgerRow &row : rows) write_row(json, row);
  return json.end_list().end_object().take() + "\n";
}

std::string status_table(const AgentFacts &facts, const std::vector<LedgerRow> &rows_as_made) {
  const std::vector<LedgerRow> rows = by_pipeline(rows_as_made);
  char line[512];
  std::snprintf(line, sizeof(line), "atalaya %s, pid %d, up %.0f s, %s\nledger: %s\n", facts.version.c_str(), facts.pid,
                facts.uptime_s, facts.file.c_str(), balanced(rows) ? "balanced" : "NOT BALANCED, please report this");
  std::string out = line;
  for (const LedgerRow &row : rows) append_trouble(out, row);
  std::string pipeline;
  for (const LedgerRow &row : rows) {
    if (row.pipeline != pipeline || &row == rows.data()) {
      pipeline = row.pipeline;
      std::snprintf(line, sizeof(line), "\n%-23.23s %11s %11s %9s %8s %6s %6s\n", pipeline.c_str(), "in", "out", "dropped",
                    "merged", "queued", "busy s");
      out += line;
    }
    const Counts &c = row.counts;
    std::snprintf(line, sizeof(line), "%-23.23s %11" PRId64 " %11" PRId64 " %9" PRId64 " %8" PRId64 " %6" PRId64 " %6.1f\n",
                  row.component.c_str(), c.in + c.created, c.out, c.dropped + c.dead_letter, c.merged, c.queued,
                  static_cast<double>(c.busy_ns) / 1e9);
    out += line;
    for (const auto &[reason, samples] : row.reasons) out += "    dropped " + std::to_string(samples) + ": " + reason + "\n";
  }
  return out;
}

Result<std::unique_ptr<StatusServer>> StatusServer::listen(const std::string &path, Answer answer, SlowAnswers::Make doctor) {
  auto address = unix_address(path);
  if (!address) return Error{address.error()};
  if (const Status made = make_folders(folder_of(path)); !made) return Error{made.error()};
  if (const Status own = check_own_folder(folder_of(path)); !own) return Error{own.error() + "; this agent has no status"};
  if (connect_unix(path))
    return Error{path + ": another agent uses this socket; this agent has no status (use another socket with --socket)"};
  ::unlink(path.c_str());  // the socket of a killed agent
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int stop[2] = {-1, -1};
  if (!socket || ::pipe2(stop, O_CLOEXEC) != 0) return Error{"status socket: " + error_text(errno)};
  Descriptor stop_read(stop[0]);
  Descriptor stop_write(stop[1]);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(sockaddr_un)) != 0 ||
      ::chmod(path.c_str(), 0660) != 0 || ::listen(socket.get(), 16) != 0)
    return Error{path + ": " + error_text(errno)};
  return std::unique_ptr<StatusServer>(
      new StatusServer(path, std::move(socket), std::move(stop_read), std::move(stop_write), std::move(answer), std::move(doctor)));
}

StatusServer::StatusServer(std::string path, Descriptor socket, Descriptor stop_read, Descriptor stop_write, Answer answer,
                           SlowAnswers::Make doctor)
    : path_(std::move(path)),
      socket_(std::move(socket)),
      stop_read_(std::move(stop_read)),
      stop_write_(std::move(stop_write)),
      answer_(std::move(answer)),
      doctor_(std::move(doctor)),
      thread_([this] { serve(); }) {}

StatusServer::~StatusServer() {
  stop_write_.reset();  // the reader sees the hang-up
  thread_.join();
  ::unlink(path_.c_str());
}

void StatusServer::serve() {
  for (;;) {
    pollfd wait[2] = {{socket_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    if ((wait[0].revents & POLLIN) == 0) continue;
    Descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) answer(std::move(client));
  }
}

void StatusServer::answer(Descriptor client) {
  char request[16] = {};
  size_t size = 0;
  while (size < sizeof(request) - 1 && std::memchr(request, '\n', size) == nullptr) {
    if (!ready(client.get(), POLLIN, kStatusTimeoutMs)) return;
    const ssize_t got = ::read(client.get(), request + size, sizeof(request) - 1 - size);
    if (got <= 0) return;
    size += static_cast<size_t>(got);
  }
  if (std::strncmp(request, "doctor\n", 7) == 0)
    doctor_.add(std::move(client));
  else
    send_all(client.get(), answer_(std::strncmp(request, "json\n", 5) == 0));
}

}  // namespace atalaya::core
