#include "framing/file_kind.h"

#include <gtest/gtest.h>

namespace tidewire::test {
namespace {

std::span<const std::byte> bytes_of(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

TEST(FileKind, IsToldByTheFirstBytes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(file_kind(bytes_of("\xD4\xC3\xB2\xA1\x02\0\x04\0"sv)), FileKind::kPcap);
  EXPECT_EQ(file_kind(bytes_of("\xA1\xB2\x3C\x4D"sv)), FileKind::kPcap);
  EXPECT_EQ(file_kind(bytes_of("\x0A\x0D\x0D\x0A"sv)), FileKind::kPcapng);
  EXPECT_EQ(file_kind(bytes_of("\x1F\x8B\x08\0"sv)), FileKind::kGzip);
  EXPECT_EQ(file_kind(bytes_of("\x28\xB5\x2F\xFD"sv)), FileKind::kZstd);
  EXPECT_EQ(file_kind(bytes_of("snoop\0\0\0"sv)), FileKind::kOther);
  EXPECT_EQ(file_kind(bytes_of("\xD4\xC3\xB2"sv)), FileKind::kOther);
  EXPECT_EQ(file_kind({}), FileKind::kOther);
}

TEST(FileKind, NamesWhatItCannotRead) {
  using namespace std::string_view_literals;
  EXPECT_EQ(name_of_kind(bytes_of("\xFD"
                                  "7zXZ\0\0\0"sv)),
            "an xz archive (unpack it first)");
  EXPECT_EQ(name_of_kind(bytes_of("snoop\0\0\0"sv)),
            "a snoop capture (convert it: editcap -F pcapng)");
  EXPECT_EQ(name_of_kind(bytes_of("time,key"sv)), "text");
  EXPECT_EQ(name_of_kind(bytes_of("\x01\x02\x03"sv)), "of no format known here");
  EXPECT_EQ(name_of_kind({}), "empty");
}

}  // namespace
}  // namespace tidewire::test
