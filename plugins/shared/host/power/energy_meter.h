// SPDX-License-Identifier: Apache-2.0
// Energy from counters that wrap around: joules since the last call, exact across wraps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace atalaya::power {

enum class Domain : uint8_t { package, cores, graphics, memory, platform, core };

// The energy of AMD cores is read only on request, because it needs one register access per core.
enum class Detail : uint8_t { packages, cores };

// More power than any package or machine uses: a larger growth means that the counter was reset. Power limits of the hardware
// would be closer bounds, but they may change at run time.
constexpr double kMaxWatts = 1500, kMaxPlatformWatts = 20000;
// A counter of a package or platform that does not advance for this time does not measure, because running hardware uses power.
constexpr double kMaxStoppedSeconds = 0.1;

// One counter of energy.
struct Zone {
  Domain domain = Domain::package;
  int32_t package = 0;   // number of the package; 0 for the platform
  int32_t core = -1;     // for Domain::core: the lowest CPU number of the core
  std::string name;      // name in messages
  double joules = 1e-6;  // joules per count
  uint64_t range = 0;    // the highest count, after which the counter wraps to 0
  double max_watts = kMaxWatts;

  bool operator==(const Zone &) const = default;
};

class EnergyCounters {
 public:
  virtual ~EnergyCounters() = default;
  virtual const std::vector<Zone> &zones() const = 0;
  virtual std::optional<uint64_t> read(size_t zone) = 0;
};

struct Energy {
  double joules = 0, seconds = 0;
  double watts() const { return joules / seconds; }
};

// The counts between two readings, corrected for a wrap. Nothing after a reset, when the growth is too large for the time.
std::optional<uint64_t> counts_between(const Zone &zone, uint64_t before, uint64_t now, double seconds);

// Measures the energy of zones between two calls of `take`.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::unique_ptr<EnergyCounters> counters);
  EnergyMeter(const EnergyMeter &) = delete;
  EnergyMeter &operator=(const EnergyMeter &) = delete;
  ~EnergyMeter() { stop(); }

  const std::vector<Zone> &zones() const { return counters_->zones(); }
  // Replaces the counters; those that existed before keep their energy.
  void change(std::unique_ptr<EnergyCounters> counters);

  // The energy of each zone since the last take. It is absent in the first take, after a failed reading or a reset, and for a
  // stopped package or platform. In an interval shorter than kMaxStoppedSeconds, counters may not advance: all zones are then
  // absent, and the next take includes their energy. `now_ns` is the time of the reading, `window_ns` that of the window (default:
  // the same): `seconds` is between windows, so that power times the duration of a sample is its energy.
  std::vector<std::optional<Energy>> take(int64_t now_ns, std::optional<int64_t> window_ns = std::nullopt);
  // The zone that was stopped in the last take; "" if none was. For the thread that calls take.
  const std::string &stopped_zone() const { return stopped_zone_; }
  // An additional reading between takes.
  void poll(int64_t now_ns);
  void forget();

  // The maximum interval between readings in which a counter wraps at most once.
  int64_t max_interval_ns() const;
  // Starts a thread with additional readings if `interval_ns`, the time between takes, exceeds max_interval_ns(). Can be called
  // repeatedly.
  void start_polling(int64_t interval_ns);
  void stop();

 private:
  struct State {
    std::optional<uint64_t> last;
    int64_t last_ns = 0, since_ns = 0;
    int64_t window_ns = 0;  // of the last take
    uint64_t counts = 0;
    bool is_complete = false;  // every reading since `since_ns` is in `counts`

    double seconds() const { return static_cast<double>(last_ns - since_ns) / 1e9; }
  };
  bool has_stopped(size_t zone) const;
  bool is_too_early() const;
  void poll_locked(int64_t now_ns);
  void run();

  std::unique_ptr<EnergyCounters> counters_;
  std::mutex mutex_;
  std::vector<State> states_;
  std::string stopped_zone_;

  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace atalaya::power
