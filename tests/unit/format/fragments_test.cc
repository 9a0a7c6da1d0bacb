#include "format/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "flow_rig.h"
#include "framing/capture_framer.h"

namespace tidewire::test {
namespace {

constexpr int64_t kAt = 1'700'000'000 * kSecond;

// A UDP datagram of this payload in pieces of `piece` bytes (a multiple of 8), each a whole frame.
std::vector<Bytes> pieces_of(const Bytes& payload, uint32_t piece, uint32_t id, bool ipv6 = false) {
  Bytes datagram;
  for (const uint32_t v : {50'001u, 2055u, static_cast<uint32_t>(payload.size()) + 8, 0u})
    put16(datagram, v);
  append(datagram, payload);
  std::vector<Bytes> frames;
  for (size_t at = 0; at < datagram.size(); at += piece) {
    const size_t bytes = std::min<size_t>(piece, datagram.size() - at);
    const bool more = at + bytes < datagram.size();
    Bytes frame;
    for (const uint64_t mac : {0x020000000002u, 0x020000000001u}) {
      put16(frame, static_cast<uint32_t>(mac >> 32));
      put32(frame, static_cast<uint32_t>(mac));
    }
    put16(frame, ipv6 ? 0x86DD : 0x0800);
    if (ipv6) {
      put32(frame, 0x60000000);
      put16(frame, static_cast<uint32_t>(bytes) + 8);
      put16(frame, 44 << 8 | 64);
      for (const uint8_t last : {1, 2}) {
        const Ipv6 address = ipv6_address(last);
        frame.insert(frame.end(), address.begin(), address.end());
      }
      put16(frame, 17 << 8);
      put16(frame, static_cast<uint32_t>(at) | (more ? 1 : 0));
      put32(frame, id);
    } else {
      put16(frame, 0x4500);
      put16(frame, static_cast<uint32_t>(bytes) + 20);
      put16(frame, id);
      put16(frame, static_cast<uint32_t>(at / 8) | (more ? 0x2000u : 0u));
      put16(frame, 64 << 8 | 17);
      put16(frame, 0);
      put32(frame, ipv4_address(192, 0, 2, 1));
      put32(frame, ipv4_address(192, 0, 2, 254));
    }
    frame.insert(frame.end(), datagram.begin() + static_cast<std::ptrdiff_t>(at),
                 datagram.begin() + static_cast<std::ptrdiff_t>(at + bytes));
    frames.push_back(frame);
  }
  return frames;
}

void send(FlowRig& rig, const std::vector<Bytes>& frames, int64_t arrival = kAt) {
  BurstBuilder burst;
  for (const Bytes& frame : frames) burst.add(frame, arrival);
  rig.take(burst);
}

}  // namespace

// where: pmacct#413, ipfixcol2#43, f-stack#433, iperf#1107
TEST(Report44, ADatagramInPiecesIsReadWhateverTheirOrder) {
  const Bytes packet = netflow5({}, std::vector<Flow5>(30));  // 1464 bytes, 1472 with UDP's head
  for (const bool ipv6 : {false, true}) {
    std::vector<Bytes> pieces = pieces_of(packet, 504, 7, ipv6);
    ASSERT_EQ(pieces.size(), 3u);
    std::vector<size_t> order{0, 1, 2};
    do {
      FlowRig rig({"bytes"});
      send(rig, {pieces[order[0]], pieces[order[1]], pieces[order[2]]});
      EXPECT_EQ(rig.rows.size(), 30u);
      EXPECT_EQ(rig.noted(Note::kFragmentJoined), 1u);
      EXPECT_EQ(rig.counts.packets_parsed, 3u);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Fragments, TwoDatagramsAtOnceAndOneThatComesTwice) {
  const std::vector<Bytes> one =
      pieces_of(netflow5({.sequence = 0}, std::vector<Flow5>(30)), 800, 1);
  const std::vector<Bytes> two =
      pieces_of(netflow5({.sequence = 30}, std::vector<Flow5>(20)), 800, 2);
  FlowRig rig({});
  send(rig, {one[0], two[1], one[0], two[0], one[1]});
  EXPECT_EQ(rig.rows.size(), 50u);
  EXPECT_EQ(rig.noted(Note::kFragmentJoined), 2u);
  EXPECT_EQ(rig.noted(Note::kFragmentOverlap), 0u);
}

TEST(Fragments, ContradictionsEndTheDatagram) {
  const std::vector<Bytes> pieces = pieces_of(netflow5({}, std::vector<Flow5>(30)), 504, 7);
  // The same place with another byte; a piece that lies across two.
  Bytes other = pieces[1];
  other[100] ^= 1;
  FlowRig rig({});
  send(rig, {pieces[0], pieces[1], other, pieces[2]});
  EXPECT_EQ(rig.rows.size(), 0u);
  EXPECT_EQ(rig.noted(Note::kFragmentOverlap), 1u);
  EXPECT_EQ(dropped(rig.counts, DropReason::kMalformed), 2u);  // it, and what still came
  FlowRig across({});
  Bytes shifted = pieces[1];
  set16(shifted, 20, (504 / 8 - 1) | 0x2000);  // 8 bytes earlier
  send(across, {pieces[0], shifted, pieces[1], pieces[2]});
  EXPECT_EQ(across.rows.size(), 0u);
  EXPECT_EQ(across.noted(Note::kFragmentOverlap), 1u);
}

TEST(Fragments, WhatIsMissingIsCountedWhenTimeOrRoomRunsOut) {
  const auto half = [](uint32_t id) {
    return pieces_of(netflow5({.sequence = 30 * id}, std::vector<Flow5>(30)), 800, id)[0];
  };
  FlowRig rig({});
  send(rig, {half(1)});
  send(rig, {half(2)}, kAt + 31 * kSecond);
  EXPECT_EQ(rig.noted(Note::kFragmentLost), 1u);
  std::vector<Bytes> many;
  for (uint32_t id = 3; id < 3 + 16; ++id) many.push_back(half(id));
  send(rig, many, kAt + 32 * kSecond);  // 17 under way, 16 places
  EXPECT_EQ(rig.noted(Note::kFragmentLost), 2u);
  // A piece that a capture has cut, and lengths that cannot be.
  Bytes odd = half(99);
  set16(odd, 16, 20 + 13);  // 13 bytes, and more to come
  send(rig, {odd}, kAt + 32 * kSecond);
  EXPECT_EQ(rig.noted(Note::kBadLength), 1u);
  BurstBuilder cut;
  cut.add(half(98), 400, 834, kAt + 32 * kSecond);
  rig.take(cut);
  EXPECT_EQ(rig.noted(Note::kTruncatedHeader), 1u);
}

// ../shared/samples/encap/snabb: tshark joins 3 fragments to 1440 bytes of UDP, and 2 of IPv6 to
// 1460 bytes of an IPv4 packet.
TEST(Fragments, RealOnesAsTsharkJoinsThem) {
  const std::filesystem::path folder = std::filesystem::path(SAMPLES) / "encap" / "snabb";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no samples beside the project";
  for (const auto& [name, expected] : std::initializer_list<std::pair<const char*, uint32_t>>{
           {"udp-frominet-3frag-bound.pcap", 1'440}, {"udp-afteraftr-ipv6-2frags.pcap", 1'460}}) {
    std::ifstream in(folder / name, std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    for (const bool reversed : {false, true}) {
      std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
      CaptureFramer framer(spill);
      framer.begin();
      framer.feed(std::as_bytes(std::span(file.data(), file.size())));
      Burst burst;
      burst.first = Position{0};
      ASSERT_EQ(framer.frame(burst), Framed::kPackets);
      Fragments fragments;
      LaneCounts counts;
      uint32_t whole = 0;
      for (uint32_t n = 0; n < burst.count; ++n) {
        const uint32_t i = reversed ? burst.count - 1 - n : n;
        Headers h;
        ASSERT_FALSE(read_headers(burst.link[i], burst.data[i], burst.length[i],
                                  burst.wire_length[i], h, counts));
        const uint8_t* at = nullptr;
        if (h.fragment != Fragment::kNone &&
            fragments.take(h, burst.arrival[i], at, whole, counts) == Fragments::Took::kWhole)
          break;
      }
      EXPECT_EQ(whole, expected) << name << reversed;
    }
  }
}

}  // namespace tidewire::test
