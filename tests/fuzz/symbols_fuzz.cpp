// SPDX-License-Identifier: Apache-2.0
// Tables of programs, runtimes and the kernel with the positions of code, the first byte selects which.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "plugins/shared/code/jvm/attach.h"
#include "plugins/shared/code/jvm/attach_support.h"
#include "plugins/shared/code/symbols/demangle.h"
#include "plugins/shared/code/symbols/elf_symbols.h"
#include "plugins/shared/code/symbols/functions.h"
#include "plugins/shared/code/symbols/kernel_symbols.h"
#include "plugins/shared/code/symbols/perf_map.h"
#include "plugins/shared/code/symbols/process/memory_map.h"
#include "plugins/shared/code/symbols/process/process_memory.h"
#include "plugins/sources/perf/sampling/ring_records.h"

using namespace atalaya::symbols;

namespace {

constexpr uint64_t kAddresses[] = {0, 1, 0x1000, 0x1fff, 0x401000, 0x7f0000000000, 0xffffffff81000000, UINT64_MAX};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_maps(std::string_view text) {
  const auto mappings = parse_maps(text);
  require(mappings.size() <= kMaxMappings);
  for (const uint64_t address : kAddresses)
    if (const Mapping *found = find_mapping(mappings, address)) require(found->begin <= address && address < found->end);
}

void check_perf_map(std::string_view text) {
  const PerfMap map(text);
  for (const uint64_t address : kAddresses) require(map.find(address).size() <= kMaxName);
}

void check_elf(std::string_view text) {
  const auto image = ElfImage::of_memory(std::as_bytes(std::span(text)));
  if (!image) return;
  image->build_id();
  image->debug_link();
  ElfSymbols symbols(*image);
  for (const uint64_t address : kAddresses) symbols.find(address);
  for (uint64_t offset = 0; offset < text.size(); offset += 64) symbols.find(offset);
  const Segments segments(*image);
  for_each_function(*image, SHT_SYMTAB, [&](const Function &function) {
    require(!function.name.empty());
    if (const auto offset = segments.offset_of(function.address)) require(segments.address_of(*offset).has_value());
    return true;
  });
}

void check_ring(std::string_view text) {
  atalaya::perf::parse_record(std::as_bytes(std::span(text)));
  std::string ring(text);
  ring.resize(256);
  std::vector<std::byte> joined;
  const auto bytes = std::as_bytes(std::span(ring));
  uint64_t position = 200;
  for (auto record = atalaya::perf::record_at(bytes, position, 450, joined); !record.empty();
       record = atalaya::perf::record_at(bytes, position, 450, joined)) {
    atalaya::perf::parse_record(record);
    position += record.size();
  }
  require(position <= 450);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
    case 'm':
      check_maps(text);
      break;
    case 'p':
      check_perf_map(text);
      break;
    case 'k':
      for (const uint64_t address : kAddresses) (void)KernelSymbols(text).find(address);
      break;
    case 's':
      parse_mark(text);
      parse_status(text);
      break;
    case 'e':
      check_elf(text);
      break;
    case 'd':
      require(without_parameters(text).size() <= text.size());
      require(demangled(text).size() <= 512);
      break;
    case 'r':
      check_ring(text);
      break;
    case 'a':
      (void)atalaya::jvm::parse_answer(text);
      break;
    case 'f':
      atalaya::jvm::parse_attach_support(text);
      break;
    case 'h':
      require(atalaya::jvm::shared_path_in(text, 77).size() <= text.size());
      break;
    default:
      break;
  }
  return 0;
}
