// SPDX-License-Identifier: Apache-2.0
// A journal of the source btrace, or the changes since: the input unchanged, and with the correct checksum. A journal
// that can be read is written the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/io/tail/journal.h"
#include "plugins/shared/protocols/btrace/line_reader.h"

namespace {

void check_recent(std::string_view text) {
  using namespace atalaya;
  auto changes = tail::parse_recent(text);
  if (!changes) return;
  auto again = tail::parse_recent(tail::recent_text(*changes));
  if (!again || again->base_written_ns != changes->base_written_ns || again->removed != changes->removed ||
      again->journal.positions != changes->journal.positions)
    std::abort();
}

void check(std::string_view text) {
  using namespace atalaya;
  check_recent(text);
  auto journal = tail::parse_journal(text);
  if (!journal) return;
  const std::string written = tail::journal_text(*journal);
  auto again = tail::parse_journal(written);
  if (!again || again->positions != journal->positions || again->segments != journal->segments || again->own != journal->own)
    std::abort();
  btrace::LineReader reader({}, {}, [](const std::string &) {});
  if (!reader.restore(journal->own).ok()) return;
  reader.state(journal->positions);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  check(text);
  std::string summed(text.substr(0, text.rfind("crc ")));
  summed += "crc " + std::to_string(atalaya::core::crc32c(summed)) + "\n";
  check(summed);
  return 0;
}
