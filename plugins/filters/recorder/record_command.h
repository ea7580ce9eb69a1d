// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace atalaya::recorder {

// The command `record`: triggers a recording in each running recorder of this host.
class RecordCommand final : public Command {
 public:
  static constexpr Param kParams[] = {
      param::duration("last", "Time before now to record (default: all that is kept)").range(0, 3600e9),
      param::string("cause", "Reason, in the span of the recording").defaults("user").unit("TEXT"),
      param::string("folder", "Runtime folder of the agent (default: /run/atalaya)").unit("FOLDER"),
  };
  static constexpr Description description = {.name = "record"_str,
                                              .summary = "Record the last minutes by the running recorders"_str,
                                              .params = kParams,
                                              .example =
                                                  "atalaya record\n"
                                                  "atalaya record --last 2m\n"
                                                  "atalaya record --last 30s --cause 'page is slow'"_str};

  explicit RecordCommand(Host host);
  int run(std::span<const atalaya_str> arguments) override;

 private:
  Host host_;
  std::string folder_;
};

}  // namespace atalaya::recorder
