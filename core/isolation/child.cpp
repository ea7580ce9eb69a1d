// SPDX-License-Identifier: Apache-2.0
// The process of one isolated component: waits for calls, makes them, answers. Its main thread is the instance's own thread; a
// second one receives notices and ends the process if the host has ended, even if the component hangs.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/isolation/call.h"
#include "core/isolation/launcher/capabilities.h"
#include "core/isolation/launcher/launcher.h"
#include "core/isolation/shared_memory.h"
#include "core/isolation/wire.h"
#include "core/plugin/instance.h"
#include "core/plugin/verify/check.h"

namespace atalaya::core {
namespace {

// Sends requests to the host, one thread at a time. Ends this process if the host has ended.
class Asker {
 public:
  std::string ask(const Writer &request) {
    const std::lock_guard lock(mutex_);
    if (!send_message(kRequestFd, request.bytes())) ::_exit(1);
    auto answer = receive_message(kRequestFd);
    if (!answer) ::_exit(1);
    return std::move(*answer);
  }
  static void announce_answer() {
    if (!send_message(kRequestFd, Writer().number(Request::answered).bytes())) ::_exit(1);
  }

 private:
  std::mutex mutex_;
};

// The host's names: an id is the same in both processes. Answers are cached.
class HostNames final : public NameTable {
 public:
  explicit HostNames(Asker &asker) : asker_(asker) {}
  ~HostNames() override {
    for (auto &chunk : chunks_) delete chunk.load();
  }
  HostNames(const HostNames &) = delete;
  HostNames &operator=(const HostNames &) = delete;

  uint32_t intern(std::string_view name) override {
    if (name.empty() || name.size() > Symbols::kMaxNameSize) return 0;
    const std::lock_guard lock(mutex_);
    if (const auto known = ids_.find(std::string(name)); known != ids_.end()) return known->second;
    const std::string answer = asker_.ask(Writer().number(Request::intern).text(name));
    const auto id = Reader(answer).number<uint32_t>();
    if (id != 0) keep(id, name);
    return id;
  }

  // Known names need no lock, because encoders read the name of every field.
  std::string_view name(uint32_t id) const override {
    if (id == 0 || id > Symbols::kMaxNames) return {};
    if (const std::string *known = find(id)) return *known;
    const std::lock_guard lock(mutex_);
    if (const std::string *known = find(id)) return *known;
    const std::string answer = asker_.ask(Writer().number(Request::name_of).number(id));
    Reader reader(answer);
    const std::string_view name = reader.text();
    return name.empty() ? std::string_view{} : keep(id, name);
  }

