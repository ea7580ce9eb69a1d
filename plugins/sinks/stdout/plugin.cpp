// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/shared/io/table/table.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "plugins/sinks/stdout/output.h"

namespace atalaya::stdout_sink {
namespace {

class Stdout final : public Sink {
 public:
  static constexpr Param params[] = {
      param::choice("format", "table|jsonlines|samples|csv",
                    "table: for people; jsonlines: a point per line; samples: a whole sample per line; csv")
          .defaults("table"),
      param::integer("max_rows", "Maximum rows per table; 0: all").defaults("0").range(0, 1e9).unit("rows"),
      param::string("sort", "Field to sort table rows by, largest first (default: CPU of processes, threads of the kernel last)")
          .defaults("")
          .unit("metric"),
  };
  static constexpr Description description = {
      .name = "stdout"_str, .summary = "Print samples as tables or lines"_str, .params = params};

  explicit Stdout(Host host) : host_(host), name_of_([host](uint32_t id) { return host.name_of(id); }) {
    const std::string format = host.text("format");
    if (format != "table") encoder_ = protocols::make_encoder(protocols::format_from_name(format), name_of_);
    if (encoder_ != nullptr) header_ = encoder_->header();
    options_.max_rows = static_cast<uint64_t>(host.integer("max_rows"));
    if (const auto sort = host.find("sort")) options_.sort = sort->text();
  }

  Code write(std::span<const Sample> samples, int64_t &) override {
    text_ = header_;
    header_.clear();
    refused_.clear();
    if (encoder_ != nullptr) {
      core::append_all(*encoder_, samples, text_, refused_);
    } else {
      options_.width = terminal_width(STDOUT_FILENO);
      io::append_tables(samples, name_of_, options_, text_);
    }
    const int error = write_all(STDOUT_FILENO, text_);
    if (error == EPIPE) {  // the reader has closed the pipe, such as `| head`
      host_.dropped("the reader of standard output has ended", samples.size());
      return Code::ok;
    }
    // Permanent, because a retry would print the text twice.
    if (error != 0) throw Failure(Code::permanent, "standard output: " + core::error_text(error));
    for (const auto &[reason, count] : refused_) host_.dropped(reason, count);
    return Code::ok;
  }

  Code flush(int64_t) override { return Code::ok; }

 private:
  Host host_;
  core::NameOf name_of_;
  std::unique_ptr<core::Encoder> encoder_;  // null: tables
  io::TableOptions options_;
  std::string header_;  // empty after it was printed
  std::string text_;
  core::Refused refused_;  // of the current batch
};

}  // namespace
}  // namespace atalaya::stdout_sink

ATALAYA_PLUGIN("stdout", "0.1.0", "sink stdout", atalaya::stdout_sink::Stdout)
