// What an opened model is: values for people and programs.
#pragma once

#include <cstddef>
#include <string>

#include "hearth/numerics.h"

namespace hearth {

struct ModelInfo {
  std::string name;        // of the file
  std::string family;      // "llama"
  std::size_t vocabulary;  // logits of a position; token ids are below it
  // Tokens of a request at most, prompt and answer together: the model's, or what the memory leaves.
  std::size_t context_length;
  std::size_t cache_pages;  // of keys and values, that there can be
  std::size_t parameters;
  std::size_t weight_bytes;  // of the packed weights in memory
  Numerics numerics;
  std::string isa;  // the instruction set that computes it
  int threads;      // workers
  double load_seconds;
};

}  // namespace hearth
