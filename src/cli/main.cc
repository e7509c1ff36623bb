// The program: parses the command line and runs one command. Expected failures end in one line on standard error and
// exit code 1; a wrong command line ends in code 2.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/bench_command.h"
#include "cli/byte_size.h"
#include "cli/complaint.h"
#include "cli/fit_command.h"
#include "cli/info_command.h"
#include "cli/plan_command.h"
#include "cli/run_command.h"
#include "cli/serve_command.h"
#include "cli/serve_flags.h"
#include "cli/tokenize_command.h"
#include "contracts/printable.h"
#include "hearth/error.h"
#include "library/model_directory.h"
#include "platform/cpu_features.h"
#include "text/chat_template.h"

namespace hearth {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

Numerics NumericsOf(const std::string& name) {
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kF32}) {
    if (name == NumericsName(numerics)) {
      return numerics;
    }
  }
  throw Error(
      ErrorCode::kInvalidArgument, "numerics: got '" + Printable(name) + "', wanted default or f32"
  );
}

void AddEngineOptions(CLI::App& command, EngineOptions& options) {
  command.add_option("MODEL", options.model, "A model file, or the name of an installed model")
      ->default_str(kDefaultModel);
  command
      .add_option(
          "--threads",
          options.threads,
          "Worker threads (default: the physical cores that the process may use)"
      )
      ->check(CLI::Range(1, 256));
  command.add_option(
      "--isa",
      options.isa,
      "Instruction set: " + IsaNames() + " (default: HEARTH_ISA, else the best here)"
  );
  command
      .add_option(
          "--numerics",
          [&options](const CLI::results_t& values) {
            options.numerics = NumericsOf(values.front());
            return true;
          },
          "default, or f32: everything in float32, slow"
      )
      ->default_str("default")
      ->type_name("TEXT");
  command
      .add_option(
          "--memory-budget",
          [&options](const CLI::results_t& values) {
            options.memory_budget = ParseByteSize(values.front(), "--memory-budget");
            return true;
          },
          "Memory for weights, cache and all else, like 4G or 1.5GiB (default: most of what the "
          "machine has)"
      )
      ->type_name("SIZE");
}

std::string Version() {
  std::string isas;
  for (const Isa isa : AttainableIsas()) {
    isas += (isas.empty() ? "" : ", ") + std::string(IsaName(isa));
  }
  return fmt::format("hearth {} ({}; {})", HEARTH_VERSION, isas, CpuModelName());
}

void AddSampling(CLI::App& command, SamplingParameters& sampling) {
  command
      .add_option(
          "--temperature", sampling.temperature, "0 takes the most probable token; higher is freer"
      )
      ->capture_default_str();
  command.add_option("--top-k", sampling.top_k, "Draw from the k most probable tokens (0: all)")
      ->capture_default_str();
  command
      .add_option(
          "--top-p", sampling.top_p, "Draw from the most probable tokens that make up this share"
      )
      ->capture_default_str();
  command
      .add_option(
          "--min-p", sampling.min_p, "Drop tokens below this share of the most probable one"
      )
      ->capture_default_str();
  command
      .add_option(
          "--repetition-penalty",
          sampling.repetition_penalty,
          "Weaken tokens of the recent context (1: off)"
      )
      ->capture_default_str();
  command
      .add_option(
          "--presence-penalty",
          sampling.presence_penalty,
          "Subtracted from tokens of the recent context"
      )
      ->capture_default_str();
  command
      .add_option(
          "--frequency-penalty",
          sampling.frequency_penalty,
          "Subtracted for each time a token stands there"
      )
      ->capture_default_str();
  command
      .add_option(
          "--penalty-context",
          [&sampling](const CLI::results_t& values) {
            std::uint32_t context = 0;
            if (!CLI::detail::lexical_cast(values.front(), context)) {
              return false;
            }
            sampling.repetition_context = sampling.presence_context = sampling.frequency_context =
                context;
            return true;
          },
          "How many recent tokens the penalties look at (0: all)"
      )
      ->default_str("20")
      ->type_name("UINT");
  command
      .add_option(
          "--logit-bias",
          [&sampling](const CLI::results_t& values) {
            for (const std::string& value : values) {
              const std::size_t colon = value.find(':');
              LogitBias bias;
              if (colon == std::string::npos ||
                  !CLI::detail::lexical_cast(value.substr(0, colon), bias.token) ||
                  !CLI::detail::lexical_cast(value.substr(colon + 1), bias.bias)) {
                return false;
              }
              sampling.logit_bias.push_back(bias);
            }
            return true;
          },
          "Added to a token's logit, as ID:BIAS; may be given several times"
      )
      ->type_name("ID:BIAS")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option(
          "--seed",
          [&sampling](const CLI::results_t& values) {
            // CLI11 would bend a number that does not fit into one that does.
            const std::string& text = values.front();
            std::uint64_t seed = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
            sampling.seed = seed;
            return error == std::errc() && end == text.data() + text.size();
          },
          "The same seed gives the same answer (default: a fresh one)"
      )
      ->type_name("UINT");
}

