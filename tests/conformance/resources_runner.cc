// Replays resources/*.jsonl against engine/resources.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "conformance/entries.h"
#include "engine/resources.h"

namespace hearth::conformance {
namespace {

// An answer in the suite's words: {"ok": true}, {"value": v} or {"error": e}.
Json Answer(const std::function<std::optional<std::string>()>& call) {
  try {
    const std::optional<std::string> value = call();
    return value ? Json{{"value", *value}} : Json{{"ok", true}};
  } catch (...) {
    return {{"error", ErrorJson(std::current_exception())}};
  }
}

void ThrowIfGiven(const Json& object, const char* field) {
  if (object.contains(field)) {
    throw std::runtime_error(object.at(field).get<std::string>());
  }
}

std::optional<std::string> CallOwner(Owned<std::string>& owner, const std::string& operation) {
  if (operation == "borrow") {
    return owner.Borrow();
  }
  if (operation == "transfer") {
    return owner.Transfer();
  }
  if (operation != "close") {
    throw std::runtime_error("the suite has no operation " + operation);
  }
  owner.Close();
  return std::nullopt;
}

// One answer a step, in a list.
Json ReplayOwner(const Json& entry) {
  std::unique_ptr<Owned<std::string>> owner;
  Json results = Json::array();
  for (const Json& step : entry.at("steps")) {
    Json released = Json::array();
    Json inner;
    const auto call = [&]() -> std::optional<std::string> {
      const std::string operation = step.at("op");
      if (operation != "own") {
        return CallOwner(*owner, operation);
      }
      owner = std::make_unique<Owned<std::string>>(
          step.at("value").get<std::string>(), [&, own = step](const std::string& value) {
            released.push_back(value);
            if (own.contains("reenter")) {
              inner = Answer([&] { return CallOwner(*owner, own.at("reenter")); });
            }
            ThrowIfGiven(own, "release_error");
          }
      );
      return std::nullopt;
    };
    results.push_back(Answer(call));
    if (!released.empty()) {
      results.back()["released"] = released;
    }
    if (!inner.is_null()) {
      results.back()["inner"] = inner;
    }
  }
  return results;
}

class NamedResource : public Disposable {
 public:
  NamedResource(Json description, Json& disposed)
      : description_(std::move(description)), disposed_(disposed) {}

  void Dispose() override {
    disposed_.push_back(description_.at("id"));
    ThrowIfGiven(description_, "error");
  }

 private:
  Json description_;
  Json& disposed_;
};

Json ReplayDispose(const Json& entry) {
  Json disposed = Json::array();
  std::map<std::string, std::unique_ptr<NamedResource>> resources;
  for (const Json& resource : entry.at("resources")) {
    resources[resource.at("id")] = std::make_unique<NamedResource>(resource, disposed);
  }
  std::vector<Disposable*> order;
  for (const Json& id : entry.at("order")) {
    order.push_back(resources.at(id).get());
  }
  Json result = Answer([&]() -> std::optional<std::string> {
    DisposeAll(order);
    return std::nullopt;
  });
  result["disposed"] = disposed;
  return result;
}

Json ReplayCleanupFailure(const Json& entry) {
  int calls = 0;
  Json result = Answer([&]() -> std::optional<std::string> {
    CleanupFailure(std::make_exception_ptr(std::runtime_error(entry.at("error"))), [&] {
      ++calls;
      ThrowIfGiven(entry, "cleanup_error");
    });
  });
  result["cleanup_calls"] = calls;
  return result;
}

// An owner that does not forget that it was closed: each Close is an attempt of its own.
class RawOwner {
 public:
  explicit RawOwner(const Json& entry)
      : entry_(entry), close_errors_(entry.value("close_errors", Json::array())) {}

  std::string Borrow() const {
    ThrowIfGiven(entry_, "borrow_error");
    return "v";
  }

  void Close() {
    const std::size_t call = calls_++;
    if (call < close_errors_.size() && close_errors_[call].is_string()) {
      throw std::runtime_error(close_errors_[call].get<std::string>());
    }
  }

