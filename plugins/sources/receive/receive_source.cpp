// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/receive_source.h"

#include <algorithm>
#include <chrono>

#include "core/base/now.h"
#include "plugins/shared/protocols/collectd/collectd.h"
#include "plugins/shared/protocols/statsd/statsd.h"

namespace atalaya::receive {
namespace {

using core::monotonic;
using core::realtime;

using Steady = std::chrono::steady_clock;

// Two batches in flight keep a sink busy while the next one is filled.
constexpr size_t kMaxInFlight = 2;
// A commit costs as much as many points: requests that follow each other within kLull share one batch, until kMaxPause after the
// last one. Senders that all wait for their answers wait for kLull at most; a request after a longer pause does not wait.
constexpr int64_t kMinPause = 5'000'000, kMaxPause = 25'000'000, kLull = 3'000'000;
constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr uint64_t kBatchSamples = 50'000;
constexpr int64_t kCollectdWindow = 1'000'000'000;
constexpr auto kLastAnswers = std::chrono::seconds(2);

Quotas quotas_of(const Host &host) {
  return {static_cast<uint64_t>(host.integer("hourly_bytes")), host.integer("hourly_cpu"),
          static_cast<uint64_t>(host.integer("hourly_series"))};
}

}  // namespace

ReceiveSource::ReceiveSource(Host host)
    : host_(host),
      address_(http_server::parse_address(host.text("listen"))),
      max_decoded_(static_cast<size_t>(host.integer("max_decoded"))),
      store_timeout_ns_(host.integer("store_timeout")),
      senders_(quotas_of(host), [host](std::string_view text) { host.log(Level::warning, text); }),
      builder_(host, static_cast<size_t>(host.integer("max_names"))),
      own_metrics_(host, host.integer("metrics_every")) {
  rules_.strict = host.boolean("strict");
  options_.http = http_server::read_options(host);
  options_.http.half_per_address = true;
  options_.http.threads = static_cast<unsigned>(host.integer("threads"));
  options_.max_body = static_cast<size_t>(host.integer("max_body"));
  options_.max_waiting = static_cast<size_t>(host.integer("max_waiting"));
  options_.influx = host.boolean("influx");
  options_.otlp = host.boolean("otlp");
  tls_ = http_server::read_tls_files(host);
  http_server::load_tls(tls_, options_.http);
}

void ReceiveSource::start() {
  if (server_) return;
  if (const auto path = host_.find("tokens")) tokens_ = std::make_unique<http_server::Tokens>(std::string(path->text()));
  http_server::load_tls(tls_, options_.http);
  http_server::Listener listener = http_server::open_listener(address_);
  http_server::check_reach(listener, tokens_ != nullptr, host_.boolean("open"));
  const std::string name = listener.name;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = false;
  }
  server_ = std::make_unique<Server>(
      options_, tokens_.get(), [this](Request &request, std::string_view address) { return admit(request, address); },
      [this](const std::shared_ptr<Request> &request) { return enqueue(request); },
      [this](const Request &request, unsigned status) {
        (request.sender ? *request.sender : senders_.unidentified_sender()).counts.count_answer(status);
      },
      [host = host_](std::string_view text) { host.log(Level::warning, text); });
  try {
    server_->start(std::move(listener));
  } catch (...) {
    server_.reset();
    throw;
  }
  host_.log(Level::info, "listening on " + name + (options_.http.certificate.empty() ? "" : " (TLS)"));
  open_datagrams("statsd", protocols::make_statsd(), host_.integer("statsd_window"));
  open_datagrams("collectd", protocols::make_collectd(), kCollectdWindow);
}

