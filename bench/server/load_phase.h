// The load: streams that begin, are read or broken off, and begin again, for a given time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "http_client.h"

namespace hearth::bench {

struct LoadOptions {
  ServerAddress server;
  std::size_t streams = 64;
  double seconds = 60;
  std::size_t most_words = 300;   // of a prompt
  std::size_t most_tokens = 160;  // of an answer
  double abort_share = 0.3;       // of the requests; each breaks off somewhere of its own
  std::uint64_t seed = 1;
};

struct LoadFigures {
  std::vector<double> first_token;  // seconds from a request to its first text
  std::vector<double> inter_token;  // seconds from a piece of text to the next
  std::map<std::string, int> ends;  // how requests ended, expected
  std::map<std::string, int> unexpected;
  std::size_t completion_tokens = 0;  // of whole answers, as the server says
  double seconds = 0;                 // until the last stream had ended
};

// One of the streams: requests one after the other until the time is over.
boost::asio::awaitable<void> RunStream(
    const LoadOptions& options,
    std::size_t index,
    std::chrono::steady_clock::time_point until,
    LoadFigures& figures
);

}  // namespace hearth::bench