  std::size_t calls() const { return calls_; }

 private:
  const Json& entry_;
  Json close_errors_;
  std::size_t calls_ = 0;
};

Json ReplayWithResource(const Json& entry) {
  const Json& use = entry.at("use");
  int used = 0;
  const auto body = [&](const std::string& value, const std::function<void(std::string)>& act) {
    ++used;
    if (use.contains("action")) {
      act(use.at("action"));
    }
    ThrowIfGiven(use, "throw");
    return use.at("return").get<std::string>() + ":" + value;
  };
  Json result;
  if (entry.at("owner") == "raw") {
    RawOwner owner(entry);
    result = Answer([&]() -> std::optional<std::string> {
      return WithResource(owner, [&](const std::string& value) {
        return body(value, [](const std::string&) {});
      });
    });
    EXPECT_EQ(owner.calls(), 1U) << entry.at("name") << ": a scoped use closes exactly once";
  } else {
    Json released = Json::array();
    Owned<std::string> owner("v", [&](const std::string& value) {
      released.push_back(value);
      ThrowIfGiven(entry, "release_error");
    });
    if (entry.contains("ended")) {
      CallOwner(owner, entry.at("ended") == "closed" ? "close" : "transfer");
      released.clear();
    }
    result = Answer([&]() -> std::optional<std::string> {
      return WithResource(owner, [&](const std::string& value) {
        // A copy: an action may end the ownership of the borrowed value.
        return body(std::string(value), [&](const std::string& action) {
          CallOwner(owner, action);
        });
      });
    });
    result["released"] = released;
  }
  result["used"] = used;
  return result;
}

// The documented deviation for `quirk` entries: the reference closes twice after a failure and lets the second close
// hide the rest; here the owner is closed once and CleanupFailure keeps both errors.
Json ClosedOnce(const Json& entry) {
  const std::string error = entry.contains("borrow_error")
                                ? entry.at("borrow_error").get<std::string>()
                                : entry.at("use").at("throw").get<std::string>();
  Json expect = {{"used", entry.at("expect").at("used")}, {"error", {{"message", error}}}};
  const Json& first_close = entry.at("close_errors").at(0);
  if (first_close.is_string()) {
    expect["error"] = {
        {"message", "execution and cleanup failed"},
        {"errors", {{{"message", error}}, {{"message", first_close}}}},
    };
  }
  return expect;
}

void ReplayEntry(const Entry& entry, Report& report) {
  const std::string kind = entry.value.at("kind");
  Json expect = Json::array();
  Json actual;
  if (kind == "owner") {
    for (const Json& step : entry.value.at("steps")) {
      expect.push_back(step.at("expect"));
    }
    actual = ReplayOwner(entry.value);
  } else {
    expect = entry.value.at("expect");
    expect.erase("close_calls");  // informative
    if (kind == "dispose") {
      actual = ReplayDispose(entry.value);
    } else if (kind == "cleanup_failure") {
      actual = ReplayCleanupFailure(entry.value);
    } else if (kind == "with_resource") {
      actual = ReplayWithResource(entry.value);
    } else {
      report.Fail(entry.name, "unknown kind " + kind);
      return;
    }
  }
  if (actual == expect) {
    report.Pass();
  } else if (entry.value.value("quirk", false) && actual == ClosedOnce(entry.value)) {
    report.Except(entry.name, "quirk, deviates as documented: closed once, no error is lost");
  } else {
    report.Fail(entry.name, "got " + actual.dump() + ", wanted " + expect.dump());
  }
}

TEST(Resources, FilesAreComplete) {
  CheckFiles("resources", {{"named.jsonl", 37}});
}

class ResourcesFile : public testing::TestWithParam<std::filesystem::path> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ResourcesFile);

TEST_P(ResourcesFile, IsReplayed) {
  ReplayFile(GetParam(), ReplayEntry);
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, ResourcesFile, testing::ValuesIn(FilesOf("resources")), [](const auto& file) {
      return TestName(file.param);
    }
);

}  // namespace
}  // namespace hearth::conformance