// Datagrams have no token: `open` decides whether other hosts may send them.
void ReceiveSource::open_datagrams(const char *name, std::unique_ptr<protocols::DatagramProtocol> protocol, int64_t window_ns) {
  const auto address = host_.find(name);
  if (!address) return;
  http_server::Listener listener = http_server::open_datagrams(http_server::parse_address(address->text()));
  http_server::check_reach(listener, false, host_.boolean("open"));
  const SenderPtr sender = senders_.find_or_add(name, monotonic());
  const auto deliver = [this, sender](protocols::DatagramWindow window) {
    const auto request = std::make_shared<Request>();
    request->sender = sender;
    request->datagrams = std::move(window);
    if (enqueue(request)) discard(*request);
  };
  const auto dropped = [host = host_](std::string_view reason, uint64_t values) { host.dropped(reason, values); };
  datagram_readers_.push_back(
      std::make_unique<DatagramReader>(std::move(listener.socket), std::move(protocol), window_ns, deliver, dropped));
  host_.log(Level::info, std::string(name) + ": reading datagrams on " + listener.name);
}

// Counts the datagrams of a discarded request as dropped, because nobody sends them again.
void ReceiveSource::discard(const Request &request) {
  if (request.datagrams) host_.dropped("datagrams that the sinks did not hold in time", request.datagrams->values);
}

std::optional<Answer> ReceiveSource::admit(Request &request, std::string_view address) {
  const int64_t now = monotonic();
  request.sender = senders_.find_or_add(address, now);
  const auto refusal = senders_.refusal(*request.sender, now);
  if (!refusal) return std::nullopt;
  return throttle(refusal->why, refusal->retry_after);
}

std::optional<Answer> ReceiveSource::enqueue(const std::shared_ptr<Request> &request) {
  const std::lock_guard lock(mutex_);
  if (stopping_ && !request->datagrams) return unavailable("The agent is stopping");
  last_arrival_ = monotonic();
  if (queue_.empty()) wake_.notify_all();  // otherwise the thread of run already waits for the next batch, or for a sink
  queue_.push({request, last_arrival_});
  return std::nullopt;
}

int64_t ReceiveSource::next_deadline() const {
  int64_t next = own_metrics_.due_ns();
  if (!queue_.empty()) next = queue_.oldest().since + store_timeout_ns_;
  for (const auto &[id, pendings] : in_flight_)
    for (const Pending &pending : pendings) next = std::min(next, pending.deadline);
  return next;
}

// Call with the lock held.
int64_t ReceiveSource::next_batch() const {
  return std::clamp(last_arrival_ + kLull, last_batch_ + kMinPause, last_batch_ + kMaxPause);
}

// Call with the lock held. Answers senders whose sinks are too slow; their points may still be stored later.
void ReceiveSource::answer_expired() {
  const int64_t now = monotonic();
  for (auto &[id, pendings] : in_flight_) {
    for (Pending &pending : pendings) {
      if (now < pending.deadline) continue;
      pending.deadline = INT64_MAX;
      pending.request->answer(pending.late ? *pending.late : unavailable("The sinks did not hold the points in time"));
    }
  }
  while (!queue_.empty() && now >= queue_.oldest().since + store_timeout_ns_) {
    const Waiting late = queue_.pop_oldest();
    server_->release(*late.request);
    late.request->answer(unavailable("The sinks did not hold the points in time"));
    discard(*late.request);
  }
}

std::optional<Waiting> ReceiveSource::next(bool has_requests) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopping_) return std::nullopt;
    answer_expired();
    const bool room = !queue_.empty() && in_flight_.size() < kMaxInFlight;
    if (room && (has_requests || monotonic() >= next_batch())) break;
    if (has_requests || monotonic() >= own_metrics_.due_ns()) return std::nullopt;
    const int64_t deadline = room ? std::min(next_deadline(), next_batch()) : next_deadline();
    if (deadline == INT64_MAX) {
      wake_.wait(lock);
    } else {
      wake_.wait_until(lock, Steady::time_point(std::chrono::nanoseconds(deadline)));
    }
  }
  Waiting waiting = queue_.pop();
  server_->release(*waiting.request);
  return waiting;
}

bool ReceiveSource::add_own_metrics() {
  const int64_t now = monotonic();
  if (now < own_metrics_.due_ns()) return false;
  own_metrics_.add(builder_.batch(), senders_, builder_.names().counted(), now, realtime());
  return true;
}

