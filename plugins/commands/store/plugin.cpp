// SPDX-License-Identifier: Apache-2.0
// Command store: finds damage in the embedded store, and saves the readable data.
#include <atalaya/plugin.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/store/sqlite/file/schema.h"
#include "plugins/shared/store/sqlite/repair.h"

namespace atalaya::store_command {
namespace {

using namespace atalaya::literals;
using query::Wrong;

class StoreCommand final : public Command {
 public:
  static constexpr Param params[] = {command_line::kEmbeddedStore};
  static constexpr Description description = {.name = "store"_str,
                                              .summary = "Verify the embedded store, or repair a damaged one"_str,
                                              .params = params,
                                              .operands = "verify|repair"_str,
                                              .example =
                                                  "atalaya store verify\n"
                                                  "atalaya store verify --store sqlite:/srv/old.db\n"
                                                  "atalaya store repair --store /var/lib/atalaya/atalaya.db"_str};

  explicit StoreCommand(Host host) : options_(command_line::read_options(host)) {}

  int run(std::span<const atalaya_str> arguments) override {
    return command_line::with_failures([&] {
      static const std::vector<std::string> verbs = {"verify", "repair"};
      if (arguments.empty()) throw Wrong("missing argument: verify or repair");
      const std::string verb(view(arguments[0]));
      if (arguments.size() > 1) throw Wrong("unexpected argument " + core::in_quotes(view(arguments[1])));
      const std::string path = command_line::sqlite_path(options_);
      if (verb == "verify") return verify(path);
      if (verb == "repair") return repair(path);
      throw Wrong(core::in_quotes(verb) + " is not one of verify, repair" + core::did_you_mean(verb, verbs));
    });
  }

 private:
  static int verify(const std::string &path) {
    store::Database database(path, store::Access::read_only);
    store::check_is_store(database);
    const store::RowCounts rows = store::verify(
        database, [](const std::string &part, const std::string &why) { std::printf("%s: %s\n", part.c_str(), why.c_str()); });
    if (rows.damaged == 0) return std::printf("%s: %lld rows, no damage\n", path.c_str(), static_cast<long long>(rows.good)), 0;
    std::printf("%s: %lld rows are good, %lld parts are damaged; `atalaya store repair` keeps the good rows\n", path.c_str(),
                static_cast<long long>(rows.good), static_cast<long long>(rows.damaged));
    return 1;
  }

  static int repair(const std::string &path) {
    const store::Repaired repaired = store::repair(path);
    std::printf("%s: has the %lld good rows; %lld damaged parts were left out; the old file is %s\n", path.c_str(),
                static_cast<long long>(repaired.rows.good), static_cast<long long>(repaired.rows.damaged), repaired.kept.c_str());
    return 0;
  }

  const command_line::ReadOptions options_;
};

}  // namespace
}  // namespace atalaya::store_command

ATALAYA_PLUGIN("store", "0.1.0", "command store", atalaya::store_command::StoreCommand)
