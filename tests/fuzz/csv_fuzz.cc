// Separated values on any bytes; format_fuzz.h says how the input is laid out and what must hold.
#include "format_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return tidewire::fuzz::run_format("csv", data, size);
}
