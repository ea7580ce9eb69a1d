// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/pool.h"

#include <zstd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/byte_reader.h"
#include "plugins/shared/store/sqlite/chunks/chunk_format.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"

namespace atalaya::store {
namespace {

// Members of the first format have checksums of their own. They are a tenth of a pool: random bytes, which do not shrink.
constexpr uint8_t kOldestPoolFormat = 1, kPoolFormat = 2;
constexpr int kPoolLevel = 6;
constexpr size_t kMaxMembers = size_t{1} << kPoolBits;
constexpr size_t kMaxPoolBytes = 16 << 20;

void put_crc(std::string &out, uint32_t crc) {
  out.append(reinterpret_cast<const char *>(&crc), sizeof(crc));
}
}  // namespace

void PoolEncoder::Free::operator()(ZSTD_CCtx_s *context) const {
  ZSTD_freeCCtx(context);
}

PoolEncoder::PoolEncoder() : zstd_(ZSTD_createCCtx()) {
  if (!zstd_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, kPoolLevel);
}

void PoolEncoder::add(int64_t entity, const Chunk &chunk) {
  const std::string_view head = without_checksums(chunk.head);
  put_varint(members_, static_cast<uint64_t>(entity - last_entity_));
  put_varint(sizes_, head.size());
  put_varint(sizes_, chunk.data.size());
  heads_ += head;
  datas_ += chunk.data;
  first_ns_ = count_ == 0 ? chunk.first_ns : std::min(first_ns_, chunk.first_ns);
  last_ns_ = count_ == 0 ? chunk.last_ns : std::max(last_ns_, chunk.last_ns);
  last_entity_ = entity;
  ++count_;
}

void PoolEncoder::finish(Chunk &pool) {
  sizes_ += heads_;
  sizes_ += datas_;
  pool.data.resize(ZSTD_compressBound(sizes_.size()));
  const size_t size = ZSTD_compress2(zstd_.get(), pool.data.data(), pool.data.size(), sizes_.data(), sizes_.size());
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // there is no other reason
  pool.data.resize(size);
  std::string head(1, static_cast<char>(kPoolFormat));
  put_varint(head, count_);
  head += members_;
  put_crc(head, core::crc32c(pool.data));
  pool.head.clear();
  put_crc(pool.head, core::crc32c(head));
  pool.head += head;
  pool.first_ns = first_ns_;
  pool.last_ns = last_ns_;
  members_.clear();
  sizes_.clear();
  heads_.clear();
  datas_.clear();
  count_ = 0;
  last_entity_ = 0;
}

void PoolReader::Free::operator()(ZSTD_DCtx_s *context) const {
  ZSTD_freeDCtx(context);
}

PoolReader::PoolReader() : zstd_(ZSTD_createDCtx()) {
  if (!zstd_) throw std::bad_alloc();
}

bool PoolReader::open(std::string_view head) {
  members_.clear();
  ByteReader reader(head);
  const auto crc = reader.raw<uint32_t>();
  if (!reader.is_ok() || crc != core::crc32c(reader.rest())) return false;
  format_ = reader.byte();
  if (format_ < kOldestPoolFormat || format_ > kPoolFormat) return false;
  const size_t count = reader.size(kMaxMembers);
  int64_t entity = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t step = reader.size(INT64_MAX);
    if ((i > 0 && step == 0) || __builtin_add_overflow(entity, step, &entity)) return false;
    Member member;
    member.entity = entity;
    if (format_ == kOldestPoolFormat) read_sizes(reader, member);
    if (!reader.is_ok()) return false;
    members_.push_back(member);
  }
  data_crc_ = reader.raw<uint32_t>();
  return reader.is_ok() && reader.at_end();
}

void PoolReader::read_sizes(ByteReader &reader, Member &member) {
  member.head_size = reader.size(kMaxPoolBytes);
  member.data_size = reader.size(kMaxPoolBytes);
}

const PoolReader::Member *PoolReader::find(int64_t entity) const {
  const auto has_less = [](const Member &member, int64_t id) { return member.entity < id; };
  const auto member = std::lower_bound(members_.begin(), members_.end(), entity, has_less);
  return member != members_.end() && member->entity == entity ? &*member : nullptr;
}

bool PoolReader::read(std::string_view data) {
  if (core::crc32c(data) != data_crc_ || !unpack(data)) return false;
  ByteReader rest(raw_);
  if (format_ > kOldestPoolFormat)
    for (Member &member : members_) read_sizes(rest, member);
  for (Member &member : members_) member.head = rest.take(member.head_size);
  for (Member &member : members_) member.data = rest.take(member.data_size);
  if (format_ == kOldestPoolFormat)
    for (Member &member : members_) member.head = without_checksums(member.head);
  return rest.is_ok() && rest.at_end();
}

bool PoolReader::unpack(std::string_view data) {
  const unsigned long long size = ZSTD_getFrameContentSize(data.data(), data.size());
  if (size > kMaxPoolBytes) return false;  // or it is unknown, or no frame
  raw_.resize(size);
  return ZSTD_decompressDCtx(zstd_.get(), raw_.data(), raw_.size(), data.data(), data.size()) == raw_.size();
}

}  // namespace atalaya::store
