#include "kernel_sync/trie/arena.h"

#include <sys/mman.h>

#include <algorithm>

namespace waypost::kernel_sync::trie {

namespace {
constexpr size_t kHugePageBytes = size_t{2} << 20;
}

BlockArena::BlockArena() {
  std::fill(std::begin(with_room_), std::end(with_room_), kNoSpan);
  // Reserved without access, so that it counts as memory nowhere; made usable in steps as spans are added.
  const size_t bytes = kArenaBytes + kHugePageBytes + kSlackBytes;
  void* mapped = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WAYPOST_CHECK(mapped != MAP_FAILED, "no address space for a trie arena (8 GiB are reserved, not used)");
  uint8_t* const start = static_cast<uint8_t*>(mapped);
  const size_t misfit = reinterpret_cast<uintptr_t>(start) % kHugePageBytes;
  const size_t head = misfit == 0 ? 0 : kHugePageBytes - misfit;
  if (head != 0) munmap(start, head);
  if (head != kHugePageBytes) munmap(start + head + kArenaBytes + kSlackBytes, kHugePageBytes - head);
  base_ = start + head;
  add_span(0);
}

BlockArena::~BlockArena() {
  munmap(base_, kArenaBytes + kSlackBytes);
}

uint32_t BlockArena::add_span(unsigned block_class) {
  uint32_t index = pool_;
  if (index != kNoSpan) {
    pool_ = spans_[index].next;
    --pool_count_;
  } else {
    index = static_cast<uint32_t>(spans_.size());
    const size_t needed = (size_t{index} + 1) * kSpanBytes + kSlackBytes;
    WAYPOST_CHECK(needed <= kArenaBytes, "a trie arena is full (8 GiB)");
    if (needed > usable_bytes_) {
      // Huge pages halve the cost of a random update: the table is far larger than the first-level TLB
      // reaches.
      const size_t grown = std::min(usable_bytes_ + kGrowBytes, kArenaBytes);
      WAYPOST_CHECK(mprotect(base_ + usable_bytes_, grown - usable_bytes_, PROT_READ | PROT_WRITE) == 0,
                    "no memory for the routes");
      madvise(base_ + usable_bytes_, grown - usable_bytes_, MADV_HUGEPAGE);
      usable_bytes_ = grown;
    }
    spans_.emplace_back();
  }
  spans_[index] = Span{};
  spans_[index].block_class = static_cast<uint8_t>(block_class);
  spans_[index].block_units = static_cast<uint8_t>(class_bytes(block_class) / 16);
  // Ref 0 means "no block", so the first block of the arena is never handed out.
  if (index == 0) spans_[index].fresh_unit = spans_[index].block_units;
  link(index);
  return index;
}

// After a block was freed in a span that had no room, or that is now without a block.
void BlockArena::settle(uint32_t span_index, bool was_full) {
  if (was_full) link(span_index);
  Span& span = spans_[span_index];
  const bool only_one = with_room_[span.block_class] == span_index && span.next == kNoSpan;
  // The last span of a class with room stays, so that one block taken and freed in turn costs nothing.
  if (span.live != 0 || only_one) return;
  unlink(span_index);
  span.next = pool_;
  pool_ = span_index;
  ++pool_count_;
}

void BlockArena::link(uint32_t span_index) {
  Span& span = spans_[span_index];
  uint32_t& head = with_room_[span.block_class];
  span.previous = kNoSpan;
  span.next = head;
  if (head != kNoSpan) spans_[head].previous = span_index;
  head = span_index;
}

void BlockArena::unlink(uint32_t span_index) {
  Span& span = spans_[span_index];
  if (span.previous != kNoSpan) {
    spans_[span.previous].next = span.next;
  } else {
    with_room_[span.block_class] = span.next;
  }
  if (span.next != kNoSpan) spans_[span.next].previous = span.previous;
  span.next = kNoSpan;
  span.previous = kNoSpan;
}

bool BlockArena::plausible(BlockRef ref, unsigned bytes) const {
  const uint32_t unit = unit_of(ref);
  const uint32_t span_index = unit / kSpanUnits;
  if (unit == 0 || span_index >= spans_.size()) return false;
  const Span& span = spans_[span_index];
  const unsigned place = unit % kSpanUnits;
  return span.live > 0 && class_of(bytes) == span.block_class && place < span.fresh_unit &&
         place % span.block_units == 0;
}

}  // namespace waypost::kernel_sync::trie
