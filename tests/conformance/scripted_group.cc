#include "conformance/scripted_group.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "contracts/aggregate_error.h"

namespace hearth::conformance {
namespace {

using boost::asio::awaitable;

// Suspends the driver: what follows runs from the executor's queue.
awaitable<void> Suspend() {
  co_await boost::asio::post(boost::asio::use_awaitable);
}

std::string Joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) {
    text += (text.empty() ? "" : ",") + id;
  }
  return text;
}

}  // namespace

ScriptedGroup::ScriptedGroup(const Json& scenario, Abilities abilities)
    : abilities_(abilities),
      max_active_(scenario.value("max_active", std::size_t{0})),
      has_execution_lease_(scenario.value("acquire", true)),
      held_(scenario.value("hold", false)),
      closed_(scenario.value("closed", false)) {
  const Json clock = scenario.value("clock", Json::object());
  clock_ms_ = clock.value("start", 0L);
  now_step_ = clock.value("now_step", 0L);
  yield_step_ = clock.value("yield_step", 0L);
  prepare_step_ = clock.value("prepare_step", 0L);
  advance_step_ = clock.value("advance_step", 0L);
  for (const Json& row : scenario.value("rows", Json::array())) {
    rows_[row.at("id")] = Row{
        .id = row.at("id"),
        .prepare = row.value("prepare", 0),
        .decode = row.value("decode", 0),
        .burst = row.value("burst", false),
        .impossible = row.value("impossible", false),
        .defer = row.value("defer", 0),
    };
  }
  for (const Json& id : scenario.value("initial", Json::array())) {
    Act({"arrive", id});
  }
  for (const Json& entry : scenario.value("on", Json::array())) {
    script_[{entry.at("call"), entry.at("n")}] = entry;
  }
}

void ScriptedGroup::Act(const Json& action) {
  const std::string kind = action.at(0);
  if (kind == "arrive") {
    // A row that was cancelled before it arrived keeps its mark.
    queue_.push_back(rows_.at(action.at(1)));
    rows_.erase(action.at(1).get<std::string>());
  } else if (kind == "cancel") {
    const auto mark = [id = action.at(1).get<std::string>()](Row& row) {
      row.cancelled |= row.id == id;
    };
    for (auto& [id, row] : rows_) {
      mark(row);
    }
    for (Row& row : queue_) {
      mark(row);
    }
    for (Row& row : active_) {
      mark(row);
    }
    if (preparing_) {
      mark(*preparing_);
    }
  } else if (kind == "hold") {
    held_ = action.at(1);
  } else if (kind == "close") {
    closed_ = true;
  } else if (kind == "clock") {
    clock_ms_ += action.at(1).get<long>();
  } else {
    throw std::runtime_error("the suite has no action " + kind);
  }
}

void ScriptedGroup::Begin(const std::string& call) {
  if (++calls_ > kMaxCalls) {
    closed_ = true;
  }
  const auto entry = script_.find({call, ++counts_[call]});
  if (entry == script_.end()) {
    closed_ |= call == "wait_for_work";
    return;
  }
  for (const Json& action : entry->second.value("do", Json::array())) {
    Act(action);
  }
  if (entry->second.contains("throw")) {
    const std::string text = entry->second.at("throw");
    Trace(call + "!" + text);
    throw std::runtime_error(text);
  }
}

std::string ScriptedGroup::Join(Row row) {
  if (row.decode == 0) {
    return "done";
  }
  active_.push_back(std::move(row));
  return "active";
}

void ScriptedGroup::PruneCancelled() {
  Begin("prune_cancelled");
  std::vector<std::string> removed;
  std::deque<Row> kept;
  for (Row& row : queue_) {
    if (row.cancelled) {
      removed.push_back(row.id);
    } else {
      kept.push_back(std::move(row));
    }
  }
  queue_ = std::move(kept);
  Trace("prune_cancelled(" + Joined(removed) + ")");
}

bool ScriptedGroup::AdmitNext() {
  Begin("admit_next");
  Row& head = queue_.at(0);
  const std::string line = "admit_next(" + head.id + ")=";
  if (!head.impossible && head.defer > 0) {
    --head.defer;
    Trace(line + "deferred");
    return false;
  }
  Row row = std::move(head);
  queue_.pop_front();
  if (row.impossible) {
    Trace(line + "rejected");
    return false;
  }
  if (row.prepare == 0) {
    Trace(line + Join(std::move(row)));
  } else {
    preparing_ = std::move(row);
    Trace(line + "preparing");
  }
  return true;
}

bool ScriptedGroup::CanBurst() {
  Begin("can_burst");
  const bool burst = !queue_.empty() && queue_.front().burst;
  Trace(std::string("can_burst=") + (burst ? "true" : "false"));
  return burst;
}

awaitable<void> ScriptedGroup::AdvancePreparation() {
  co_await Suspend();
  Begin("advance_preparation");
  clock_ms_ += prepare_step_;
  Row row = std::move(preparing_.value());
  preparing_.reset();
  const std::string line = "advance_preparation(" + row.id + ")=";
  if (row.cancelled) {
    Trace(line + "cancelled");
  } else if (--row.prepare == 0) {
    Trace(line + Join(std::move(row)));
  } else {
    Trace(line + std::to_string(row.prepare));
    preparing_ = std::move(row);
  }
}

awaitable<void> ScriptedGroup::Advance() {
  co_await Suspend();
  Begin("advance");
  clock_ms_ += advance_step_;
  std::vector<std::string> advanced;
  std::vector<Row> kept;
  for (Row& row : active_) {
    if (row.cancelled) {
      continue;
    }
    advanced.push_back(row.id);
    if (--row.decode > 0) {
      kept.push_back(std::move(row));
    }
  }
  active_ = std::move(kept);
  Trace("advance(" + Joined(advanced) + ")");
}

void ScriptedGroup::FailActive(std::exception_ptr error) {
  Begin("fail_active");
  active_.clear();
  Trace("fail_active(" + DescribeError(error) + ")");
}

void ScriptedGroup::FailAll(std::exception_ptr error) {
  Begin("fail_all");
  active_.clear();
  queue_.clear();
  preparing_.reset();
  Trace("fail_all(" + DescribeError(error) + ")");
}

LeaseRelease ScriptedGroup::Release(std::string call) {
  return [this, call = std::move(call)] {
    Begin(call);
    Trace(call);
  };
}

LeaseRelease ScriptedGroup::ReserveResidency() {
  Begin("reserve_residency");
  Trace("reserve_residency");
  return Release("release_residency");
}

awaitable<LeaseRelease> ScriptedGroup::AcquireExecution() {
  co_await Suspend();
  Begin("acquire_execution");
  Trace("acquire_execution");
  co_return Release("release_execution");
}

awaitable<void> ScriptedGroup::WaitForWork() {
  co_await Suspend();
  Begin("wait_for_work");
  Trace("wait_for_work");
}

std::chrono::nanoseconds ScriptedGroup::Now() {
  Begin("now");
  clock_ms_ += now_step_;
  Trace("now=" + std::to_string(clock_ms_));
  return std::chrono::milliseconds(clock_ms_);
}

awaitable<void> ScriptedGroup::Yield() {
  co_await Suspend();
  Begin("yield");
  clock_ms_ += yield_step_;
  Trace("yield");
}

awaitable<void> ScriptedGroup::AdvanceMixed(std::size_t) {
  Trace("advance_mixed, which the group refuses");
  co_return;
}

void ScriptedGroup::FailMixed(std::exception_ptr) {
  Trace("fail_mixed, which the group refuses");
}

}  // namespace hearth::conformance
