// One thread beside the caller's, for work that would hold the caller up. Knows jobs, not what they do.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace hearth {

// Runs the jobs that it is given, one after another, in their order.
// Ownership: owns its thread. The destructor waits for the jobs that were given (all of them run) and joins the thread;
//            so what jobs refer to must outlive this object, not the jobs.
// Threads:   Start and Wait from any thread but its own. The thread takes no signals: they stay with the program's own.
// Errors:    a job must not throw: std::terminate.
// Cost:      handing a job over wakes a sleeping thread, some microseconds.
class JobThread {
 public:
  // `name` is what the system's tools show, cut to 15 bytes. Errors: kResourceExhausted when the system starts no thread.
  explicit JobThread(const std::string& name);
  ~JobThread();
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Gives it the next job and returns at once. One job may run and one may wait for it; who starts jobs by turns (the
  // next when the last one has said that it is done) never meets the bound.
  // Errors: kOverloaded when a job waits already; nothing happened then.
  void Start(std::function<void()> job);

  // Returns when no job runs or waits, and what the jobs captured has been destroyed.
  void Wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
