// A whole model file of a tiny model: weights, a byte-level vocabulary and a chat template.
#pragma once

#include <filesystem>

namespace hearth {

// What the file's vocabulary holds: ids 0-255 are the bytes, then these.
inline constexpr unsigned kTinyEnd = 256;        // "<|end|>" ends an answer
inline constexpr unsigned kTinyUser = 257;       // "<|user|>"
inline constexpr unsigned kTinyAssistant = 258;  // "<|assistant|>"

struct TinyFileOptions {
  bool chat_template = true;  // "<|user|>CONTENT<|end|>" for each message, then "<|assistant|>"
  bool vocabulary = true;
};

// Writes the file. Errors: std::runtime_error when it cannot be written.
void WriteTinyModel(const std::filesystem::path& path, const TinyFileOptions& options = {});

}  // namespace hearth
