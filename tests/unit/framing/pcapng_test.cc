#include <gtest/gtest.h>

#include "framed.h"

namespace tidewire::test {
namespace {

constexpr int64_t kNone = INT64_MIN;

Bytes joined(const Bytes& a, const Bytes& b) {
  Bytes out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// One enhanced packet of an interface with these options.
int64_t time_of(uint64_t ticks, uint8_t resolution, int64_t offset, bool big = false) {
  PcapngBuilder b(big);
  b.section().interface(1, 0, joined(b.resolution(resolution), b.offset(offset)));
  b.enhanced(0, ticks, payload(4, 1), 4);
  const Framing got = frame_all(b.bytes(), 4096);
  EXPECT_EQ(got.failure, "");
  EXPECT_EQ(got.packets.size(), 1u);
  EXPECT_EQ(got.counts.bad_time, got.packets.at(0).arrival == kNone ? 1u : 0u);
  return got.packets.at(0).arrival;
}

TEST(Pcapng, ResolutionsAreExact) {
  EXPECT_EQ(time_of(1'767'663'089'500'330, 6, 0), 1'767'663'089'500'330'000);
  EXPECT_EQ(time_of(1'767'663'089'500'330'493, 9, 0), 1'767'663'089'500'330'493);
  EXPECT_EQ(time_of(1'767'663'089, 0, 0), 1'767'663'089'000'000'000);
  EXPECT_EQ(time_of(1'519'128'000'195, 3, 0), 1'519'128'000'195'000'000);
  // 2^-8 s: 1519128000.1953125 = 388896768050 / 256 (test902 of the generator).
  EXPECT_EQ(time_of(388'896'768'050, 0x88, 0), 1'519'128'000'195'312'500);
  EXPECT_EQ(time_of(uint64_t{3} << 40, 0x80 | 40, 0), 3'000'000'000);
  EXPECT_EQ(time_of(uint64_t{1} << 63, 0x80 | 63, 0), 1'000'000'000);
  EXPECT_EQ(time_of(UINT64_MAX, 0x80 | 64, 0), 999'999'999);  // 1 s less 2^-64 s
  EXPECT_EQ(time_of(UINT64_MAX, 0xFF, 0), 0);
  // Finer than a nanosecond: the rest is cut. 10^-12, 10^-28 (2^64 of them: 1.8 ns), 10^-29.
  EXPECT_EQ(time_of(5'999, 12, 0), 5);
  EXPECT_EQ(time_of(UINT64_MAX, 28, 0), 1);
  EXPECT_EQ(time_of(UINT64_MAX, 29, 0), 0);
  EXPECT_EQ(time_of(UINT64_MAX, 127, 0), 0);
}

TEST(Pcapng, OffsetsAreSecondsAndMayBeNegative) {
  for (const bool big : {false, true}) {
    EXPECT_EQ(time_of(1'500'000, 6, 1'600'000'000, big), 1'600'000'001'500'000'000);
    EXPECT_EQ(time_of(500'000, 6, -2, big), -1'500'000'000);
    EXPECT_EQ(time_of(250, 0x88, 10, big), 10'976'562'500);
  }
  // Ticks alone are beyond int64 (year 2554), the offset brings them back.
  EXPECT_EQ(time_of(18'446'744'073, 0, -18'446'744'000), 73'000'000'000);
}

TEST(Pcapng, TimesThatInt64CannotHoldAreNone) {
  EXPECT_EQ(time_of(UINT64_MAX, 6, 0), kNone);
  EXPECT_EQ(time_of(UINT64_MAX, 0, INT64_MAX), kNone);
  EXPECT_EQ(time_of(0, 6, INT64_MIN), kNone);
  EXPECT_EQ(time_of(0, 6, -9'223'372'036), -9'223'372'036'000'000'000);
  EXPECT_EQ(time_of(9'223'372'036'854'775'806, 9, 0), 9'223'372'036'854'775'806);
  EXPECT_EQ(time_of(9'223'372'036'854'775'807, 9, 0), kNone);  // end_of_time() is no time
}

// Sections of both byte orders, several interfaces, all kinds of packet blocks.
Bytes mixed(bool big) {
  PcapngBuilder b(big);
  b.section();
  b.interface(1, 0, b.resolution(9));
  b.interface(101, 64, b.offset(1000));
  b.enhanced(1, 2'000'001, payload(33, 1), 99);
  b.block(5, b.body().u32(0).u64(0).u64(7));                        // statistics
  b.block(0x00000BAD, b.body().u32(32473).bytes(payload(200, 2)));  // custom
  b.enhanced(0, 7, payload(61, 3), 61,
             b.body().u16(1).u16(2).bytes(payload(2, 4)).pad(4).u32(0).out);
  b.simple(payload(30, 5), 30);
  b.obsolete(1, 5, payload(17, 6), 17);
  b.order(!big).section();
  b.interface(113, 20);
  b.simple(payload(20, 7), 1500);  // cut by the snapshot length
  b.enhanced(0, 1, payload(0, 8), 60);
  return b.bytes();
}

TEST(Pcapng, SectionsInterfacesAndAllPacketBlocks) {
  for (const bool big : {false, true}) {
    const Bytes file = mixed(big);
    const Framing got = frame_all(file, file.size());
    ASSERT_EQ(got.failure, "");
    const std::vector<Packet> expected = {{payload(33, 1), 99, 1'002'000'001'000, 1, 101},
                                          {payload(61, 3), 61, 7, 0, 1},
                                          {payload(30, 5), 30, kNone, 0, 1},
                                          {payload(17, 6), 17, 1'000'000'005'000, 1, 101},
                                          {payload(20, 7), 1500, kNone, 0, 113},
                                          {payload(0, 8), 60, 1'000, 0, 113}};
    EXPECT_EQ(got.packets, expected);
    EXPECT_EQ(got.counts.untimed, 2u);
    EXPECT_EQ(got.unstamped, 2u);
    EXPECT_EQ(got.counts.bad_time, 0u);
    EXPECT_EQ(got.counts.skipped_blocks, 2u);
    for (size_t block = 1; block <= file.size(); ++block) {
      const Framing parts = frame_all(file, block);
      ASSERT_EQ(parts.packets, expected) << "blocks of " << block << " " << parts.failure;
      ASSERT_EQ(parts.counts.skipped_blocks, 2u);
    }
  }
}

TEST(Pcapng, UnknownBlocksOfAnySizeAreSteppedOver) {
  PcapngBuilder b(false);
  b.section().interface(1, 0);
  b.block(0x40000001, b.body().bytes(payload(3'000'000, 1)));
  b.enhanced(0, 1, payload(10, 2), 10);
  for (const size_t block : {512u, 262'144u, 1u << 23}) {
    const Framing got = frame_all(b.bytes(), block);
    EXPECT_EQ(got.packets.size(), 1u) << got.failure;
    EXPECT_EQ(got.counts.skipped_blocks, 1u);
  }
}

TEST(Pcapng, CutAtEveryByte) {
  PcapngBuilder b(false);
  b.section().interface(1, 0);
  std::vector<size_t> whole = {b.bytes().size()};
  std::vector<size_t> data_ends;
  for (uint32_t i = 0; i < 3; ++i) {
    data_ends.push_back(b.bytes().size() + 28 + 13 * i);
    b.enhanced(0, i, payload(13 * i, i), 60);
    whole.push_back(b.bytes().size());
  }
  whole.push_back(28);  // after the section header
  const Bytes file = b.bytes();
  for (size_t cut = 0; cut <= file.size(); ++cut) {
    for (const size_t block : {1u, 13u, 4096u}) {
      const Framing got = frame_all(std::span(file).first(cut), block);
      // A packet is there when its bytes are: the block's padding and end may be missing.
      const auto packets =
          std::count_if(data_ends.begin(), data_ends.end(), [&](size_t e) { return e <= cut; });
      ASSERT_EQ(got.packets.size(), static_cast<size_t>(packets)) << "cut " << cut;
      const bool between = std::count(whole.begin(), whole.end(), cut) > 0;
      ASSERT_EQ(got.counts.cut_records, cut < 4 || between ? 0u : 1u) << "cut " << cut;
      ASSERT_EQ(got.failure.empty(), cut >= 4) << "cut " << cut;
    }
  }
}

struct Broken {
  const char* what;
  Bytes file;
  size_t packets;
  std::string failure;
};

std::vector<Broken> broken_files() {
  std::vector<Broken> all;
  const auto start = [] {
    PcapngBuilder b(false);
    b.section().interface(1, 0);         // 28 + 20 bytes
    b.enhanced(0, 1, payload(4, 1), 4);  // 36 bytes: the next block is at 84
    return b;
  };
  const auto add = [&](const char* what, PcapngBuilder b, std::string failure, size_t packets = 1) {
    all.push_back({what, b.bytes(), packets, "at byte " + failure});
  };
  PcapngBuilder b = start();
  b.raw().out[80] = std::byte{35};
  add("trailing length", b, "80: the length at the end of a block is not that at its start");
  b = start();
  b.raw().u32(6).u32(8).u32(0);
  add("length below 12", b,
      "84: block length below 12 or no multiple of 4: the file is damaged here");
  b = start();
  b.raw().u32(77).u32(18).bytes(payload(20, 1));
  add("odd length", b, "84: block length below 12 or no multiple of 4: the file is damaged here");
  b = start();
  b.enhanced(1, 1, payload(4, 1), 4);
  add("interface", b, "84: packet of an interface that is not described");
  b = start();
  b.block(6, b.body().u32(0).u64(0).u32(9).u32(9).bytes(payload(8, 1)));
  add("longer than its block", b, "84: packet is longer than its block");
  b = start();
  b.block(6, b.body().u32(0).u64(0).u32(300'000).u32(9).bytes(payload(8, 1)));
  add("captured", b, "84: captured length above 262144: the file is damaged here");
  b = start();
  b.block(6, b.body().u32(0).u64(0).u32(0));
  add("short packet block", b, "84: packet block is too short");
  b = start();
  b.block(3, b.body());
  add("short simple block", b, "84: packet block is too short");
  b = start();
  b.block(3, b.body().u32(9).bytes(payload(8, 1)));
  add("long simple packet", b, "84: packet is longer than its block");
  b = start();
  b.block(1, b.body().u16(1).u16(0));
  add("short interface", b, "84: interface description of a wrong length");
  b = start();
  b.block(0x0A0D0D0A, b.body().u32(0x1A2B3C4E).u16(1).u16(0).u64(0));
  add("byte order", b, "84: section header without a byte order");
  b = start();
  b.block(0x0A0D0D0A, b.body().u32(0x1A2B3C4D).u16(2).u16(0).u64(0));
  add("version", b, "84: section of a pcapng version other than 1");
  PcapngBuilder none(true);
  none.section().simple(payload(4, 1), 4);
  add("no interface", none, "28: packet of an interface that is not described", 0);
  PcapngBuilder many(true);
  many.section();
  for (int i = 0; i < 513; ++i) many.interface(1, 0);
  add("many", many, std::to_string(28 + 512 * 20) + ": more than 512 interfaces in a section", 0);
  return all;
}

TEST(Pcapng, FaultsNameTheirPlaceAndKeepWhatWasBefore) {
  for (const Broken& broken : broken_files()) {
    for (const size_t block : {1u, 17u, 64u, 4096u}) {
      const Framing got = frame_all(broken.file, block);
      EXPECT_EQ(got.failure, broken.failure) << broken.what << " in blocks of " << block;
      EXPECT_EQ(got.packets.size(), broken.packets) << broken.what;
    }
  }
}

TEST(Pcapng, AnOptionListThatDoesNotFitKeepsWhatItSaidBefore) {
  PcapngBuilder b(false);
  b.section();
  b.interface(1, 0, joined(b.resolution(9), b.body().u16(2).u16(500).out));
  b.enhanced(0, 77, payload(4, 1), 4);
  const Framing got = frame_all(b.bytes(), 4096);
  ASSERT_EQ(got.packets.size(), 1u);
  EXPECT_EQ(got.packets[0].arrival, 77);
}

TEST(Pcapng, ASecondFileStartsAfresh) {
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill);
  Burst burst;
  PcapngBuilder first(true);
  first.section().interface(1, 0);
  first.enhanced(0, 1, payload(50, 1), 50);
  const Bytes second =
      PcapBuilder(PcapBuilder::kNano, false).packet(3, 4, payload(5, 2), 5).bytes();
  framer.begin();
  framer.feed(std::span(first.bytes()).first(70));  // cut inside the packet
  EXPECT_EQ(framer.frame(burst), Framed::kHungry);
  EXPECT_EQ(framer.finish(), Framed::kHungry);
  framer.begin();
  framer.feed(second);
  EXPECT_EQ(framer.frame(burst), Framed::kPackets);
  EXPECT_EQ(burst.count, 1u);
  EXPECT_EQ(burst.arrival[0].ns, 3'000'000'004);
  EXPECT_EQ(framer.frame(burst), Framed::kHungry);
  EXPECT_EQ(framer.finish(), Framed::kHungry);
  EXPECT_EQ(framer.counts().cut_records, 1u);
  EXPECT_EQ(framer.counts().packets, 1u);
}

}  // namespace
}  // namespace tidewire::test
