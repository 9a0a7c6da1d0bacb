#include "drivers/uring/decompress.h"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>

#include "base/check.h"

namespace tidewire::uring {
namespace {

constexpr size_t kInput = 128 << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's way of saying so

}  // namespace

struct Decompressor::State {
  FileKind kind = FileKind::kOther;
  int fd = -1;
  bool at_end = false;   // of the file
  bool between = true;   // between two members or frames
  bool pending = false;  // the output was full: there may be more without any input
  size_t at = 0;         // in input
  size_t have = 0;       // in input
  z_stream gzip{};
  ZSTD_DStream* zstd = nullptr;
  std::array<std::byte, kInput> input;
};

Decompressor::Decompressor() : state_(std::make_unique<State>()) {
  CHECK(inflateInit2(&state_->gzip, kGzipOnly) == Z_OK);
  state_->zstd = ZSTD_createDStream();
  CHECK(state_->zstd != nullptr);
}

Decompressor::~Decompressor() {
  inflateEnd(&state_->gzip);
  ZSTD_freeDStream(state_->zstd);
}

void Decompressor::begin(int fd, FileKind kind) {
  State& s = *state_;
  s.kind = kind;
  s.fd = fd;
  s.at_end = false;
  s.between = true;
  s.pending = false;
  s.at = s.have = 0;
  inflateReset(&s.gzip);
  ZSTD_DCtx_reset(s.zstd, ZSTD_reset_session_only);
}

// False: the file is at its end, or failed.
bool Decompressor::refill() {
  State& s = *state_;
  if (s.at < s.have) return true;
  if (s.at_end) return false;
  ssize_t got = 0;
  do {
    got = ::read(s.fd, s.input.data(), s.input.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) failure_ = "the file cannot be read";
  s.at_end = got <= 0;
  s.at = 0;
  s.have = got > 0 ? static_cast<size_t>(got) : 0;
  consumed_ += s.have;
  return !s.at_end;
}

Decompressor::Step Decompressor::read(std::span<std::byte> to, size_t& filled) {
  filled = 0;
  while (filled < to.size() && !failure_) {
    if (!refill() && (failure_ || !state_->pending)) break;
    const Step step =
        state_->kind == FileKind::kGzip ? inflate_some(to, filled) : unzstd_some(to, filled);
    state_->pending = filled == to.size();
    if (step == Step::kFailed) break;
  }
  if (filled > 0) return Step::kBytes;  // what went wrong is found again by the next call
  if (failure_) return Step::kFailed;
  return state_->between ? Step::kEnded : Step::kCut;
}

Decompressor::Step Decompressor::inflate_some(std::span<std::byte> to, size_t& filled) {
  State& s = *state_;
  if (s.between) {
    // Some writers pad the last member with zeroes.
    while (s.at < s.have && s.input[s.at] == std::byte{0}) ++s.at;
    if (s.at == s.have) return Step::kBytes;
    inflateReset(&s.gzip);
    s.between = false;
  }
  s.gzip.next_in = reinterpret_cast<Bytef*>(s.input.data() + s.at);
  s.gzip.avail_in = static_cast<uInt>(s.have - s.at);
  s.gzip.next_out = reinterpret_cast<Bytef*>(to.data() + filled);
  s.gzip.avail_out = static_cast<uInt>(to.size() - filled);
  const int result = inflate(&s.gzip, Z_NO_FLUSH);
  s.at = s.have - s.gzip.avail_in;
  filled = to.size() - s.gzip.avail_out;
  if (result == Z_STREAM_END) {
    s.between = true;
    return Step::kBytes;
  }
  if (result == Z_OK || result == Z_BUF_ERROR) return Step::kBytes;
  failure_ = "the gzip data are damaged";
  return Step::kFailed;
}

Decompressor::Step Decompressor::unzstd_some(std::span<std::byte> to, size_t& filled) {
  State& s = *state_;
  ZSTD_inBuffer in{.src = s.input.data(), .size = s.have, .pos = s.at};
  ZSTD_outBuffer out{.dst = to.data(), .size = to.size(), .pos = filled};
  const size_t result = ZSTD_decompressStream(s.zstd, &out, &in);
  s.at = in.pos;
  filled = out.pos;
  if (ZSTD_isError(result)) {
    failure_ = "the zstd data are damaged";
    return Step::kFailed;
  }
  s.between = result == 0;
  return Step::kBytes;
}

}  // namespace tidewire::uring
