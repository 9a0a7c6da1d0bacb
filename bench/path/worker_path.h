// One worker of the real program, made from a config text, driven turn by turn on the caller's
// thread: door -> parser -> pipeline -> a null sink that takes the result blocks and adds them up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/layout.h"
#include "io/source.h"
#include "memory/arena.h"
#include "runtime/worker.h"

namespace tidewire::bench {

class WorkerPath {
 public:
  // `source`: instead of the one that the config names; null: that one is opened. Ends the program
  // with a word where the config is bad or the host cannot.
  WorkerPath(const std::string& config, std::unique_ptr<Source> source);

  uint32_t turn();  // as Worker::turn(); results are taken at once
  void end();       // every lane ends and everything fires
  uint64_t packets() const { return worker_->sample_lane(0).packets; }
  uint64_t events() const { return worker_->sample_lane(0).events; }
  bool ended() const { return worker_->finished(); }
  uint64_t results() const { return results_; }
  uint64_t digest() const { return digest_; }  // of all results' words, whatever their order

 private:
  void take_results();

  std::unique_ptr<OpenSources> sources_;
  std::unique_ptr<ExchangeFabric> fabric_;
  ResultRing ring_;
  std::unique_ptr<Worker> worker_;
  uint64_t results_ = 0, digest_ = 0;
};

}  // namespace tidewire::bench