Code ReceiveSource::run() {
  own_metrics_.start(monotonic(), realtime());
  for (;;) {
    Pendings pending;
    if (batch_ == nullptr) {
      if (host_.raw()->new_batch(host_.raw()->self, &batch_) != ATALAYA_OK) throw std::bad_alloc();
      builder_.begin_batch(batch_);
    }
    decoded_ = 0;
    const bool has_own = add_own_metrics();
    while (decoded_ < kBatchBytes && builder_.samples() < kBatchSamples) {
      const auto waiting = next(has_own || !pending.empty());
      if (!waiting) break;
      read_safely(*waiting, pending);
    }
    if (has_own || !pending.empty()) {
      emit(std::move(pending));
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (stopping_) break;
  }
  emit_last_datagrams();
  return Code::ok;
}

// Emits the datagram window that the stop ends, because its senders will not send it again. Senders of requests get an answer.
void ReceiveSource::emit_last_datagrams() {
  datagram_readers_.clear();
  Pendings pending;
  const auto pop = [this]() -> std::optional<Waiting> {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return std::nullopt;
    Waiting waiting = queue_.pop_oldest();
    server_->release(*waiting.request);
    return waiting;
  };
  while (const auto waiting = pop()) {
    if (waiting->request->datagrams)
      read_safely(*waiting, pending);
    else
      waiting->request->answer(unavailable("The agent is stopping"));
  }
  if (!pending.empty()) emit(std::move(pending));
}

protocols::Account ReceiveSource::parse(const Request &request) {
  protocols::Rules rules = rules_;
  rules.details = request.details;
  if (request.datagrams) return request.datagrams->read(rules, builder_);
  switch (request.form) {
    case Form::put:
      return reader_.read_put(text_, rules, builder_);
    case Form::stacks:
      return reader_.read_stacks(text_, rules, builder_);
    case Form::flat:
      return flat_reader_.read(text_, rules, builder_);
    case Form::influx:
      return influx_reader_.read(text_, request.unit_ns, realtime(), rules, builder_);
    case Form::otlp:
      return request.json ? otlp_reader_.read_json(text_, rules, builder_) : otlp_reader_.read(text_, rules, builder_);
    case Form::lines:
      break;
  }
  return reader_.read_lines(text_, rules, builder_);
}

// Ensures that every request gets an answer, and its sender pays for it.
void ReceiveSource::read_safely(const Waiting &waiting, Pendings &pending) {
  const int64_t begin = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const size_t decoded_before = decoded_;
  const uint64_t samples_before = builder_.samples();
  builder_.begin_request(waiting.request->sender, monotonic());
  try {
    read(waiting, pending);
  } catch (const std::exception &) {
    builder_.undo_request();
    waiting.request->answer(unavailable("Out of memory"));
  }
  const int64_t cost = core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
  SenderCounts &counts = waiting.request->sender->counts;
  counts.bytes += decoded_ - decoded_before;
  counts.samples += builder_.samples() - samples_before;
  senders_.charge(*waiting.request->sender, decoded_ - decoded_before, cost, monotonic());
  const std::lock_guard lock(mutex_);
  queue_.charge(cost);
}

void ReceiveSource::log_full_names(const Request &request) const {
  const NameBudget &names = builder_.names();
  const std::string sender = "sender " + request.sender->name;
  if (names.total_is_reached())
    host_.log(Level::warning,
              "senders have added all names of metrics and tags that the agent can keep; points with further names are refused "
              "until it restarts; find out who sends them (atalaya query --metric receive.samples --group-by sender)");
  else if (names.full())
    host_.log(Level::warning,
              "senders have used max_names distinct names of metrics and tags, or 16 MiB of them; points with further names are "
              "refused until nobody has sent some of these for an hour");
  else if (names.sender_full(*request.sender))
    host_.log(Level::warning,
              sender +
                  " has used half of max_names, or of their 16 MiB; its points with further names are refused until "
                  "nobody has sent some of these for an hour; raise max_names if it needs them");
  else if (!names.permits(request.sender.get()))
    host_.log(Level::warning, sender +
                                  " has added its share of all names that the agent can keep; its points with further names are "
                                  "refused until the agent restarts");
}

void ReceiveSource::read(const Waiting &waiting, Pendings &pending) {
  Request &request = *waiting.request;
  const io::Decoder::Result decoded =
      decoder_.decode(request.encoding, request.body, max_decoded_, protocols::DocumentReader::kPadding, text_);
  std::string().swap(request.body);
  if (decoded == io::Decoder::Result::corrupt)
    return request.answer(error_answer(400, "Unable to decode the body", "The body does not match its Content-Encoding"));
  if (decoded == io::Decoder::Result::too_large)
    return request.answer(
        error_answer(413, "Request too large", "The maximum is " + std::to_string(max_decoded_) + " bytes after decompression"));
  decoded_ += text_.size();
  const protocols::Account account = parse(request);
  if (!account.fatal.empty()) builder_.undo_request();
  host_.dropped("refused with an error to the sender", account.failed);
  if (account.failed > 0) log_full_names(request);
  Answer answer = answer_for(request, account);
  if (!account.fatal.empty() || account.good == 0) return request.answer(std::move(answer));
  Pending added{waiting.request, std::move(answer), std::nullopt, waiting.since + store_timeout_ns_};
  if (request.sync_timeout_ms) {
    const int64_t own = waiting.since + std::min(*request.sync_timeout_ms, int64_t{3'600'000}) * 1'000'000;
    if (own < added.deadline) {
      added.deadline = own;
      added.late = timeout_answer(request, account);
    }
  }
  pending.push_back(std::move(added));
}

void ReceiveSource::settle(const Pendings &pending, Code status) {
  for (const Pending &one : pending)
    one.request->answer(status == Code::ok ? one.answer : unavailable("A sink refused the points, or they were dropped"));
}

void ReceiveSource::emit(Pendings pending) {
  {
    const std::lock_guard lock(mutex_);
    emitting_ = true;
    last_batch_ = monotonic();
  }
  uint64_t id = 0;
  const int32_t code = host_.raw()->emit(host_.raw()->self, std::exchange(batch_, nullptr), &id);
  Code status = Code::permanent;  // the host is stopping; the batch was not accepted
  {
    const std::lock_guard lock(mutex_);
    emitting_ = false;
    const auto known = early_.find(id);
    if (code == ATALAYA_OK && known == early_.end()) {
      in_flight_.emplace(id, std::move(pending));
      return;
    }
    if (code == ATALAYA_OK) status = known->second;
    early_.clear();
  }
  if (code != ATALAYA_OK)
    for (const Pending &lost : pending) discard(*lost.request);
  settle(pending, status);
}

void ReceiveSource::acked(uint64_t batch_id, Code status) noexcept {
  Pendings pending;
  {
    const std::lock_guard lock(mutex_);
    const auto found = in_flight_.find(batch_id);
    if (found == in_flight_.end()) {
      if (emitting_) early_.emplace(batch_id, status);
      return;
    }
    pending = std::move(found->second);
    in_flight_.erase(found);
    wake_.notify_all();
  }
  settle(pending, status);
}

void ReceiveSource::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

void ReceiveSource::stop() {
  if (!server_) return;
  server_->quiesce();
  datagram_readers_.clear();
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    // Waits for the sinks, so that senders of stored points get 204 and do not send them again.
    wake_.wait_for(lock, kLastAnswers, [this] { return in_flight_.empty(); });
    queue_.each([this](const Waiting &waiting) {
      waiting.request->answer(unavailable("The agent is stopping"));
      discard(*waiting.request);
    });
    for (const auto &[id, pendings] : in_flight_) settle(pendings, Code::permanent);
    queue_.clear();
    in_flight_.clear();
  }
  server_->stop();
  server_.reset();
  tokens_.reset();
}

}  // namespace atalaya::receive
