// Runs a fuzz target over files, where there is no libFuzzer: each argument is a file or a folder of files, in the
// order of their names. Ends with 0 when every input came through, and with 2 when there was none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> InputsOf(int count, char** arguments) {
  std::vector<std::filesystem::path> inputs;
  for (int i = 1; i < count; ++i) {
    const std::filesystem::path argument = arguments[i];
    if (!std::filesystem::is_directory(argument)) {
      inputs.push_back(argument);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
      if (entry.is_regular_file()) {
        inputs.push_back(entry.path());
      }
    }
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

bool Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> read{
      std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()
  };
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return false;
  }
  // Exactly as long as the input, so that the sanitizer sees a read past its end.
  const std::vector<std::uint8_t> bytes(read.begin(), read.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::filesystem::path> inputs = InputsOf(count, arguments);
  if (inputs.empty()) {
    std::fprintf(stderr, "usage: %s FILE_OR_FOLDER...; there was no file\n", arguments[0]);
    return 2;
  }
  const auto failed =
      std::count_if(inputs.begin(), inputs.end(), [](const auto& path) { return !Replay(path); });
  std::printf("%zu inputs, %td not readable\n", inputs.size(), failed);
  return failed == 0 ? 0 : 1;
}
