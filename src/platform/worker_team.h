// A fork-join team of threads for arithmetic. Knows work items, not what they compute.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace hearth {

// Runs one function on every member at once and returns when all are done. The caller is member 0.
// Members spin for at most 20 us between jobs, then sleep; so a stream of short jobs costs about a
// microsecond each, and an idle team costs nothing.
// Ownership: owns its threads; joins them in the destructor.
// Threads:   Run is called by one thread at a time. The job runs inside a FloatModeScope.
// Errors:    an exception of a member is rethrown by Run after all have ended (the lowest member's).
class WorkerTeam {
 public:
  static constexpr int kMostMembers = 256;

  // `members` counts the caller; 1 starts no thread. Errors: kInvalidArgument unless 1 .. kMostMembers,
  // kResourceExhausted when the system does not start them.
  explicit WorkerTeam(int members);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int members() const;

  // Calls job(member) for member 0 .. members-1, each on its own thread.
  void Run(const std::function<void(int member)>& job);

  // Splits 0 .. count-1 into one contiguous range a member, each a multiple of `grain` long but for
  // the last, and calls job(begin, end, member) on those that are not empty. Runs on the caller alone
  // when there is only one range.
  void ForRanges(
      std::size_t count,
      std::size_t grain,
      const std::function<void(std::size_t begin, std::size_t end, int member)>& job
  );

  // The same in chunks of `chunk`, each taken by the member that is free next: for work that is worth more than
  // an atomic increment a chunk, so that a member whose processor is taken away holds nobody up for long.
  void ForChunks(
      std::size_t count,
      std::size_t chunk,
      const std::function<void(std::size_t begin, std::size_t end, int member)>& job
  );

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