  // Needs no lock for known metrics, nor for those that the host lacked at the start of the call.
  const atalaya_metric_info *metric(uint32_t id) const override {
    if (const atalaya_metric_info *known = catalogue_.find(id)) return known;
    const uint32_t size = catalogue_size_.load(std::memory_order_relaxed);
    if (id == 0 || id > Symbols::kMaxNames || name(id).empty()) return nullptr;
    std::atomic<uint32_t> &missed = chunks_[(id - 1) / kChunk].load(std::memory_order_acquire)->missed[(id - 1) % kChunk];
    if (missed.load(std::memory_order_relaxed) == size) return nullptr;
    const std::string answer = asker_.ask(Writer().number(Request::metric_of).number(id));
    Reader reader(answer);
    const bool found = reader.number<uint8_t>() != 0;
    const atalaya_metric_info info = read_metric(reader);
    if (found && reader.ok()) {
      catalogue_.declare(id, info);
      if (const atalaya_metric_info *known = catalogue_.find(id)) return known;  // null when the catalogue is full
    }
    missed.store(size, std::memory_order_relaxed);
    return nullptr;
  }
  Catalogue::Outcome declare(std::string_view name, const atalaya_metric_info &info, std::string_view) override {
    if (metric_problem(info) != nullptr || name.empty() || name.size() > Symbols::kMaxNameSize) return Catalogue::Outcome::invalid;
    Writer request;
    write_metric(with_short_texts(info), request.number(Request::declare).text(name));
    const std::string answer = asker_.ask(request);
    return Reader(answer).number<Catalogue::Outcome>();
  }
  void expect(uint32_t catalogue_size) { catalogue_size_.store(catalogue_size + 1, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kChunk = 1024;
  struct Chunk {
    std::array<std::atomic<const std::string *>, kChunk> names{};
    std::array<std::atomic<uint32_t>, kChunk> missed{};  // size of the host's catalogue when it did not have the metric
  };

  const std::string *find(uint32_t id) const {
    const Chunk *chunk = chunks_[(id - 1) / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk->names[(id - 1) % kChunk].load(std::memory_order_acquire);
  }
  std::string_view keep(uint32_t id, std::string_view name) const {
    const std::string &kept = ids_.emplace(name, id).first->first;  // stays at its address
    auto &chunk = chunks_[(id - 1) / kChunk];
    if (chunk.load() == nullptr) chunk.store(std::make_unique<Chunk>().release(), std::memory_order_release);
    chunk.load()->names[(id - 1) % kChunk].store(&kept, std::memory_order_release);
    return kept;
  }

  Asker &asker_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, uint32_t> ids_;
  mutable std::array<std::atomic<Chunk *>, Symbols::kMaxNames / kChunk + 1> chunks_{};
  mutable Catalogue catalogue_;
  std::atomic<uint32_t> catalogue_size_{1};  // the host's, plus 1
};

// Collects counts for the next answer.
class Tallies {
 public:
  void add(int32_t what, std::string_view reason, uint64_t samples) {
    const std::lock_guard lock(mutex_);
    reason = reason.substr(0, Counted{}.reason.size());
    for (Counted &known : counted_) {
      if (known.what != what || std::string_view(known.reason.data(), known.reason_size) != reason) continue;
      known.samples += samples;
      return;
    }
    Counted counted{what, static_cast<uint32_t>(reason.size()), samples, {}};
    std::copy(reason.begin(), reason.end(), counted.reason.begin());
    counted_.push_back(counted);
  }
  void move_to(Answer &answer) {
    const std::lock_guard lock(mutex_);
    const size_t count = std::min(counted_.size(), answer.counts.size());
    std::copy_n(counted_.begin(), count, answer.counts.begin());
    counted_.erase(counted_.begin(), counted_.begin() + static_cast<long>(count));
    answer.counted = static_cast<uint32_t>(count);
  }

 private:
  std::mutex mutex_;
  std::vector<Counted> counted_;
};

class ChildProcess : public Surroundings {
 public:
  ChildProcess(SharedMemory control, SharedMemory batches)
      : control_memory_(std::move(control)),
        batches_(std::move(batches)),
        control_(*reinterpret_cast<Control *>(control_memory_.data())) {}

  [[noreturn]] void serve() {
    std::thread([this] { hear(); }).detach();
    for (uint32_t done = 0;;) {
      const uint32_t called = control_.called.load(std::memory_order_acquire);
      if (called == done) {
        futex_wait(control_.called, called, INT64_MAX);
        continue;
      }
      done = called;
      answer(done, control_.call);
    }
  }

  void log(LogLevel level, std::string_view text) override {
    asker_.ask(Writer().number(Request::log).number(static_cast<int32_t>(level)).text(text));
  }
  void count(int32_t what, std::string_view reason, uint64_t samples) override { tallies_.add(what, reason, samples); }
  BatchOwner new_batch() override { return std::make_unique<Batch>(); }
  int32_t emit(BatchOwner batch, uint64_t &id) override {
    const std::lock_guard lock(emit_mutex_);
    size_t used = 0;
    const auto put = put_batch(batch->raw(), memory(), used);
    if (!put) {
      log(LogLevel::error, put.error());
      return ATALAYA_PERMANENT;
    }
    control_.answer.batch = put.value();
    tallies_.move_to(control_.answer);
    const uint32_t number = control_.emitted.load() + 1;
    control_.emitted.store(number, std::memory_order_release);
    tell_host();
    for (uint32_t seen = 0; (seen = control_.emit_answered.load(std::memory_order_acquire)) != number;)
      futex_wait(control_.emit_answered, seen, INT64_MAX);
    id = control_.emit_answer.id;
    return control_.emit_answer.code;
  }
  std::optional<std::string> state_dir() override {
    const std::string answer = asker_.ask(Writer().number(Request::state_dir));
    const std::string_view path = Reader(answer).text();
    return path.empty() ? std::nullopt : std::optional<std::string>(path);
  }
  bool ledger(uint64_t row, atalaya_ledger_row &out) override {
    if (row == 0) rows_.clear();
    rows_.push_back(asker_.ask(Writer().number(Request::ledger).number(row)));  // the texts of a row stay until the next row 0
    Reader reader(rows_.back());
    if (reader.number<uint8_t>() == 0) return false;
    out = read_row(reader);
    return true;
  }

 private:
  BatchMemory memory() const { return {batches_.data(), batches_.size(), reinterpret_cast<uint64_t>(batches_.data())}; }

  void tell_host() {
    control_.news.fetch_add(1, std::memory_order_release);
    futex_wake(control_.news);
  }

  void answer(uint32_t number, const Call &call) {
    names_.expect(call.metrics);
    Answer &answer = control_.answer;
    answer.retry_after_ns = 0;
    const Outcome outcome = make(call, answer);
    answer.code = outcome.code;
    answer.text_size = static_cast<uint32_t>(outcome.text.copy(answer.text.data(), answer.text.size()));
    answer.base = memory().base;
    tallies_.move_to(answer);
    control_.answered.store(number, std::memory_order_release);
    tell_host();
    if (call.announce != 0) Asker::announce_answer();
    if (call.op == Op::destroy) ::_exit(0);
  }

  Outcome make(const Call &call, Answer &answer) {
    if (call.op == Op::create) return create(call);
    if (instance_ == nullptr) return {ATALAYA_PERMANENT, "there is no instance"};
    switch (call.op) {
      case Op::create:
        break;
      case Op::start:
        return instance_->start();
      case Op::stop:
        return instance_->stop();
      case Op::destroy:
        destroy();
        return {};
      case Op::collect:
      case Op::process:
        return on_batch(call, answer);
      case Op::run:
        return instance_->run();
      case Op::write: {
        const atalaya_batch batch{sizeof(atalaya_batch), sizeof(atalaya_sample), call.batch.count, samples_of(call), nullptr};
        return instance_->write(batch, answer.retry_after_ns);
      }
      case Op::flush:
        return instance_->flush(call.deadline_ns);
    }
    return {ATALAYA_UNSUPPORTED, "this call is not known"};
  }

  static atalaya_sample *samples_of(const Call &call) { return reinterpret_cast<atalaya_sample *>(call.batch.samples); }

  Outcome on_batch(const Call &call, Answer &answer) {
    Batch batch(batches_.data() + call.used, batches_.size() - call.used, samples_of(call), call.batch.count);
    const atalaya_window window = call.window;
    Outcome outcome = call.op == Op::collect ? instance_->collect(window, batch) : instance_->process(window, batch);
    answer.batch = {reinterpret_cast<uint64_t>(batch.raw().samples), batch.raw().count};
    return outcome;
  }

  Outcome create(const Call &call) {
    const std::string_view bytes(reinterpret_cast<const char *>(batches_.data()), call.used);
    auto order = decode_order(bytes);
    if (!order) return {ATALAYA_PERMANENT, "the order to create it is damaged"};
    ::prctl(PR_SET_NAME, order->name.substr(0, 15).c_str());
    // Standard output is for results, which sinks write; other plugins must not print there.
    if (order->kind != ATALAYA_SINK) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    // An attacker in the agent must not choose the file that gets capabilities.
    const uint64_t held = permitted_capabilities();
    if (const Status roots = held == 0 ? Done{} : check_owned_by_root(order->path); !roots)
      return {ATALAYA_PERMANENT, order->label + ": " + order->path + ": " + roots.error()};
    auto plugin = Plugin::open(order->path);
    if (!plugin) return {ATALAYA_PERMANENT, order->label + ": " + plugin.error()};
    for (const atalaya_component *component : (*plugin)->components()) {
      if (component->kind != order->kind || view_of(component->name) != order->name) continue;
      if (const uint64_t undeclared = held & ~declared_capabilities(*component); undeclared != 0)
        return {ATALAYA_PERMANENT, order->label + ": does not declare " + capability_names(undeclared) + ", so it does not get it"};
      auto made = Instance::create({*plugin, component}, std::move(order->parameters), std::move(order->label), names_, *this);
      if (!made) return {ATALAYA_BAD_CONFIG, made.error()};
      const std::lock_guard lock(instance_mutex_);
      instance_ = std::move(*made);
      return {};
    }
    return {ATALAYA_PERMANENT,
            order->label + ": " + order->path + ": no longer offers it; the file changed since atalaya started: start it again"};
  }

  void destroy() {
    const std::lock_guard lock(instance_mutex_);
    instance_.reset();
  }

  // The second thread.
  void hear() {
    while (const auto message = receive_message(kNoticeFd)) {
      Reader reader(*message);
      const auto notice = reader.number<Notice>();
      const std::lock_guard lock(instance_mutex_);
      if (instance_ == nullptr) continue;
      if (notice == Notice::interrupt) instance_->interrupt();
      if (notice == Notice::acked) {
        const auto id = reader.number<uint64_t>();
        instance_->acked(id, reader.number<int32_t>());
      }
    }
    ::_exit(1);
  }

  SharedMemory control_memory_, batches_;
  Control &control_;
  Asker asker_;
  HostNames names_{asker_};
  Tallies tallies_;
  std::vector<std::string> rows_;
  std::mutex emit_mutex_;
  std::mutex instance_mutex_;  // creation and destruction against notices
  std::unique_ptr<Instance> instance_;
};

// If memory is exhausted, the kernel kills plugins before the agent: RLIMIT_DATA does not limit shared memory and files in memory.
void go_before_the_agent() {
  const Descriptor score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  static constexpr std::string_view kScore = "500";
  static_cast<void>(::write(score.get(), kScore.data(), kScore.size()) < 0);
}

}  // namespace

int child_main() {
  go_before_the_agent();
  // A plugin may start programs; none of them inherits its capabilities.
  if (!deny_capabilities_to_programs()) return 1;
  if (permitted_capabilities() != 0) ::prctl(PR_SET_DUMPABLE, 0);  // no other process of this user may take them over
  for (const int fd : {kRequestFd, kNoticeFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  auto control = SharedMemory::map(kControlFd, true);
  if (!control || control->size() < sizeof(Control)) return 1;
  const bool reads_only = reinterpret_cast<const Control *>(control->data())->reads_only != 0;
  auto batches = SharedMemory::map(kBatchFd, !reads_only);
  if (!batches) return 1;
  ::close(kControlFd);
  ::close(kBatchFd);
  auto *process = new ChildProcess(std::move(*control),
                                   std::move(*batches));  // never destroyed: other threads may use it until the process ends
  process->serve();
}

}  // namespace atalaya::core
