#include "core/heap/heap_walk.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <sched.h>
#include <system_error>
#include <thread>

namespace clr {
namespace {

// How often a caller hears of progress while only other threads have work.
constexpr std::chrono::milliseconds patience{50};

class Walk {
public:
  Walk(const HeapMap& map, HeapTypes& types, std::span<const HeapRange> ranges,
       const HeapWalkOptions& options)
      : map_(map), types_(types), ranges_(ranges), options_(options) {
    for (const HeapRange& range : ranges) total_ += range.size();
  }

  void run(std::span<const std::unique_ptr<HeapSink>> sinks) {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < sinks.size() && i < ranges_.size(); ++i) {
      try {
        running_.fetch_add(1);
        others.emplace_back([this, &sink = *sinks[i]] {
          work(sink, false);
          running_.fetch_sub(1);
          ended_.notify_all();
        });
      } catch (const std::system_error&) { // the system gives no more threads
        running_.fetch_sub(1);
        break;
      }
    }
    work(*sinks.front(), true);
    std::unique_lock lock(mutex_);
    while (running_.load() != 0) {
      ended_.wait_for(lock, patience);
      tell();
    }
  }

  HeapWalkResult finish() {
    if (failure_) std::rethrow_exception(failure_);
    std::ranges::sort(gaps_, {}, &HeapGap::address);
    return {std::move(gaps_), interrupted_};
  }

private:
  void tell() {
    if (options_.progress && !stop_.load() && !options_.progress(done_.load(), total_)) {
      interrupted_ = true;
      stop_.store(true);
    }
  }

  void work(HeapSink& sink, bool caller) {
    std::vector<HeapGap> gaps;
    try {
      HeapWalker walker(map_, types_);
      while (!stop_.load()) {
        const std::size_t number = next_.fetch_add(1);
        if (number >= ranges_.size()) break;
        const HeapRange& range = ranges_[number];
        sink.begin(number);
        Address told = range.begin;
        walker.walk(
            range,
            [&](std::span<const HeapObject> objects) {
              sink.add(objects);
              const Address at = objects.back().address;
              if (at - told >= HeapBytes::piece) {
                done_.fetch_add(at - told);
                told = at;
                if (caller) tell();
              }
              return !stop_.load(std::memory_order_relaxed);
            },
            gaps);
        done_.fetch_add(range.end - told);
        if (caller) tell();
      }
      const std::lock_guard lock(mutex_);
      gaps_.insert(gaps_.end(), std::make_move_iterator(gaps.begin()), std::make_move_iterator(gaps.end()));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      stop_.store(true);
    }
  }

  const HeapMap& map_;
  HeapTypes& types_;
  std::span<const HeapRange> ranges_;
  const HeapWalkOptions& options_;
  std::uint64_t total_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> running_{0};
  bool interrupted_ = false; // of the caller's thread
  std::mutex mutex_;         // of what follows
  std::condition_variable ended_;
  std::vector<HeapGap> gaps_;
  std::exception_ptr failure_;
};

} // namespace

HeapWalkResult walk_heap(const HeapMap& map, HeapTypes& types, std::span<const HeapRange> ranges,
                         std::span<const std::unique_ptr<HeapSink>> sinks, const HeapWalkOptions& options) {
  Walk walk(map, types, ranges, options);
  walk.run(sinks);
  return walk.finish();
}

namespace {

// Hands what one thread finds to the sinks of all works.
class SharedSink final : public HeapSink {
public:
  explicit SharedSink(std::span<HeapWork* const> works) {
    for (HeapWork* const work : works) parts_.push_back({work->sink(), nullptr});
  }
  void begin(std::size_t range) override {
    for (Part& part : parts_) attempt(part, [&] { part.sink->begin(range); });
  }
  void add(std::span<const HeapObject> objects) override {
    for (Part& part : parts_) attempt(part, [&] { part.sink->add(objects); });
  }

  std::unique_ptr<HeapSink> take(std::size_t work) { return std::move(parts_[work].sink); }
  const std::exception_ptr& failure(std::size_t work) const { return parts_[work].failure; }

private:
  struct Part {
    std::unique_ptr<HeapSink> sink;
    std::exception_ptr failure;
  };
  static void attempt(Part& part, const auto& act) {
    if (part.failure) return;
    try {
      act();
    } catch (...) {
      part.failure = std::current_exception();
    }
  }
  std::vector<Part> parts_;
};

} // namespace

HeapWalkResult walk_heap(const HeapMap& map, HeapTypes& types, std::span<HeapWork* const> works,
                         const HeapWalkOptions& options, unsigned threads) {
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i) sinks.push_back(std::make_unique<SharedSink>(works));
  HeapWalkResult walked = walk_heap(map, types, map.ranges, sinks, options);
  for (std::size_t work = 0; work < works.size(); ++work) {
    std::vector<std::unique_ptr<HeapSink>> own;
    std::exception_ptr& failure = works[work]->failure;
    for (const auto& sink : sinks) {
      auto& shared = static_cast<SharedSink&>(*sink);
      if (!failure) failure = shared.failure(work);
      own.push_back(shared.take(work));
    }
    if (failure) continue;
    try {
      works[work]->end(own, walked);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  return walked;
}

void share_out(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& act) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex; // of failure
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t number; (number = next.fetch_add(1)) < count;) act(number);
    } catch (...) {
      next.store(count);
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (unsigned i = 1; i < threads && i < count; ++i) others.emplace_back(work);
    } catch (const std::system_error&) { // the system gives no more threads
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

unsigned heap_threads() {
  cpu_set_t allowed;
  // It fails on hosts of more than 1,024 processors: the set is too small for them.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return max_heap_threads;
  return std::clamp(static_cast<unsigned>(CPU_COUNT(&allowed)), 1u, max_heap_threads);
}

} // namespace clr
