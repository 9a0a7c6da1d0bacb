// Results as UDP datagrams, one record each, to one address. Datagrams are not acknowledged:
// written means that the kernel took them. An address that answers "unreachable" makes the record
// at hand a lost one (the one that drew the answer is gone as well, and was counted as written);
// sending goes on, so a receiver that comes back is served at once.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>

#include "io/sink.h"
#include "io/sink_account.h"

namespace tidewire::udp {

class UdpSink final : public Sink {
 public:
  // "192.0.2.1:9000" or "[2001:db8::1]:9000": numbers only, nothing is looked up.
  static absl::StatusOr<std::unique_ptr<UdpSink>> open(std::string_view address);
  ~UdpSink() override;

  void send(const Records& records) override;
  void flush() override {}  // nothing is held back
  void sample(SinkCounters& out) const override { account_.sample(out); }

 private:
  explicit UdpSink(int fd) : fd_(fd) {}

  int fd_;
  SinkAccount account_;
};

}  // namespace tidewire::udp
