// The program: parses the command line and runs one command. Expected failures end in one line on standard error and
// exit code 1; a wrong command line ends in code 2.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "cli/bench_command.h"
#include "cli/info_command.h"
#include "cli/model_directory.h"
#include "cli/plan_command.h"
#include "contracts/error.h"
#include "platform/cpu_features.h"

namespace hearth {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void AddEngineOptions(CLI::App& command, EngineOptions& options) {
  command.add_option("MODEL", options.model, "A model file, or the name of an installed model")
      ->default_str(kDefaultModel);
  command.add_option("--threads", options.threads, "Worker threads (default: every usable core)")
      ->check(CLI::Range(1, 256));
  command.add_option("--isa", options.isa, "Instruction set: portable, avx512 (default: the best here)");
  command.add_option("--numerics", options.numerics, "default, or f32: everything in float32, slow and exact")
      ->capture_default_str();
}

std::string Version() {
  std::string isas;
  for (const Isa isa : AttainableIsas()) {
    isas += (isas.empty() ? "" : ", ") + std::string(IsaName(isa));
  }
  return fmt::format("hearth {} ({}; {})", HEARTH_VERSION, isas, CpuModelName());
}

int Main(int argc, char** argv) {
  CLI::App app("hearth runs language models on this machine.", "hearth");
  app.set_version_flag("--version", Version());
  app.require_subcommand(1);
  int code = 0;

  BenchOptions bench;
  CLI::App* bench_command = app.add_subcommand("bench", "Measure tokens per second beside the memory's read speed");
  AddEngineOptions(*bench_command, bench.engine);
  bench_command->add_option("--prompt", bench.prompt, "Prompt tokens of each row")->capture_default_str();
  bench_command->add_option("--gen", bench.gen, "Tokens that each row decodes")->capture_default_str();
  bench_command->add_option("--rows", bench.rows, "Sequences that run together: one number or several, by commas")
      ->delimiter(',')
      ->capture_default_str();
  bench_command->add_option("--repeat", bench.repeat, "Measured runs")->capture_default_str();
  bench_command->add_flag("--json", bench.json, "Print one JSON object");
  bench_command->callback([&] { code = RunBench(bench); });

  std::string info_model;
  bool info_json = false;
  CLI::App* info_command = app.add_subcommand("info", "Show what a model file holds");
  info_command->add_option("MODEL", info_model, "A model file, or the name of an installed model");
  info_command->add_flag("--json", info_json, "Print one JSON object");
  info_command->callback([&] { code = RunInfo(info_model, info_json); });

  std::string plan_file;
  bool plan_json = false;
  CLI::App* plan_command =
      app.add_subcommand("plan", "Show what a request would use, and why not more");
  plan_command->add_option("FILE", plan_file, "JSON: request, capabilities, features")->required();
  plan_command->add_flag("--json", plan_json, "Print one JSON object");
  plan_command->callback([&] { code = RunPlanCommand(plan_file, plan_json); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "hearth: {} (see `hearth --help`)\n", error.what());
    return kWrongUsage;
  }
  return code;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  try {
    return hearth::Main(argc, argv);
  } catch (const hearth::Error& error) {
    fmt::print(stderr, "hearth: {}\n", error.what());
    return error.code() == hearth::ErrorCode::kInvalidArgument ? hearth::kWrongUsage : hearth::kFailed;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hearth: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "hearth: {}\n", error.what());
  }
  return hearth::kFailed;
}
