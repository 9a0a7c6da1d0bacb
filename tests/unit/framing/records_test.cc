// Files that are no captures: lines, and messages with their length before them, cut into blocks at
// every place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "framing/capture_framer.h"

namespace tidewire {
namespace {

using Records = std::vector<std::string>;

// The file in blocks that end at `cuts`, records asked for by at most `limit`.
Records frame(const std::string& file, FileRecords records, const std::vector<size_t>& cuts,
              CaptureCounts* counts = nullptr, uint32_t limit = kBurstMax) {
  std::vector<std::byte> spill(CaptureFramer::kSpillBytes);
  CaptureFramer framer(spill, records);
  framer.begin();
  Records out;
  Burst burst;
  burst.limit = limit;
  const auto drain = [&] {
    while (framer.frame(burst) == Framed::kPackets)
      for (uint32_t i = 0; i < burst.count; ++i) {
        EXPECT_EQ(burst.link[i], LinkType::kPayload);
        EXPECT_EQ(burst.arrival[i], EventTime::before_all());
        EXPECT_EQ(burst.wire_length[i], burst.length[i]);
        out.emplace_back(reinterpret_cast<const char*>(burst.data[i]), burst.length[i]);
      }
  };
  std::vector<std::string> blocks;  // each on its own, so that nothing is read past its end
  size_t from = 0;
  for (const size_t cut : cuts) {
    blocks.push_back(file.substr(from, cut - from));
    from = cut;
  }
  blocks.push_back(file.substr(from));
  for (const std::string& block : blocks) {
    framer.feed(std::as_bytes(std::span(block.data(), block.size())));
    drain();
  }
  if (framer.feed_end()) drain();
  EXPECT_NE(framer.finish(), Framed::kFailed) << framer.failure();
  if (counts != nullptr) *counts = framer.counts();
  return out;
}

TEST(Lines, EndsOfEveryKind) {
  EXPECT_EQ(frame("one\ntwo\r\n\n\r\n three \nlast", FileRecords::kLines, {}),
            (Records{"one", "two", " three ", "last"}));
  EXPECT_EQ(frame("", FileRecords::kLines, {}), Records{});
  EXPECT_EQ(frame("x", FileRecords::kLines, {}), Records{"x"});
  EXPECT_EQ(frame("x\n", FileRecords::kLines, {}), Records{"x"});
}

TEST(Lines, BlocksDoNotShow) {
  const std::string file = "alpha,1\nbeta,2\r\n\ngamma,333\nlast without an end";
  const Records whole = frame(file, FileRecords::kLines, {});
  ASSERT_EQ(whole.size(), 4u);
  for (size_t a = 0; a <= file.size(); ++a)
    for (size_t b = a; b <= file.size(); ++b) {
      EXPECT_EQ(frame(file, FileRecords::kLines, {a, b}), whole) << a << " " << b;
      EXPECT_EQ(frame(file, FileRecords::kLines, {a, b}, nullptr, 1), whole) << a << " " << b;
    }
}

TEST(Lines, OneThatIsTooLongIsCountedAndTheNextIsRead) {
  const std::string longest(kMaxCaptured, 'x'), longer(kMaxCaptured + 1, 'y');
  const std::string file = "a\n" + longest + "\n" + longer + "\nb\n" + longer;
  for (const std::vector<size_t>& cuts :
       {std::vector<size_t>{}, {1'000}, {300'000, 400'000}, {100'000, 500'000, 600'000}}) {
    CaptureCounts counts;
    EXPECT_EQ(frame(file, FileRecords::kLines, cuts, &counts), (Records{"a", longest, "b"}));
    EXPECT_EQ(counts.long_lines, 2u);
  }
}

TEST(Messages, LengthsAndTheEnd) {
  using namespace std::string_literals;
  const std::string file = "\0\3abc\0\1d\0\0never read"s;
  for (size_t a = 0; a <= file.size(); ++a)
    for (size_t b = a; b <= file.size(); ++b)
      EXPECT_EQ(frame(file, FileRecords::kMessages, {a, b}), (Records{"abc", "d"}))
          << a << " " << b;
  CaptureCounts counts;
  EXPECT_EQ(frame("\0\3abc\0\5de"s, FileRecords::kMessages, {}, &counts), Records{"abc"});
  EXPECT_EQ(counts.cut_records, 1u);
}

TEST(Lines, ACaptureIsACaptureForAllFormats) {
  std::string pcap("\xD4\xC3\xB2\xA1\2\0\4\0", 8);
  pcap.resize(24);
  pcap[16] = 1, pcap[18] = 1;  // snaplen, then Ethernet
  pcap[20] = 1;
  EXPECT_EQ(frame(pcap, FileRecords::kLines, {}), Records{});
}

}  // namespace
}  // namespace tidewire
