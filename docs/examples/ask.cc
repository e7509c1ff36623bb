// Opens a model, asks it something and prints the answer while it comes.
//
// usage: ask MODEL MESSAGE      for example: ask smollm2 "What is the capital of France?"
#include <cstdio>
#include <string_view>

#include "hearth/blocking.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ask MODEL MESSAGE\n");
    return 2;
  }
  try {
    // One engine serves the whole program: any number of threads may ask it at once.
    hearth::EngineOptions options;
    options.model = argv[1];
    hearth::Engine engine(options);

    hearth::blocking::AskOptions ask;
    ask.max_tokens = 64;
    ask.sampling.temperature = 0.7;
    ask.sampling.seed = 1;  // without it, each run draws anew

    hearth::blocking::Ask(
        engine,
        {{"system", "You answer in one sentence."}, {"user", argv[2]}},
        ask,
        [](std::string_view piece) {
          const bool written = std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size();
          return std::fflush(stdout) == 0 && written;  // no: nobody reads any more
        }
    );
    std::puts("");
  } catch (const hearth::Error& error) {
    std::fprintf(stderr, "ask: %s\n", error.what());
    return 1;
  }
  return 0;
}