void AddRun(CLI::App& app, RunOptions& run, int& code) {
  CLI::App* command = app.add_subcommand(
      "run", "Answer a prompt; without one, chat on a terminal or answer what is piped in"
  );
  AddEngineOptions(*command, run.engine);
  command->add_option(
      "PROMPT",
      run.prompt,
      "What to answer (default: standard input, which is not read when this is given)"
  );
  command->add_option("--system", run.system, "System message before the conversation");
  command->add_option("--max-tokens", run.max_tokens, "Longest answer, in tokens")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->capture_default_str();
  AddSampling(*command, run.sampling);
  command->add_flag("--raw", run.raw, "Continue the prompt as it is, without the chat template");
  command
      ->add_option(
          "--prefill-chunk", run.prefill_chunk, "Prompt tokens of one step; changes speed only"
      )
      ->check(CLI::Range(1, 4096))  // a step cannot be stopped
      ->capture_default_str();
  command->add_flag("--json", run.json, "Print one JSON object: text, ids, logprobs, timings");
  command
      ->add_option(
          "--logprobs",
          run.sampling.top_logprobs,
          "With --json: the most probable tokens at each step"
      )
      ->check(CLI::Range(0, 20));
  command->add_flag("--stats", run.stats, "Print timings to standard error");
  command->callback([&run, &code] { code = RunRun(run); });
}

void AddTokenize(CLI::App& app, TokenizeOptions& tokenize, int& code) {
  CLI::App* command = app.add_subcommand("tokenize", "Show the tokens of a text");
  command->add_option("MODEL", tokenize.model, "A model file, or the name of an installed model")
      ->default_str(kDefaultModel);
  command->add_option("TEXT", tokenize.text, "The text (default: standard input)");
  command->add_flag("--special", tokenize.special, "Read special tokens in the text as such");
  command->add_flag(
      "--add-special",
      tokenize.add_special,
      "Add the tokens that the model starts and ends texts with"
  );
  command->add_flag("--json", tokenize.json, "Print one JSON object");
  command->callback([&tokenize, &code] { code = RunTokenize(tokenize); });
}

// The arguments as CLI11 takes them: last first, and "--name=" with an empty value as two, since it would take the next
// argument for the value.
std::vector<std::string> Arguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    options = options && argument != "--";
    if (options && argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      argument.pop_back();
      arguments.push_back(std::move(argument));
      arguments.emplace_back();
    } else {
      arguments.push_back(std::move(argument));
    }
  }
  std::ranges::reverse(arguments);
  return arguments;
}

