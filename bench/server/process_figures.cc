#include "process_figures.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace hearth::bench {
namespace {

std::string FileOf(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    throw std::runtime_error(path + ": cannot be read");
  }
  return text.str();
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::size_t ResidentBytes(pid_t pid) {
  const std::string text = FileOf(pid, "status");
  const std::size_t at = text.find("VmRSS:");
  if (at == std::string::npos) {
    throw std::runtime_error("no VmRSS in /proc/" + std::to_string(pid) + "/status");
  }
  return std::stoull(text.substr(at + 6)) * 1024;
}

double CpuSeconds(pid_t pid) {
  const std::string text = FileOf(pid, "stat");
  // The name, in parentheses, may hold anything; user and system time are the 12th and 13th fields after it.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) {
    fields >> skipped;
  }
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double CpuSecondsOfRun(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  if (failed != 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
    throw std::runtime_error(command[0] + ": failed");
  }
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

}  // namespace hearth::bench
