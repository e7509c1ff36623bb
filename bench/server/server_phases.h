// What is asked of a server beside the load: its gauges, equal work for the comparison of CPU time, scrapes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "http_client.h"

namespace hearth::bench {

// /stats. Errors: std::runtime_error for an answer other than 200.
boost::asio::awaitable<nlohmann::json> AskStats(ServerAddress server);

// Bytes of a page of keys and values, from /fit.
boost::asio::awaitable<std::size_t> AskPageBytes(ServerAddress server);

// Requests that are open, wait, are prepared, decode or are parked, and pages in use beyond the prompt cache's.
std::size_t BusyGauges(const nlohmann::json& stats);

// Waits until nothing is busy, at most `seconds`; returns the last /stats.
boost::asio::awaitable<nlohmann::json> AwaitRest(ServerAddress server, double seconds);

// `rows` greedy streams at once, each of `prompt` random tokens of its own and of exactly `gen` generated ones: what
// `hearth bench --rows` does. Errors: std::runtime_error when an answer is not of that length.
boost::asio::awaitable<void> RunEqualRows(
    ServerAddress server, std::size_t rows, std::size_t prompt, std::size_t gen, std::uint64_t seed
);

// Scrapes /metrics while prompts of `prompt` tokens are prefilled one after the other. Seconds of each scrape.
boost::asio::awaitable<std::vector<double>> ScrapeDuringPrefill(
    ServerAddress server, std::size_t scrapes, std::size_t prompt
);

}  // namespace hearth::bench
