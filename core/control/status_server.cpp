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
#include <filesystem>

#include "core/base/json.h"
#include "core/base/log.h"

namespace atalaya::core {
namespace {

constexpr int kTimeoutMs = 2000;
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

void append_row(std::string &out, const LedgerRow &row) {
  out += "{\"pipeline\":";
  append_json_string(out, row.pipeline);
  out += ",\"component\":";
  append_json_string(out, row.component);
  out += ",\"type\":\"";
  out += type_name(row.type);
  out += '"';
  for (const Column &column : kColumns) out += ",\"" + std::string(column.name) + "\":" + std::to_string(row.counts.*column.value);
  out += ",\"reasons\":{";
  const char *separator = "";
  for (const auto &[reason, samples] : row.reasons) {
    out += separator;
    append_json_string(out, reason);
    out += ":" + std::to_string(samples);
    separator = ",";
  }
  out += "}}";
}

Result<sockaddr_un> address_of(const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return Error{path + ": too long for a Unix socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<Descriptor> connect_to(const std::string &path) {
  auto address = address_of(path);
  if (!address) return Error{address.error()};
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error{"socket: " + error_text(errno)};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(sockaddr_un)) != 0)
    return Error{path + ": " + error_text(errno)};
  return socket;
}

std::string folder_of(const std::string &path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

bool ready(int fd, short events, int timeout_ms) {
  pollfd wait{fd, events, 0};
  return ::poll(&wait, 1, timeout_ms) > 0;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    if (!ready(fd, POLLOUT, kTimeoutMs)) return false;
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// What is not as it should be, above all tables.
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
  std::string out = "{\"version\":\"" + facts.version + "\",\"pid\":" + std::to_string(facts.pid) +
                    ",\"launcher\":" + std::to_string(facts.launcher) + ",\"uptime\":" + uptime + ",\"file\":";
  append_json_string(out, facts.file);
  out += std::string(",\"balanced\":") + (balanced(rows) ? "true" : "false") + ",\"ledger\":[";
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) out += ",";
    append_row(out, rows[i]);
  }
  return out + "]}\n";
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

std::string default_status_socket() {
  return runtime_folder() + "/status.sock";
}

Result<std::unique_ptr<StatusServer>> StatusServer::listen(const std::string &path, Answer answer) {
  auto address = address_of(path);
  if (!address) return Error{address.error()};
  if (const Status made = make_folders(folder_of(path)); !made) return Error{made.error()};
  if (const Status own = check_own_folder(folder_of(path)); !own) return Error{own.error() + "; this agent has no status"};
  if (connect_to(path))
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
      new StatusServer(path, std::move(socket), std::move(stop_read), std::move(stop_write), std::move(answer)));
}

StatusServer::StatusServer(std::string path, Descriptor socket, Descriptor stop_read, Descriptor stop_write, Answer answer)
    : path_(std::move(path)),
      socket_(std::move(socket)),
      stop_read_(std::move(stop_read)),
      stop_write_(std::move(stop_write)),
      answer_(std::move(answer)),
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
    const Descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) answer(client.get());
  }
}

void StatusServer::answer(int client) const {
  char request[16] = {};
  size_t size = 0;
  while (size < sizeof(request) - 1 && std::memchr(request, '\n', size) == nullptr) {
    if (!ready(client, POLLIN, kTimeoutMs)) return;
    const ssize_t got = ::read(client, request + size, sizeof(request) - 1 - size);
    if (got <= 0) return;
    size += static_cast<size_t>(got);
  }
  send_all(client, answer_(std::strncmp(request, "json\n", 5) == 0));
}

static constexpr const char *kCheckAgent =
    "; check that an agent is running (atalaya run FILE, or systemctl status atalaya), and see --socket "
    "(service: /run/atalaya/status.sock)";

Result<std::string> ask_status(const std::string &path, bool json) {
  // If other users can write to the folder, any of them could answer.
  if (const Status own = check_given_folder(folder_of(path)); !own) return Error{"no agent answers: " + own.error() + kCheckAgent};
  auto socket = connect_to(path);
  if (!socket) return Error{"no agent answers at " + socket.error() + kCheckAgent};
  if (!send_all(socket->get(), json ? "json\n" : "table\n")) return Error{path + ": the agent does not accept the request"};
  std::string text;
  char buffer[16384];
  for (;;) {
    if (!ready(socket->get(), POLLIN, kTimeoutMs)) return Error{path + ": the agent does not answer"};
    const ssize_t size = ::read(socket->get(), buffer, sizeof(buffer));
    if (size < 0) return Error{path + ": " + error_text(errno)};
    if (size == 0 && (text.empty() || text.back() != '\n')) return Error{path + ": the answer of the agent is incomplete"};
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
  }
}

}  // namespace atalaya::core
