#include "platform/job_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "hearth/error.h"

namespace hearth {
namespace {

// A thread inherits the mask of the one that starts it.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct JobThread::State {
  void Loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return next || stopping; });
      if (!next) {
        return;
      }
      std::function<void()> job = std::exchange(next, nullptr);
      running = true;
      lock.unlock();
      [&]() noexcept { job(); }();
      job = nullptr;
      lock.lock();
      running = false;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;  // any of the three below
  std::function<void()> next;
  bool running = false;
  bool stopping = false;
  std::thread thread;
};

JobThread::JobThread(const std::string& name) : state_(std::make_unique<State>()) {
  const NoSignals scope;
  try {
    state_->thread = std::thread([state = state_.get()] { state->Loop(); });
  } catch (const std::system_error& error) {
    throw Error(
        ErrorCode::kResourceExhausted, "thread " + name + ": cannot be started, " + error.what()
    );
  }
  pthread_setname_np(state_->thread.native_handle(), name.substr(0, 15).c_str());
}

JobThread::~JobThread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void JobThread::Start(std::function<void()> job) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->next) {
      throw Error(ErrorCode::kOverloaded, "job thread: a job waits already, wanted one at a time");
    }
    state_->next = std::move(job);
  }
  state_->changed.notify_all();
}

void JobThread::Wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->next && !state_->running; });
}

}  // namespace hearth
