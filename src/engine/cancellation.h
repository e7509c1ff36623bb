// The engine's side of a cancellation: the source that is told to stop, and that tells everybody who asked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "contracts/method.h"
#include "hearth/generation.h"

namespace hearth {

// Says "stop" once. The first reason wins and stays; later calls change nothing and tell nobody.
// Life:      subscriptions may outlive the source; ending one afterwards does nothing.
// Threads:   the engine loop only; listeners run inside Cancel, in the order of their subscription.
// Errors:    a listener that throws does not keep the others from hearing. Cancel then throws the one error as it is,
//            or AggregateError "cancellation listeners failed". Subscribe lets a listener's error through when the
//            cancellation has come already.
class CancellationSource : public Cancellation {
 public:
  CancellationSource();
  CancellationSource(const CancellationSource&) = delete;
  CancellationSource& operator=(const CancellationSource&) = delete;

  void Cancel(CancelReason reason);

  std::optional<CancelReason> reason() const override;

  // A listener may subscribe and unsubscribe from within a call: one that was unsubscribed is not told any more, a new
  // one hears at once.
  Subscription Subscribe(std::function<void(CancelReason)> listener) override;

 private:
  struct State {
    std::optional<CancelReason> reason;
    std::map<std::uint64_t, std::function<void(CancelReason)>>
        listeners;  // by order of subscription
    std::uint64_t next_id = 0;
  };

  std::shared_ptr<State> state_;
};

}  // namespace hearth
