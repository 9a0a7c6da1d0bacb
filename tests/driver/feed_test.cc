// The step machine of block reads, against a file in memory and a disk that answers as it likes.
#include "drivers/uring/feed.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/rng.h"

namespace tidewire::uring {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(size_t n) {
  Bytes b(n);
  for (size_t i = 0; i < n; ++i) b[i] = static_cast<std::byte>(i * 7 + (i >> 8) * 13);
  return b;
}

uint64_t seed() {
  const char* given = std::getenv("TIDEWIRE_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 20'241;
}

struct Disk {
  Bytes file;
  Rng rng;
  std::vector<ReadOrder> out;
  uint32_t align = 1;
  bool faults = true;

  int32_t answer(const ReadOrder& order) {
    if (faults && rng.one_in(9)) return rng.one_in(2) ? -EINTR : -EAGAIN;
    EXPECT_EQ(order.offset % align, 0u);
    EXPECT_EQ(order.to.size() % align, 0u);
    if (order.offset >= file.size()) return 0;
    size_t n = std::min(order.to.size(), file.size() - order.offset);
    if (faults && n > align && rng.one_in(4)) n = align + rng.below(n - align);
    std::memcpy(order.to.data(), file.data() + order.offset, n);
    return static_cast<int32_t>(n);
  }
};

TEST(Feed, HandsOnInFileOrderWhateverTheDiskDoes) {
  Rng rng(seed());
  std::printf("seed %lu\n", static_cast<unsigned long>(seed()));
  for (int round = 0; round < 400; ++round) {
    const uint32_t align = rng.one_in(2) ? 1 : 64;
    const auto block = static_cast<uint32_t>(align * (1 + rng.below(5)));
    const auto depth = static_cast<uint32_t>(1 + rng.below(6));
    const size_t slots = 1 + rng.below(8);
    Disk disk{.file = numbered(rng.below(4000)), .rng = Rng(rng.next()), .out = {}, .align = align};
    Bytes memory(slots * block);
    Feed feed(memory, block, depth);
    feed.begin(disk.file.size(), align);
    Bytes got;
    for (;;) {
      ReadOrder order{};
      while (feed.next(order)) disk.out.push_back(order);
      ASSERT_LE(disk.out.size(), depth);
      if (!disk.out.empty() && rng.one_in(2)) {
        const size_t i = rng.below(disk.out.size());
        const ReadOrder back = disk.out[i];
        disk.out.erase(disk.out.begin() + static_cast<ptrdiff_t>(i));
        EXPECT_FALSE(feed.complete(back.slot, disk.answer(back)));
      }
      const Feed::Front front = feed.front();
      ASSERT_NE(front, Feed::Front::kFailed);
      if (front == Feed::Front::kEnded) break;
      if (front == Feed::Front::kReady && rng.one_in(2)) {
        got.insert(got.end(), feed.block().begin(), feed.block().end());
        std::fill(feed.block().begin(), feed.block().end(), std::byte{0xDB});
        feed.recycle();
      }
    }
    ASSERT_TRUE(disk.out.empty());
    ASSERT_EQ(got, disk.file) << "round " << round;
  }
}

TEST(Feed, NoMoreReadsAreOutThanTheDepthAndNoMoreBlocksThanSlots) {
  Bytes memory(4 * 64);
  Feed feed(memory, 64, 3);
  feed.begin(1000, 1);
  ReadOrder order{};
  std::vector<ReadOrder> out;
  while (feed.next(order)) out.push_back(order);
  ASSERT_EQ(out.size(), 3u);
  feed.complete(out[0].slot, 64);
  ASSERT_TRUE(feed.next(order));  // the fourth slot
  feed.complete(out[1].slot, 64);
  EXPECT_FALSE(feed.next(order));  // the front block is still held
  feed.recycle();
  EXPECT_TRUE(feed.next(order));
  EXPECT_EQ(order.offset, 256u);
  EXPECT_EQ(order.slot, 0u);
}

TEST(Feed, WhatIsBeforeAFaultComesFirst) {
  Bytes memory(4 * 64);
  Feed feed(memory, 64, 4);
  feed.begin(256, 1);
  ReadOrder order{};
  while (feed.next(order)) {
  }
  feed.complete(2, -EIO);
  feed.complete(1, 64);
  EXPECT_EQ(feed.front(), Feed::Front::kWaiting);
  feed.complete(0, 64);
  feed.complete(3, 64);
  EXPECT_EQ(feed.front(), Feed::Front::kReady);
  feed.recycle();
  EXPECT_EQ(feed.front(), Feed::Front::kReady);
  feed.recycle();
  EXPECT_EQ(feed.front(), Feed::Front::kFailed);
  EXPECT_EQ(feed.error(), EIO);
  EXPECT_FALSE(feed.next(order));
}

TEST(Feed, AShorterFileIsAFaultNotALoop) {
  for (const uint32_t align : {1u, 32u}) {
    Bytes memory(2 * 64);
    Feed feed(memory, 64, 2);
    feed.begin(128, align);
    ReadOrder order{};
    ASSERT_TRUE(feed.next(order));
    feed.complete(order.slot, 40);  // the file is 40 bytes long now
    ASSERT_TRUE(feed.next(order));
    EXPECT_EQ(order.offset, align == 1 ? 40u : 32u);
    feed.complete(order.slot, align == 1 ? 0 : 8);
    EXPECT_EQ(feed.front(), Feed::Front::kFailed);
    EXPECT_EQ(feed.error(), Feed::kShrank);
  }
}

TEST(Feed, ODirectThatIsRefusedIsDroppedForTheWholeFile) {
  Bytes memory(3 * 64);
  Feed feed(memory, 64, 3);
  feed.begin(150, 64);
  ReadOrder order{};
  while (feed.next(order)) {
  }
  EXPECT_EQ(order.to.size(), 64u);  // 22 bytes are left, rounded up
  EXPECT_TRUE(feed.complete(0, -EINVAL));
  EXPECT_TRUE(feed.complete(1, -EINVAL));
  EXPECT_TRUE(feed.complete(2, -EINVAL));
  uint32_t again = 0;
  while (feed.next(order)) {
    ++again;
    EXPECT_FALSE(feed.complete(order.slot, static_cast<int32_t>(order.to.size())));
  }
  EXPECT_EQ(again, 3u);
  EXPECT_EQ(order.to.size(), 22u);
  EXPECT_EQ(feed.front(), Feed::Front::kReady);
  // Without O_DIRECT the same error counts.
  feed.begin(64, 1);
  ASSERT_TRUE(feed.next(order));
  EXPECT_FALSE(feed.complete(order.slot, -EINVAL));
  EXPECT_EQ(feed.front(), Feed::Front::kFailed);
}

TEST(Feed, AGrowingFileGoesOnWhereItEnded) {
  Bytes memory(2 * 64);
  Feed feed(memory, 64, 2);
  feed.begin(0, 1);
  ReadOrder order{};
  EXPECT_FALSE(feed.next(order));
  EXPECT_EQ(feed.front(), Feed::Front::kEnded);
  feed.grow(10);
  EXPECT_EQ(feed.front(), Feed::Front::kWaiting);
  ASSERT_TRUE(feed.next(order));
  EXPECT_EQ(order.to.size(), 10u);
  feed.complete(order.slot, 10);
  feed.recycle();
  feed.grow(100);
  ASSERT_TRUE(feed.next(order));
  EXPECT_EQ(order.offset, 10u);
  EXPECT_EQ(order.to.size(), 64u);
}

}  // namespace
}  // namespace tidewire::uring
