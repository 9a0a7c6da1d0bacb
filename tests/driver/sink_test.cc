// File and descriptor sinks on real files, a full disk and closed pipes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "base/rng.h"
#include "drivers/uring/descriptor_sink.h"
#include "drivers/uring/file_sink.h"

namespace tidewire::uring {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = std::string(BUILD_DIR) + "/tidewire-XXXXXX";
    path_ = mkdtemp(name.data()) ? name : "";
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string at(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct Lines {
  std::string text;
  std::vector<uint32_t> ends;
  Lines& add(const std::string& line) {
    text += line + "\n";
    ends.push_back(static_cast<uint32_t>(text.size()));
    return *this;
  }
  Records records() const {
    return {.bytes = std::as_bytes(std::span(text.data(), text.size())), .ends = ends};
  }
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<FileSink> open_or_fail(const std::string& path, const FileSinkOptions& options) {
  auto sink = FileSink::open(path, options);
  EXPECT_TRUE(sink.ok()) << sink.status().message();
  return sink.ok() ? std::move(*sink) : nullptr;
}

SinkCounters sample(const Sink& sink) {
  SinkCounters counters;
  sink.sample(counters);
  return counters;
}

constexpr Writer kWriters[] = {Writer::kUring, Writer::kPwrite};

TEST(FileSink, RecordsOfEverySizeArriveInOrder) {
  for (const Writer writer : kWriters) {
    const Folder folder;
    const auto sink = open_or_fail(folder.at("out"), {.writer = writer, .block_bytes = 512});
    Rng rng(7);
    std::string expected;
    uint64_t records = 0;
    for (int i = 0; i < 400; ++i) {
      Lines lines;
      const uint64_t count = rng.below(12);
      for (uint64_t k = 0; k < count; ++k)
        lines.add(std::string(rng.one_in(20) ? rng.below(3000) : rng.below(60), 'a' + i % 26));
      sink->send(lines.records());
      expected += lines.text;
      records += count;
      if (rng.one_in(10)) {
        sink->flush();
        ASSERT_EQ(contents(folder.at("out")), expected);
        ASSERT_EQ(sample(*sink).records, records);
      }
    }
    sink->flush();
    EXPECT_EQ(contents(folder.at("out")), expected);
    EXPECT_EQ(sample(*sink).bytes, expected.size());
    EXPECT_EQ(sample(*sink).lost, 0u);
    EXPECT_FALSE(sample(*sink).degraded);
  }
}

TEST(FileSink, NeverOverwrites) {
  const Folder folder;
  std::ofstream(folder.at("out.jsonl")) << "precious\n";
  const auto first = open_or_fail(folder.at("out.jsonl"), {});
  EXPECT_EQ(first->path(), folder.at("out.1.jsonl"));
  const auto second = open_or_fail(folder.at("out.jsonl"), {});
  EXPECT_EQ(second->path(), folder.at("out.2.jsonl"));
  std::ofstream(folder.at("plain")) << "";
  EXPECT_EQ(open_or_fail(folder.at("plain"), {})->path(), folder.at("plain.1"));
  std::ofstream(folder.at(".dot")) << "";
  EXPECT_EQ(open_or_fail(folder.at(".dot"), {})->path(), folder.at(".dot.1"));
  {
    const auto appended = open_or_fail(folder.at("out.jsonl"), {.append = true});
    EXPECT_EQ(appended->path(), folder.at("out.jsonl"));
    appended->send(Lines().add("more").records());
    // Another process (here: another descriptor) must not write beside it.
    EXPECT_EQ(
        std::string(FileSink::open(folder.at("out.jsonl"), {.append = true}).status().message()),
        "cannot write " + folder.at("out.jsonl") +
            ": another process is writing it (give it another name)");
  }
  EXPECT_EQ(contents(folder.at("out.jsonl")), "precious\nmore\n");
}

TEST(FileSink, RefusalsNameFileCauseAndRemedy) {
  const Folder folder;
  EXPECT_EQ(std::string(FileSink::open(folder.at("none/out"), {}).status().message()),
            "cannot write " + folder.at("none/out") +
                ": No such file or directory (create the directory first)");
  const std::string pipe = folder.at("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_directory(folder.at("sub"));
  for (const std::string& path : {std::string("/dev/null"), pipe, folder.at("sub")})
    for (const bool append : {false, true})
      EXPECT_EQ(std::string(FileSink::open(path, {.append = append}).status().message()),
                "cannot write " + path + ": it is no regular file (use stdout and a pipe)");
}

// Runs in a child that has mounts of its own, with a tmpfs of 64 KiB at `folder`. 77: not possible.
int on_small_disk(const Folder& folder, const std::function<bool(const std::string&)>& body) {
  std::filesystem::create_directory(folder.at("disk"));
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.at("disk").c_str(), "tmpfs", 0, "size=64k") != 0)
      _exit(77);
    _exit(body(folder.at("disk")) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Lines hundred(int from) {
  Lines lines;
  for (int i = 0; i < 100; ++i)
    lines.add(std::to_string(from + i) + std::string(static_cast<size_t>(90 + i % 17), '.'));
  return lines;
}

// Only whole records, and each of those that the sink counted as written.
bool whole_records(const std::string& text, uint64_t records) {
  if (!text.empty() && text.back() != '\n') return false;
  uint64_t found = 0;
  for (size_t at = 0; at < text.size(); ++found) {
    const size_t end = text.find('\n', at);
    const size_t dots = text.find('.', at);
    if (dots >= end || end - dots < 90) return false;
    at = end + 1;
  }
  return found == records;
}

// About 100 KiB into 64: sends until records are lost, makes space, sends again.
bool survives_full_disk(Sink& sink, const std::string& path, const std::function<void()>& space) {
  int sent = 0;
  for (int i = 0; i < 10; ++i) {
    sink.send(hundred(sent).records());
    sink.flush();
    sent += 100;
  }
  SinkCounters full = sample(sink);
  if (full.lost == 0 || !full.degraded || full.records + full.lost != 1000) return false;
  if (std::string(full.failure) != "No space left on device") return false;
  if (!whole_records(contents(path), full.records)) return false;
  space();
  sink.send(hundred(sent).records());
  sink.flush();
  const SinkCounters after = sample(sink);
  return after.records == full.records + 100 && after.lost == full.lost && !after.degraded &&
         whole_records(contents(path), after.records);
}

// Report 54.
TEST(FileSink, AFullDiskLosesWholeRecordsAndRecovers) {
  for (const Writer writer : kWriters) {
    const Folder folder;
    const int result = on_small_disk(folder, [&](const std::string& disk) {
      std::ofstream(disk + "/other") << std::string(20'000, 'x') << std::flush;
      auto sink = FileSink::open(disk + "/out", {.writer = writer, .block_bytes = 4000});
      return sink.ok() && survives_full_disk(**sink, disk + "/out",
                                             [&] { std::filesystem::remove(disk + "/other"); });
    });
    if (result == 77) GTEST_SKIP() << "no right to mount a small tmpfs";
    EXPECT_EQ(result, 0);
  }
}

TEST(DescriptorSink, AFullDiskBehindARedirection) {
  for (const int flags : {0, O_APPEND}) {
    const Folder folder;
    const int result = on_small_disk(folder, [&](const std::string& disk) {
      std::ofstream(disk + "/other") << std::string(20'000, 'x') << std::flush;
      const int fd = open((disk + "/out").c_str(), O_WRONLY | O_CREAT | flags, 0644);
      DescriptorSink sink(fd);
      return survives_full_disk(sink, disk + "/out",
                                [&] { std::filesystem::remove(disk + "/other"); });
    });
    if (result == 77) GTEST_SKIP() << "no right to mount a small tmpfs";
    EXPECT_EQ(result, 0);
  }
}

TEST(DescriptorSink, AClosedPipeIsCountedNotFatal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  DescriptorSink sink(ends[1]);
  sink.send(Lines().add("one").add("two").records());
  std::array<char, 64> got{};
  EXPECT_EQ(read(ends[0], got.data(), got.size()), 8);
  close(ends[0]);
  sink.send(hundred(0).records());
  sink.send(Lines().add("three").records());
  const SinkCounters counters = sample(sink);
  EXPECT_EQ(counters.records, 2u);
  EXPECT_EQ(counters.bytes, 8u);
  EXPECT_EQ(counters.lost, 101u);
  EXPECT_TRUE(counters.degraded);
  EXPECT_STREQ(counters.failure, "Broken pipe");
  close(ends[1]);
}

TEST(DescriptorSink, WaitsForASlowReaderOfANonBlockingPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  std::string expected;
  std::string got;
  std::thread reader([&] {
    std::array<char, 4096> part{};
    for (;;) {
      const ssize_t n = read(ends[0], part.data(), part.size());
      if (n == 0) return;
      if (n > 0) got.append(part.data(), static_cast<size_t>(n));
      sched_yield();
    }
  });
  DescriptorSink sink(ends[1]);
  for (int i = 0; i < 20; ++i) {  // about 200 KiB through a pipe of 64
    const Lines lines = hundred(i * 100);
    sink.send(lines.records());
    expected += lines.text;
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(got, expected);
  EXPECT_EQ(sample(sink).records, 2000u);
}

}  // namespace
}  // namespace tidewire::uring
