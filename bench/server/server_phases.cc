#include "server_phases.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>

#include "server/api/sse.h"

namespace hearth::bench {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

// Ids from the middle of any vocabulary, past the special ones at its beginning.
constexpr int kFirstId = 1000;
constexpr int kIds = 20'000;
constexpr std::size_t kPageTokens = 64;  // as the engine has them

Json RandomPrompt(std::size_t tokens, std::mt19937_64& random) {
  Json prompt = Json::array();
  for (std::size_t i = 0; i < tokens; ++i) {
    prompt.push_back(kFirstId + static_cast<int>(random() % kIds));
  }
  return prompt;
}

awaitable<void> Pause(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(time);
  co_await timer.async_wait(asio::use_awaitable);
}

awaitable<void> RunRow(ServerAddress server, Json body, std::size_t gen) {
  HttpClient client(std::move(server));
  awaitable<void> sending = client.Send("/v1/completions", body.dump());
  co_await std::move(sending);
  awaitable<int> heading = client.ReadHead();
  const int status = co_await std::move(heading);
  api::SseParser parser;

  std::size_t tokens = 0;
  while (true) {
    awaitable<std::string> reading = client.ReadSome();
    const std::string piece = co_await std::move(reading);
    if (piece.empty()) {
      break;
    }
    if (status != 200) {
      throw std::runtime_error(
          "a row of the comparison: status " + std::to_string(status) + ": " + piece
      );
    }
    for (const api::SseParser::Event& event : parser.Push(piece)) {
      const Json chunk = event.data == "[DONE]" ? Json::object() : Json::parse(event.data);
      if (chunk.contains("usage") && chunk["usage"].is_object()) {
        tokens = chunk["usage"]["completion_tokens"].get<std::size_t>();
      }
    }
  }
  if (tokens != gen) {
    throw std::runtime_error(
        "a row of the comparison: got " + std::to_string(tokens) + " tokens, wanted " +
        std::to_string(gen)
    );
  }
}

awaitable<Json> AskJson(ServerAddress server, std::string path) {
  HttpClient client(std::move(server));
  awaitable<HttpClient::Answer> asking = client.Ask(path);
  const HttpClient::Answer answer = co_await std::move(asking);
  if (answer.status != 200) {
    throw std::runtime_error(path + ": status " + std::to_string(answer.status));
  }
  co_return Json::parse(answer.body);
}

}  // namespace

awaitable<Json> AskStats(ServerAddress server) {
  return AskJson(std::move(server), "/stats");
}

awaitable<std::size_t> AskPageBytes(ServerAddress server) {
  awaitable<Json> asking = AskJson(std::move(server), "/fit");
  const Json fit = co_await std::move(asking);
  const auto context = fit["context_tokens"].get<std::size_t>();
  const std::size_t pages = (context + kPageTokens - 1) / kPageTokens;
  co_return fit["report"]["kv_bytes"].get<std::size_t>() / pages;
}

std::size_t BusyGauges(const Json& stats) {
  std::size_t busy = 0;
  for (const Json& gauge : stats["requests"]) {
    busy += gauge.get<std::size_t>();
  }
  const Json& pages = stats["pages"];
  return busy + pages["used"].get<std::size_t>() - pages["cached"].get<std::size_t>();
}

awaitable<Json> AwaitRest(ServerAddress server, double seconds) {
  const Clock::time_point begin = Clock::now();
  while (true) {
    awaitable<Json> asking = AskStats(server);
    Json stats = co_await std::move(asking);
    if (BusyGauges(stats) == 0 || Clock::now() - begin > std::chrono::duration<double>(seconds)) {
      co_return stats;
    }
    awaitable<void> pausing = Pause(std::chrono::milliseconds(20));
    co_await std::move(pausing);
  }
}

awaitable<void> RunEqualRows(
    ServerAddress server, std::size_t rows, std::size_t prompt, std::size_t gen, std::uint64_t seed
) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::mt19937_64 random(seed);
  std::size_t running = rows;
  std::exception_ptr failed;
  asio::steady_timer all_ended(executor, Clock::time_point::max());
  for (std::size_t i = 0; i < rows; ++i) {
    Json body = {
        {"prompt", RandomPrompt(prompt, random)},
        {"max_tokens", gen},
        {"temperature", 0},
        {"cache_prompt", false},
        {"stream", true},
        {"stream_options", {{"include_usage", true}}},
        // The tokens that end a text in the default model.
        {"logit_bias", {{"0", -1e6}, {"2", -1e6}}},
    };
    asio::co_spawn(
        executor, RunRow(server, std::move(body), gen), [&](const std::exception_ptr& error) {
          failed = error ? error : failed;
          if (--running == 0) {
            all_ended.cancel();
          }
        }
    );
  }
  boost::system::error_code ignored;
  if (running > 0) {
    co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (failed) {
    std::rethrow_exception(failed);
  }
}

awaitable<std::vector<double>> ScrapeDuringPrefill(
    ServerAddress server, std::size_t scrapes, std::size_t prompt
) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::mt19937_64 random(7);
  std::vector<double> seconds;
  const auto prefilling = std::make_shared<bool>(false);
  const auto failed = std::make_shared<std::exception_ptr>();
  HttpClient scraper(server);
  while (seconds.size() < scrapes || *prefilling) {
    if (*failed) {
      std::rethrow_exception(*failed);
    }
    if (!*prefilling) {
      *prefilling = true;
      Json body = {
          {"prompt", RandomPrompt(prompt, random)},
          {"max_tokens", 1},
          {"cache_prompt", false},
          {"stream", true},
          {"stream_options", {{"include_usage", true}}},
          {"logit_bias", {{"0", -1e6}, {"2", -1e6}}},
      };
      asio::co_spawn(
          executor,
          RunRow(server, std::move(body), 1),
          [prefilling, failed](const std::exception_ptr& error) {
            *prefilling = false;
            *failed = error;
          }
      );
    }
    awaitable<void> pausing = Pause(std::chrono::milliseconds(20));
    co_await std::move(pausing);
    if (seconds.size() == scrapes || !*prefilling) {
      continue;
    }
    const Clock::time_point begin = Clock::now();
    awaitable<HttpClient::Answer> asking = scraper.Ask("/metrics");
    const HttpClient::Answer answer = co_await std::move(asking);
    if (answer.status != 200) {
      throw std::runtime_error("/metrics: status " + std::to_string(answer.status));
    }
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  co_return seconds;
}

}  // namespace hearth::bench
