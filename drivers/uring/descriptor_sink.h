// Results to an open descriptor: stdout, a pipe, a terminal. Written as they come, waiting for a
// slow reader. A closed pipe loses what comes after it, counted; a full disk behind a redirection
// is cut back to the last whole record and tried again with the next ones.
#pragma once

#include <span>

#include "io/sink.h"
#include "io/sink_account.h"

namespace tidewire::uring {

class DescriptorSink final : public Sink {
 public:
  // The descriptor stays the caller's. The program ignores SIGPIPE from now on: a closed pipe is an
  // error of write, not the program's end.
  explicit DescriptorSink(int fd);

  void send(const Records& records) override;
  void flush() override {}  // nothing is held back
  void sample(SinkCounters& out) const override { account_.sample(out); }

 private:
  int write_all(std::span<const std::byte> bytes, size_t& written);
  void cut_back(size_t torn);

  int fd_;
  bool terminal_;  // a progress line may stand where the records go: it is cleared first
  bool closed_ = false;
  SinkAccount account_;
};

}  // namespace tidewire::uring
