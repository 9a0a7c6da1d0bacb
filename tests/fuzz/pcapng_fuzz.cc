#include "framing_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return tidewire::fuzz::run(tidewire::FileKind::kPcapng, data, size);
}
