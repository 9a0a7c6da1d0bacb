// File source: real files, read by io_uring, pread and decompression, must give the same packets as
// the framer gives for the whole file in memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "capture_builder.h"
#include "drivers/uring/file_source.h"
#include "memory/seal.h"

namespace tidewire::uring {
namespace {

using test::Bytes;
using test::payload;
using test::PcapBuilder;
using test::PcapngBuilder;

struct Packet {
  Bytes data;
  uint32_t wire_length;
  int64_t arrival;
  bool operator==(const Packet&) const = default;
};

class Folder {
 public:
  explicit Folder(const std::string& under) {
    std::string name = under + "/tidewire-XXXXXX";
    path_ = mkdtemp(name.data()) ? name : "";
  }
  ~Folder() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  bool usable() const { return !path_.empty(); }
  std::string put(const std::string& name, const Bytes& bytes, bool append = false) const {
    const std::string path = path_ + "/" + name;
    std::ofstream out(path, append ? std::ios::binary | std::ios::app : std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Same packets in each: written with the builder, so the expected ones are known.
struct Capture {
  Bytes file;
  std::vector<Packet> packets;
};

Capture capture(uint32_t count, uint32_t from = 0) {
  Capture c;
  PcapBuilder builder(PcapBuilder::kNano, false);
  for (uint32_t i = from; i < from + count; ++i) {
    const size_t length = i % 97 == 0 ? 3000 + i % 1000 : 20 + i % 80;
    c.packets.push_back({payload(length, i), 4000 + i, (1'700'000'000ll + i) * 1'000'000'000 + i});
    builder.packet(1'700'000'000 + i, i, c.packets.back().data, 4000 + i);
  }
  c.file = builder.bytes();
  return c;
}

// Takes what there is until the source says something else than packets and nothing.
Received drain(FileSource& source, std::vector<Packet>& packets, size_t until = SIZE_MAX) {
  Burst burst;
  while (packets.size() < until) {
    const Received received = source.receive(burst);
    if (received == Received::kNothing) {
      sched_yield();
      continue;
    }
    if (received != Received::kPackets) return received;
    for (uint32_t i = 0; i < burst.count; ++i) {
      packets.push_back({Bytes(burst.data[i], burst.data[i] + burst.length[i]),
                         burst.wire_length[i], burst.arrival[i].ns});
    }
    source.release(burst);
  }
  return Received::kPackets;
}

std::unique_ptr<FileSource> open_or_fail(const std::vector<std::string>& paths,
                                         const FileSourceOptions& options) {
  auto source = FileSource::open(paths, options);
  EXPECT_TRUE(source.ok()) << source.status().message();
  return source.ok() ? std::move(*source) : nullptr;
}

std::string refusal(const std::vector<std::string>& paths, FileSourceOptions options = {}) {
  options.reader = Reader::kPread;
  return std::string(FileSource::open(paths, options).status().message());
}

std::vector<Reader> readers() {
  if (!probe().ok()) return {Reader::kPread};
  return {Reader::kPread, Reader::kUring};
}

#define NEED_URING() \
  if (!probe().ok()) GTEST_SKIP() << std::string(probe().message())

TEST(FileSource, EveryReaderBlockSizeAndDepthGivesTheSamePackets) {
  const Folder folder(BUILD_DIR);
  const Capture c = capture(3000);
  const std::string path = folder.put("a.pcap", c.file);
  for (const Reader reader : readers()) {
    for (const uint32_t block : {64u, 100u, 4096u, 12288u, 262144u}) {
      for (const uint32_t depth : {1u, 2u, 8u}) {
        const auto source =
            open_or_fail({path}, {.reader = reader, .block_bytes = block, .depth = depth});
        ASSERT_TRUE(source);
        std::vector<Packet> got;
        ASSERT_EQ(drain(*source, got), Received::kEnded);
        ASSERT_EQ(got.size(), c.packets.size()) << block << " " << depth;
        ASSERT_TRUE(got == c.packets) << block << " " << depth;
        SourceCounters counters;
        source->sample(counters);
        EXPECT_EQ(counters.bytes_read, c.file.size());
        EXPECT_EQ(counters.bytes_total, c.file.size());
        EXPECT_EQ(counters.errors, 0u);
        EXPECT_EQ(counters.failure, nullptr);
        Burst burst;
        EXPECT_EQ(source->receive(burst), Received::kEnded);  // and stays so
      }
    }
  }
}

TEST(FileSource, DirectAndBufferedOnDiskAndTmpfs) {
  NEED_URING();
  const Capture c = capture(20'000);
  for (const char* place : {BUILD_DIR, "/dev/shm"}) {
    const Folder folder(place);
    if (!folder.usable()) continue;
    const std::string path = folder.put("a.pcap", c.file);
    for (const bool direct : {true, false}) {
      const auto source =
          open_or_fail({path}, {.block_bytes = 65536, .depth = 4, .direct = direct});
      ASSERT_TRUE(source);
      std::vector<Packet> got;
      ASSERT_EQ(drain(*source, got), Received::kEnded);
      EXPECT_TRUE(got == c.packets);
      const bool said = source->describe().find("O_DIRECT") != std::string::npos ||
                        source->describe().find("page cache") != std::string::npos;
      EXPECT_TRUE(said) << source->describe();
      if (!direct) {
        EXPECT_EQ(source->describe().find("O_DIRECT"), std::string::npos);
      }
      std::printf("%s\n", source->describe().c_str());
    }
  }
}

TEST(FileSource, SeveralFilesAreOneLane) {
  const Folder folder(BUILD_DIR);
  const Capture a = capture(500);
  const Capture b = capture(300, 500);
  PcapngBuilder ng(true);
  ng.section().interface(1, 0, ng.resolution(9));
  ng.enhanced(0, 1'900'000'000'000'000'000, payload(40, 1), 99);
  // The first is cut inside its last record: counted, and the next file is read.
  const Bytes cut(a.file.begin(), a.file.end() - 1);
  const std::vector<std::string> paths = {folder.put("1.pcap", cut), folder.put("2.pcap", b.file),
                                          folder.put("3.pcapng", ng.bytes())};
  std::vector<Packet> expected(a.packets.begin(), a.packets.end() - 1);
  expected.insert(expected.end(), b.packets.begin(), b.packets.end());
  expected.push_back({payload(40, 1), 99, 1'900'000'000'000'000'000});
  for (const Reader reader : readers()) {
    const auto source = open_or_fail(paths, {.reader = reader, .block_bytes = 4096});
    ASSERT_TRUE(source);
    std::vector<Packet> got;
    ASSERT_EQ(drain(*source, got), Received::kEnded);
    EXPECT_TRUE(got == expected);
    EXPECT_EQ(source->capture_counts().cut_records, 1u);
    SourceCounters counters;
    source->sample(counters);
    EXPECT_EQ(counters.errors, 1u);
    EXPECT_EQ(counters.bytes_read, counters.bytes_total);
  }
}

Bytes gzip(const Bytes& plain, int level) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&z, plain.size()));
  Bytes in = plain;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  return out;
}

Bytes zstd(const Bytes& plain) {
  Bytes out(ZSTD_compressBound(plain.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
  return out;
}

Bytes plus(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(FileSource, CompressedFilesGiveTheSamePackets) {
  const Folder folder(BUILD_DIR);
  const Capture c = capture(20'000);
  // In two members or frames: cut in the middle of a record.
  const Bytes first(c.file.begin(), c.file.begin() + 700'001);
  const Bytes second(c.file.begin() + 700'001, c.file.end());
  const std::vector<std::string> paths = {folder.put("a.gz", gzip(c.file, 6)),
                                          folder.put("b.gz", plus(gzip(first, 1), gzip(second, 9))),
                                          folder.put("c.gz", plus(gzip(c.file, 0), Bytes(512))),
                                          folder.put("d.zst", zstd(c.file)),
                                          folder.put("e.zst", plus(zstd(first), zstd(second)))};
  for (const std::string& path : paths) {
    for (const uint32_t block : {64u, 5000u, 262'144u}) {
      const auto source = open_or_fail({path}, {.reader = Reader::kPread, .block_bytes = block});
      ASSERT_TRUE(source);
      std::vector<Packet> got;
      ASSERT_EQ(drain(*source, got), Received::kEnded) << path;
      ASSERT_TRUE(got == c.packets) << path << " " << block;
      SourceCounters counters;
      source->sample(counters);
      EXPECT_EQ(counters.bytes_read, counters.bytes_total);
      EXPECT_EQ(counters.bytes_read, std::filesystem::file_size(path));
      EXPECT_NE(source->describe().find("decompressed"), std::string::npos);
    }
  }
  // All of them and a plain one, as one lane.
  std::vector<std::string> mixed = paths;
  mixed.insert(mixed.begin() + 2, folder.put("plain", c.file));
  for (const Reader reader : readers()) {
    const auto source = open_or_fail(mixed, {.reader = reader});
    ASSERT_TRUE(source);
    std::vector<Packet> got;
    ASSERT_EQ(drain(*source, got), Received::kEnded);
    ASSERT_EQ(got.size(), 6 * c.packets.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(got[i] == c.packets[i % c.packets.size()]) << i;
  }
}

TEST(FileSource, CompressedFilesThatAreCutOrDamaged) {
  const Folder folder(BUILD_DIR);
  const Capture c = capture(20'000);
  for (const bool gz : {true, false}) {
    Bytes packed = gz ? gzip(c.file, 6) : zstd(c.file);
    const Bytes half(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(packed.size() / 2));
    const auto cut = open_or_fail({folder.put("cut", half)}, {.reader = Reader::kPread});
    ASSERT_TRUE(cut);
    std::vector<Packet> got;
    EXPECT_EQ(drain(*cut, got), Received::kEnded);
    EXPECT_GT(got.size(), 5000u);
    got.resize(5000);
    EXPECT_TRUE(got == std::vector<Packet>(c.packets.begin(), c.packets.begin() + 5000));
    SourceCounters counters;
    cut->sample(counters);
    EXPECT_GE(counters.errors, 1u);

    for (size_t i = packed.size() / 2; i < packed.size() / 2 + 400; ++i)
      packed[i] = std::byte{0xA5};
    const auto bad = open_or_fail({folder.put("bad", packed)}, {.reader = Reader::kPread});
    ASSERT_TRUE(bad);
    got.clear();
    EXPECT_EQ(drain(*bad, got), Received::kFailed);
    bad->sample(counters);
    ASSERT_NE(counters.failure, nullptr);
    EXPECT_NE(std::string(counters.failure).find("damaged"), std::string::npos) << counters.failure;
  }
}

TEST(FileSource, FollowsAGrowingFile) {
  const Capture c = capture(1000);
  for (const Reader reader : readers()) {
    const Folder folder(BUILD_DIR);
    const std::string path = folder.put("a.pcap", {});
    const auto source =
        open_or_fail({path}, {.reader = reader, .block_bytes = 4096, .follow = true});
    ASSERT_TRUE(source);
    Burst burst;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(source->receive(burst), Received::kNothing);
    std::vector<Packet> got;
    size_t at = 0;
    for (const size_t step : {3u, 20u, 1u, 50u, 5000u, 17u, 20'000u}) {
      folder.put("a.pcap",
                 Bytes(c.file.begin() + static_cast<ptrdiff_t>(at),
                       c.file.begin() + static_cast<ptrdiff_t>(at + step)),
                 true);
      at += step;
      // What is whole by now: 24 bytes of header, then 16 + data each.
      size_t whole = 0;
      for (size_t end = 24; whole < c.packets.size(); ++whole) {
        end += 16 + c.packets[whole].data.size();
        if (end > at) break;
      }
      drain(*source, got, whole);
      ASSERT_EQ(got.size(), whole);
    }
    folder.put("a.pcap", Bytes(c.file.begin() + static_cast<ptrdiff_t>(at), c.file.end()), true);
    drain(*source, got, c.packets.size());
    EXPECT_TRUE(got == c.packets);
    EXPECT_EQ(source->receive(burst), Received::kNothing);
    SourceCounters counters;
    source->sample(counters);
    EXPECT_EQ(counters.bytes_read, c.file.size());
    EXPECT_EQ(counters.bytes_total, c.file.size());
    // Cut below what was read: said, and the lane ends.
    ASSERT_EQ(truncate(path.c_str(), 10), 0);
    EXPECT_EQ(drain(*source, got), Received::kFailed);
    source->sample(counters);
    ASSERT_NE(counters.failure, nullptr);
    EXPECT_NE(std::string(counters.failure).find("cut below"), std::string::npos);
  }
}

TEST(FileSource, ADamagedFileEndsTheLaneWithItsPlace) {
  const Folder folder(BUILD_DIR);
  PcapBuilder builder(PcapBuilder::kMicro, true);
  builder.packet(1, 1, payload(60, 1), 60);
  builder.raw().u32(1).u32(1).u32(0x7FFFFFFF).u32(60);
  const std::string path = folder.put("a.pcap", builder.bytes());
  for (const Reader reader : readers()) {
    const auto source = open_or_fail({path, path}, {.reader = reader, .block_bytes = 64});
    ASSERT_TRUE(source);
    std::vector<Packet> got;
    EXPECT_EQ(drain(*source, got), Received::kFailed);
    EXPECT_EQ(drain(*source, got), Received::kFailed);
    EXPECT_EQ(got.size(), 1u);
    SourceCounters counters;
    source->sample(counters);
    EXPECT_EQ(counters.errors, 1u);
    EXPECT_EQ(std::string(counters.failure),
              "cannot read " + path +
                  ": at byte 100: captured length above 262144: the file is damaged here");
  }
}

TEST(FileSource, RefusalsNameFileCauseAndRemedy) {
  const Folder folder(BUILD_DIR);
  EXPECT_EQ(refusal({}), "a file source needs at least one file");
  EXPECT_EQ(refusal({folder.path() + "/none"}),
            "cannot read " + folder.path() +
                "/none: No such file or directory (is the path relative to where the program was "
                "started?)");
  EXPECT_EQ(refusal({folder.path()}),
            "cannot read " + folder.path() +
                ": it is a directory (a config names it as directory = ...)");
  EXPECT_EQ(refusal({"/dev/null"}),
            "cannot read /dev/null: it is no regular file (captures are read at offsets)");
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);  // without a writer: one that is waited for hangs here
  EXPECT_EQ(refusal({pipe}),
            "cannot read " + pipe + ": it is no regular file (captures are read at offsets)");
  const std::string empty = folder.put("empty", {});
  EXPECT_EQ(refusal({empty}), "cannot read " + empty + ": it is empty");
  const Bytes words(40, std::byte{'x'});
  const std::string text = folder.put("text", words);
  EXPECT_EQ(refusal({text}), "cannot read " + text +
                                 ": not a capture, text (pcap, pcapng and these in gzip or zstd "
                                 "are read)");
  const std::string packed = folder.put("text.gz", gzip(words, 6));
  EXPECT_EQ(refusal({packed}),
            "cannot read " + packed +
                ": not a capture, what is compressed in it is text (pcap, pcapng "
                "and these in gzip or zstd are read)");
  const std::string gz = folder.put("a.gz", gzip(capture(3).file, 6));
  EXPECT_EQ(refusal({gz}, {.follow = true}),
            "cannot follow " + gz + ": it is compressed (follow a plain capture)");
  EXPECT_EQ(refusal({text}, {.block_bytes = 32}),
            "block size of a file source must be 64 B to 64 MiB");
  EXPECT_EQ(refusal({text}, {.depth = 0}), "depth of a file source must be 1 to 256");
}

TEST(FileSource, AbsentRights) {
  const Folder folder(BUILD_DIR);
  const std::string secret = folder.put("secret", capture(1).file);
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  constexpr uid_t kNobody = 65534;
  const uid_t self = geteuid();
  ASSERT_TRUE(self != 0 || seteuid(kNobody) == 0);
  const std::string message = refusal({secret});
  ASSERT_TRUE(self != 0 || seteuid(self) == 0);
  EXPECT_EQ(message,
            "cannot read " + secret + ": Permission denied (give this user the right to read it)");
}

// As in a container: a filter answers io_uring_setup with EPERM. In a child, for it is for life.
TEST(FileSource, WhereIoUringIsForbidden) {
  const Folder folder(BUILD_DIR);
  const Capture c = capture(100);
  const std::string path = folder.put("a.pcap", c.file);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{.len = 4, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      _exit(77);
    const std::string why(probe().message());
    const auto ring = FileSource::open({path}, {});
    const std::string message(ring.status().message());
    auto plain = FileSource::open({path}, {.reader = Reader::kPread});
    std::vector<Packet> got;
    const bool good = why.find("sysctl kernel.io_uring_disabled") != std::string::npos &&
                      absl::IsUnavailable(ring.status()) &&
                      message.find("reader = \"pread\"") != std::string::npos && plain.ok() &&
                      drain(**plain, got) == Received::kEnded && got == c.packets;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FileSource, WithoutTheRightToLockMemory) {
  NEED_URING();
  const Folder folder(BUILD_DIR);
  const Capture c = capture(5000);
  const std::string path = folder.put("a.pcap", c.file);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Enough for the ring itself, not for ten blocks of 64 KiB.
    const rlimit little{.rlim_cur = 256 << 10, .rlim_max = 256 << 10};
    if (setrlimit(RLIMIT_MEMLOCK, &little) != 0) _exit(77);
    if (geteuid() == 0 && (seteuid(65534) != 0 || access(path.c_str(), R_OK) != 0)) _exit(77);
    auto source = FileSource::open({path}, {.block_bytes = 65536});
    if (!source.ok()) _exit(77);  // this build folder is closed to others
    std::vector<Packet> got;
    const bool good = (*source)->describe().find("not registered") != std::string::npos &&
                      drain(**source, got) == Received::kEnded && got == c.packets;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "another user cannot read the build folder";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FileSource, AFileThatShrinksWhileItIsRead) {
  const Folder folder(BUILD_DIR);
  const Capture c = capture(20'000);
  for (const Reader reader : readers()) {
    const std::string path = folder.put("a.pcap", c.file);
    const auto source =
        open_or_fail({path}, {.reader = reader, .block_bytes = 4096, .depth = 1, .direct = false});
    ASSERT_TRUE(source);
    std::vector<Packet> got;
    drain(*source, got, 10);
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(c.file.size() / 2)), 0);
    EXPECT_EQ(drain(*source, got), Received::kFailed);
    SourceCounters counters;
    source->sample(counters);
    EXPECT_NE(std::string(counters.failure).find("became shorter"), std::string::npos);
    EXPECT_GT(got.size(), 5000u);
  }
}

// A source is opened on one thread, used on another, and taken down in the middle of its reads.
TEST(FileSource, OpenedHereReadThere) {
  NEED_URING();
  const Folder folder(BUILD_DIR);
  const Capture c = capture(20'000);
  const std::string path = folder.put("a.pcap", c.file);
  for (const size_t until : {size_t{0}, size_t{1}, size_t{3000}, SIZE_MAX}) {
    auto source = open_or_fail({path}, {.block_bytes = 8192});
    ASSERT_TRUE(source);
    std::vector<Packet> got;
    std::thread worker([&] { drain(*source, got, until); });
    worker.join();
    source.reset();
    EXPECT_GE(got.size(), std::min(until, c.packets.size()));
  }
}

TEST(FileSource, BlocksComeFromTheGivenArena) {
  const Folder folder(BUILD_DIR);
  const std::string path = folder.put("a.pcap", capture(10).file);
  Arena arena(ArenaOptions{.fault_in = false});
  for (const Reader reader : readers()) {
    const FileSourceOptions options{
        .reader = reader, .block_bytes = 8192, .depth = 4, .arena = &arena};
    const uint64_t before = arena.bytes();
    const auto source = open_or_fail({path}, options);
    const uint64_t blocks = reader == Reader::kUring ? 6 : 1;
    EXPECT_EQ(arena.bytes() - before, blocks * 8192 + CaptureFramer::kSpillBytes);
    EXPECT_EQ(arena.bytes() - before, FileSource::memory(options));
  }
}

TEST(FileSource, ReadingAllocatesNothing) {
  if (!AllocGuard::enabled()) GTEST_SKIP() << "a build without debug checks counts no allocations";
  const Folder folder(BUILD_DIR);
  const Capture c = capture(5000);
  const std::vector<std::string> paths = {
      folder.put("a.pcap", c.file), folder.put("b.gz", gzip(c.file, 6)),
      folder.put("c.zst", zstd(c.file)), folder.put("d.pcap", c.file)};
  for (const Reader reader : readers()) {
    const auto source = open_or_fail(paths, {.reader = reader, .block_bytes = 8192});
    ASSERT_TRUE(source);
    Burst burst;
    uint64_t packets = 0;
    const AllocGuard guard;
    for (Received received = Received::kNothing; received != Received::kEnded;) {
      received = source->receive(burst);
      packets += burst.count;
      source->release(burst);
    }
    EXPECT_EQ(guard.count(), 0u);
    EXPECT_EQ(packets, 4 * c.packets.size());
  }
}

TEST(FileSource, APacketThatIsKeptIsPoisoned) {
#ifndef TIDEWIRE_DEBUG_CHECKS
  GTEST_SKIP() << "a build without debug checks does not poison";
#else
  const Folder folder(BUILD_DIR);
  const std::string path = folder.put("a.pcap", capture(10).file);
  const auto source = open_or_fail({path}, {.reader = Reader::kPread});
  Burst burst;
  Received received = Received::kNothing;
  while (received == Received::kNothing) received = source->receive(burst);
  ASSERT_EQ(received, Received::kPackets);
  const std::byte* const kept = burst.data[3];
  EXPECT_NE(kept[0], std::byte{0xDB});
  source->release(burst);
  EXPECT_EQ(kept[0], std::byte{0xDB});
#endif
}

TEST(ListFiles, InNameOrder) {
  const Folder folder(BUILD_DIR);
  for (const char* name : {"b.pcap", "a.pcap", "c.pcapng", "x.txt", ".hidden.pcap"})
    folder.put(name, {});
  std::filesystem::create_directory(folder.path() + "/d.pcap");
  const auto got = list_files(folder.path(), "*.pcap*");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, (std::vector<std::string>{folder.path() + "/a.pcap", folder.path() + "/b.pcap",
                                            folder.path() + "/c.pcapng"}));
  EXPECT_EQ(std::string(list_files(folder.path(), "*.gz").status().message()),
            "no file in " + folder.path() + " matches *.gz");
  EXPECT_EQ(std::string(list_files(folder.path() + "/none", "*").status().message()),
            "cannot list " + folder.path() + "/none: No such file or directory");
}

}  // namespace
}  // namespace tidewire::uring
