#include <gtest/gtest.h>

#include "framed.h"

namespace tidewire::test {
namespace {

constexpr int64_t kNone = INT64_MIN;

// Three packets, times given in the file's fraction.
Bytes three(uint32_t magic, bool big) {
  return PcapBuilder(magic, big)
      .packet(1'700'000'000, 1, payload(60, 1), 60)
      .packet(1'700'000'001, 999'999, payload(10, 2), 1514)
      .packet(1'700'000'000, 0, payload(0, 3), 42)
      .bytes();
}

TEST(Pcap, EveryMagicInBothByteOrders) {
  for (const uint32_t magic : {PcapBuilder::kMicro, PcapBuilder::kNano, PcapBuilder::kModified}) {
    for (const bool big : {false, true}) {
      const Framing got = frame_all(three(magic, big), 4096);
      ASSERT_EQ(got.failure, "");
      ASSERT_EQ(got.packets.size(), 3u);
      const int64_t unit = magic == PcapBuilder::kNano ? 1 : 1000;
      EXPECT_EQ(got.packets[0],
                (Packet{payload(60, 1), 60, 1'700'000'000'000'000'000 + unit, 0, 1}));
      EXPECT_EQ(got.packets[1],
                (Packet{payload(10, 2), 1514, 1'700'000'001'000'000'000 + 999'999 * unit, 0, 1}));
      EXPECT_EQ(got.packets[2], (Packet{payload(0, 3), 42, 1'700'000'000'000'000'000, 0, 1}));
      EXPECT_EQ(got.counts.packets, 3u);
      EXPECT_EQ(got.counts.cut_records, 0u);
    }
  }
}

TEST(Pcap, SecondsAreUnsignedAndTheZoneIsIgnored) {
  const Bytes file = PcapBuilder(PcapBuilder::kNano, true, 1, 3600)
                         .packet(0xFFFFFFFF, 999'999'999, payload(4, 1), 4)
                         .bytes();
  const Framing got = frame_all(file, 4096);
  ASSERT_EQ(got.packets.size(), 1u);
  EXPECT_EQ(got.packets[0].arrival, 4'294'967'295'999'999'999);  // 2106-02-07
}

TEST(Pcap, LinkTypeIsTheLowHalf) {
  const Framing got = frame_all(
      PcapBuilder(PcapBuilder::kMicro, false, 0x24000071).packet(1, 1, payload(4, 1), 4).bytes(),
      99);
  ASSERT_EQ(got.packets.size(), 1u);
  EXPECT_EQ(got.packets[0].link, 113);  // FCS length and flags above it
}

TEST(Pcap, AFractionOfASecondOrMoreIsNoTime) {
  const Framing micro = frame_all(PcapBuilder(PcapBuilder::kMicro, false)
                                      .packet(5, 999'999, payload(4, 1), 4)
                                      .packet(5, 1'000'000, payload(4, 2), 4)
                                      .packet(5, 500'330'493, payload(4, 3), 4)
                                      .bytes(),
                                  4096);
  ASSERT_EQ(micro.packets.size(), 3u);
  EXPECT_EQ(micro.packets[0].arrival, 5'999'999'000);
  EXPECT_EQ(micro.packets[1].arrival, kNone);
  EXPECT_EQ(micro.packets[2].arrival, kNone);
  EXPECT_EQ(micro.counts.bad_time, 2u);
  EXPECT_EQ(micro.unstamped, 2u);
  const Framing nano = frame_all(PcapBuilder(PcapBuilder::kNano, true)
                                     .packet(5, 999'999'999, payload(4, 1), 4)
                                     .packet(5, 1'000'000'000, payload(4, 2), 4)
                                     .bytes(),
                                 4096);
  ASSERT_EQ(nano.packets.size(), 2u);
  EXPECT_EQ(nano.packets[0].arrival, 5'999'999'999);
  EXPECT_EQ(nano.packets[1].arrival, kNone);
}

TEST(Pcap, MoreCapturedThanOnTheWireIsKeptAndCounted) {
  const Framing got = frame_all(
      PcapBuilder(PcapBuilder::kMicro, false).packet(1, 1, payload(60, 1), 40).bytes(), 4096);
  ASSERT_EQ(got.packets.size(), 1u);
  EXPECT_EQ(got.packets[0].data.size(), 60u);
  EXPECT_EQ(got.packets[0].wire_length, 40u);
  EXPECT_EQ(got.counts.longer_than_wire, 1u);
}

TEST(Pcap, AnImpossibleLengthNamesItsPlaceAndKeepsWhatWasBefore) {
  PcapBuilder builder(PcapBuilder::kMicro, false);
  builder.packet(1, 1, payload(60, 1), 60);
  builder.raw().u32(1).u32(1).u32(262'145).u32(60);
  for (const size_t block : {7u, 64u, 4096u}) {
    const Framing got = frame_all(builder.bytes(), block);
    EXPECT_EQ(got.packets.size(), 1u);
    // 24 of header + 16 + 60
    EXPECT_EQ(got.failure, "at byte 100: captured length above 262144: the file is damaged here");
  }
}

TEST(Pcap, TheLongestPacketIsRead) {
  const Bytes file =
      PcapBuilder(PcapBuilder::kModified, true).packet(1, 1, payload(262'144, 1), 262'144).bytes();
  for (const size_t block : {1000u, 262'144u, 1u << 20}) {
    const Framing got = frame_all(file, block);
    ASSERT_EQ(got.packets.size(), 1u) << got.failure;
    EXPECT_EQ(got.packets[0].data, payload(262'144, 1));
  }
}

TEST(Pcap, OldVersionsAreRefused) {
  Bytes file = three(PcapBuilder::kMicro, false);
  file[6] = std::byte{2};  // 2.2: the two lengths are the other way round
  EXPECT_EQ(frame_all(file, 4096).failure,
            "at byte 0: pcap version is not 2.3 or 2.4 (convert the file: editcap -F pcapng)");
}

TEST(Pcap, FilesThatAreNoCapture) {
  EXPECT_EQ(frame_all({}, 64).failure, "at byte 0: the file ends before its header does");
  EXPECT_EQ(frame_all(payload(3, 1), 64).failure,
            "at byte 3: the file ends before its header does");
  EXPECT_EQ(frame_all(payload(300, 1), 64).failure,
            "at byte 0: no capture begins like this (pcap and pcapng are read)");
}

// Report 56: a file cut at every byte. What was whole before is kept; a rest is counted once.
TEST(Pcap, CutAtEveryByte) {
  const Bytes file = three(PcapBuilder::kNano, true);
  const std::vector<size_t> ends = {24 + 16 + 60, 24 + 16 + 60 + 16 + 10,
                                    24 + 16 + 60 + 16 + 10 + 16};
  for (size_t cut = 0; cut <= file.size(); ++cut) {
    for (const size_t block : {1u, 13u, 4096u}) {
      const Framing got = frame_all(std::span(file).first(cut), block);
      const auto whole =
          std::count_if(ends.begin(), ends.end(), [&](size_t e) { return e <= cut; });
      ASSERT_EQ(got.packets.size(), static_cast<size_t>(whole)) << "cut " << cut;
      const bool between = cut == 24 || std::count(ends.begin(), ends.end(), cut) > 0;
      ASSERT_EQ(got.counts.cut_records, cut < 24 || between ? 0u : 1u) << "cut " << cut;
      ASSERT_EQ(got.failure.empty(), cut >= 24);
    }
  }
}

TEST(Pcap, BlockSizesDoNotMatter) {
  PcapBuilder builder(PcapBuilder::kMicro, false);
  for (uint32_t i = 0; i < 700; ++i)
    builder.packet(100 + i, i, payload(i % 5 == 0 ? 300 + i : i % 61, i), 2000);
  const Framing whole = frame_all(builder.bytes(), builder.bytes().size());
  ASSERT_EQ(whole.packets.size(), 700u);
  for (size_t block = 1; block < 200; ++block) {
    const Framing got = frame_all(builder.bytes(), block);
    ASSERT_EQ(got.packets, whole.packets) << "blocks of " << block;
  }
}

}  // namespace
}  // namespace tidewire::test
