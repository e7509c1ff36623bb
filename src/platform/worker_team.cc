#include "platform/worker_team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hearth/error.h"
#include "platform/float_mode.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hearth {
namespace {

constexpr std::chrono::microseconds kSpinTime{20};

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Spins until done() or the spin time is over; returns whether done() held.
template <typename Done>
bool SpinUntil(Done done) {
  const auto limit = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) {
        return true;
      }
      Pause();
    }
  } while (std::chrono::steady_clock::now() < limit);
  return false;
}

}  // namespace

struct WorkerTeam::State {
  explicit State(int count) : errors(static_cast<std::size_t>(count)) {}

  void Work(int member, const std::function<void(int)>& work) {
    try {
      const FloatModeScope mode;
      work(member);
    } catch (...) {
      errors[static_cast<std::size_t>(member)] = std::current_exception();
    }
  }

  void Loop(int member) {
    std::uint64_t seen = 0;
    while (true) {
      if (!SpinUntil([&] { return generation.load(std::memory_order_acquire) != seen; })) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
      }
      ++seen;
      if (stopping) {
        return;
      }
      Work(member, *job);
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        // The lock orders this with the caller's decision to sleep.
        const std::lock_guard lock(mutex);
        done.notify_one();
      }
    }
  }

  // Publishes the next generation: `job`, `pending` and `stopping` were written before.
  void Publish() {
    {
      const std::lock_guard lock(mutex);
      generation.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
  }

  // Ends the members and joins them.
  void Stop() {
    stopping = true;
    Publish();
    threads.clear();
  }

  std::vector<std::exception_ptr> errors;  // [member]
  const std::function<void(int)>* job = nullptr;
  bool stopping = false;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<int> pending{0};
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  std::vector<std::jthread> threads;
};

WorkerTeam::WorkerTeam(int members) {
  if (members < 1 || members > kMostMembers) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "threads: got " + std::to_string(members) + ", wanted 1 to " + std::to_string(kMostMembers)
    );
  }
  state_ = std::make_unique<State>(members);
  try {
    for (int member = 1; member < members; ++member) {
      state_->threads.emplace_back([state = state_.get(), member] { state->Loop(member); });
    }
  } catch (const std::exception& error) {
    // Those that run wait for work, and would be waited for.
    const std::size_t started = state_->threads.size() + 1;
    state_->Stop();
    throw Error(
        ErrorCode::kResourceExhausted,
        "threads: only " + std::to_string(started) + " of " + std::to_string(members) +
            " could be started (" + error.what() + ")"
    );
  }
}

WorkerTeam::~WorkerTeam() {
  state_->Stop();
}

int WorkerTeam::members() const {
  return static_cast<int>(state_->errors.size());
}

void WorkerTeam::Run(const std::function<void(int)>& job) {
  State& state = *state_;
  const int others = members() - 1;
  if (others > 0) {
    state.job = &job;
    state.pending.store(others, std::memory_order_relaxed);
    state.Publish();
  }
  state.Work(0, job);
  const auto finished = [&] { return state.pending.load(std::memory_order_acquire) == 0; };
  if (others > 0 && !SpinUntil(finished)) {
    std::unique_lock lock(state.mutex);
    state.done.wait(lock, finished);
  }
  std::exception_ptr first;
  for (std::exception_ptr& error : state.errors) {
    if (error && !first) {
      first = error;
    }
    error = nullptr;
  }
  if (first) {
    std::rethrow_exception(first);
  }
}

void WorkerTeam::ForRanges(
    std::size_t count,
    std::size_t grain,
    const std::function<void(std::size_t, std::size_t, int)>& job
) {
  const std::size_t units = (count + grain - 1) / grain;
  const std::size_t parts = std::min(units, static_cast<std::size_t>(members()));
  if (parts <= 1) {
    if (count > 0) {
      const FloatModeScope mode;
      job(0, count, 0);
    }
    return;
  }
  Run([&](int member) {
    const std::size_t part = static_cast<std::size_t>(member);
    if (part >= parts) {
      return;
    }
    const std::size_t begin = units * part / parts * grain;
    const std::size_t end = std::min(count, units * (part + 1) / parts * grain);
    if (begin < end) {
      job(begin, end, member);
    }
  });
}

void WorkerTeam::ForChunks(
    std::size_t count,
    std::size_t chunk,
    const std::function<void(std::size_t, std::size_t, int)>& job
) {
  if (count <= chunk || members() == 1) {
    if (count > 0) {
      const FloatModeScope mode;
      job(0, count, 0);
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  Run([&](int member) {
    for (std::size_t begin = next.fetch_add(chunk); begin < count; begin = next.fetch_add(chunk)) {
      job(begin, std::min(count, begin + chunk), member);
    }
  });
}

}  // namespace hearth