int Main(int argc, char** argv) {
  CLI::App app("hearth runs language models on this machine.", "hearth");
  app.set_version_flag("--version", Version());
  app.footer("Models lie in the models folder of $HEARTH_HOME (default: ~/.cache/hearth).");
  app.require_subcommand(1);
  int code = 0;

  RunOptions run;
  AddRun(app, run, code);

  ServeOptions serve;
  CLI::App* serve_command = app.add_subcommand(
      "serve", "Answer requests over HTTP, with the API that OpenAI's clients speak"
  );
  AddEngineOptions(*serve_command, serve.server.engine);
  AddServeFlags(*serve_command, serve);
  serve.server.engine.model = kDefaultModel;
  serve_command->callback([&] { code = RunServe(serve); });

  BenchOptions bench;
  CLI::App* bench_command =
      app.add_subcommand("bench", "Measure tokens per second beside the memory's read speed");
  AddEngineOptions(*bench_command, bench.engine);
  bench_command->add_option("--prompt", bench.prompt, "Prompt tokens of each row")
      ->check(CLI::Range(1, 1 << 26))
      ->capture_default_str();
  bench_command->add_option("--gen", bench.gen, "Tokens that each row decodes")
      ->check(CLI::Range(1, 1 << 26))
      ->capture_default_str();
  bench_command
      ->add_option(
          "--rows", bench.rows, "Sequences that run together: one number or several, by commas"
      )
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  bench_command
      ->add_option(
          "--sessions",
          bench.sessions,
          "Requests at once through the engine: one number or several, by commas"
      )
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  bench_command->add_option("--repeat", bench.repeat, "Measured runs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  bench_command->add_flag("--json", bench.json, "Print one JSON object");
  bench_command->callback([&] { code = RunBench(bench); });

  TokenizeOptions tokenize;
  AddTokenize(app, tokenize, code);

  std::string info_model;
  bool info_json = false;
  CLI::App* info_command = app.add_subcommand("info", "Show what a model file holds");
  info_command->add_option("MODEL", info_model, "A model file, or the name of an installed model")
      ->default_str(kDefaultModel);
  info_command->add_flag("--json", info_json, "Print one JSON object");
  info_command->callback([&] { code = RunInfo(info_model, info_json); });

  FitOptions fit;
  CLI::App* fit_command = app.add_subcommand(
      "fit",
      "Show whether a model and a context fit into memory, without loading the model; exit code 0 "
      "when they do, 1 when not"
  );
  AddEngineOptions(*fit_command, fit.engine);
  fit_command
      ->add_option(
          "--ctx",
          fit.context,
          "Tokens of a request, prompt and answer (default: the model's context)"
      )
      ->check(CLI::Range(1, 1 << 26));
  fit_command->add_option("--batch", fit.rows, "Requests of that length at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  fit_command->add_flag("--json", fit.json, "Print one JSON object");
  fit_command->callback([&] { code = RunFit(fit); });

  std::string plan_file;
  bool plan_json = false;
  CLI::App* plan_command =
      app.add_subcommand("plan", "Show what a request would use, and why not more");
  plan_command
      ->add_option(
          "FILE",
          plan_file,
          R"(JSON, like {"request": {"user_seed": true}, "capabilities": {"continuous": true}, "features": {}})"
      )
      ->required();
  plan_command->add_flag("--json", plan_json, "Print one JSON object");
  plan_command->callback([&] { code = RunPlanCommand(plan_file, plan_json); });

  // CLI11 would only say that a command is missing.
  const auto named = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(app.get_subcommands({}), named)) {
    Complain(fmt::format("unknown command '{}' (see `hearth --help`)", Printable(argv[1])));
    return kWrongUsage;
  }
  std::vector<std::string> arguments = Arguments(argc, argv);
  try {
    app.parse(arguments);
  } catch (const CLI::Success& success) {
    code = app.exit(success);
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> reached = app.get_subcommands();
    const std::string command = reached.empty() ? "" : reached.front()->get_name() + " ";
    Complain(fmt::format("{} (see `hearth {}--help`)", error.what(), command));
    return kWrongUsage;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error(ErrorCode::kIo, "standard output: cannot be written");
  }
  return code;
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  try {
    return hearth::Main(argc, argv);
  } catch (const hearth::TemplateError& error) {
    // The template came with the model: no other flag would mend it.
    hearth::Complain(error.what());
  } catch (const hearth::Error& error) {
    hearth::Complain(error.what());
    return error.code() == hearth::ErrorCode::kInvalidArgument ? hearth::kWrongUsage
                                                               : hearth::kFailed;
  } catch (const std::bad_alloc&) {
    hearth::Complain("out of memory");
  } catch (const std::exception& error) {
    hearth::Complain(error.what());
  }
  return hearth::kFailed;
}
