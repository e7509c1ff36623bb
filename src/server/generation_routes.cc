#include "server/generation_routes.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "hearth/engine.h"
#include "platform/log.h"
#include "platform/random_seed.h"
#include "server/answer_run.h"
#include "server/api/chat_request.h"
#include "server/api/completion_request.h"
#include "server/api/sse.h"
#include "server/text_routes.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

// Both routes, once their requests are read: what runs, and how it is answered.
struct Prepared {
  api::AnswerKind kind = api::AnswerKind::kChat;
  api::GenerationFields fields{};
  std::vector<ChoicePlan> plans{};
  std::uint64_t seed = 0;
};

// A seed that JavaScript can hold.
std::uint64_t DrawSeed() {
  return FreshSeed() >> 11;
}

void RequireKnownToken(const Engine& engine, TokenId token, const std::string& field) {
  if (token >= engine.model().vocabulary) {
    throw api::RequestError(
        api::InvalidRequest(
            field + ": token " + std::to_string(token) + " is outside the vocabulary of " +
                std::to_string(engine.model().vocabulary),
            field
        )
    );
  }
}

// The requests of one prompt's choices.
void AddChoices(
    const RouteContext& context,
    const Engine& engine,
    std::vector<TokenId> prompt,
    const api::ChoiceTextOptions& text,
    Prepared& prepared
) {
  const api::GenerationFields& fields = prepared.fields;
  SamplingParameters sampling = api::MergeSampling(fields.sampling, context.options.sampling, {});
  for (const LogitBias& bias : sampling.logit_bias) {
    RequireKnownToken(engine, bias.token, "logit_bias");
  }
  sampling.top_logprobs = fields.top_logprobs;
  sampling.seed = prepared.seed;
  const std::uint64_t limit = api::OutputLimit(
      prompt.size(),
      fields.max_tokens ? fields.max_tokens : context.options.max_tokens,
      engine.model().context_length
  );
  for (std::uint32_t choice = 0; choice < fields.n; ++choice) {
    GenerationRequest request = engine.MakeRequest(prompt, sampling, choice);
    request.max_tokens = limit;
    request.session_id = fields.session_id;
    request.use_cache = fields.use_cache;
    prepared.plans.push_back({std::move(request), text});
  }
}

Prepared PrepareChat(const RouteContext& context, const Engine& engine, const std::string& body) {
  const api::ChatRequest request = api::ReadChatRequest(api::ParseBody(body));
  Prepared prepared;
  prepared.fields = request.generation;
  prepared.seed = request.generation.sampling.seed.value_or(DrawSeed());
  ChatTokens made = TokensOfChat(engine.text(), request, context.options.thinking);
  if (context.options.log_prompts) {
    Log(LogLevel::kInfo, "prompt: " + made.prompt.text);
  }
  api::ChoiceTextOptions text;
  text.stop = request.generation.stop;
  text.reasoning = ReasoningMarkers{};
  text.opens_thinking = made.prompt.opens_thinking;
  text.logprobs = request.generation.top_logprobs.has_value();
  AddChoices(context, engine, std::move(made.tokens), text, prepared);
  return prepared;
}

Prepared PrepareCompletion(
    const RouteContext& context, const Engine& engine, const std::string& body
) {
  const api::CompletionRequest request = api::ReadCompletionRequest(api::ParseBody(body));
  Prepared prepared;
  prepared.kind = api::AnswerKind::kCompletion;
  prepared.fields = request.generation;
  prepared.seed = request.generation.sampling.seed.value_or(DrawSeed());
  api::ChoiceTextOptions text;
  text.stop = request.generation.stop;
  text.logprobs = request.generation.top_logprobs.has_value();
  for (const api::PromptInput& input : request.prompts) {
    std::vector<TokenId> tokens;
    if (const auto* words = std::get_if<std::string>(&input)) {
      if (context.options.log_prompts) {
        Log(LogLevel::kInfo, "prompt: " + *words);
      }
      tokens = engine.text().Tokenize(*words, {.add_special = true, .parse_special = true});
    } else {
      tokens = std::get<std::vector<TokenId>>(input);
    }
    if (tokens.empty()) {
      throw api::RequestError(api::InvalidRequest("prompt: it has no tokens", "prompt"));
    }
    for (const TokenId token : tokens) {
      RequireKnownToken(engine, token, "prompt");
    }
    AddChoices(context, engine, std::move(tokens), text, prepared);
  }
  for (ChoicePlan& plan : prepared.plans) {
    plan.echo = request.echo;
    plan.scores_echo = request.echo && text.logprobs;
    if (plan.scores_echo) {
      plan.request.prompt_scores_top = *request.generation.top_logprobs;
    }
  }
  return prepared;
}

awaitable<void> Stream(
    RouteContext context,
    HttpExchange& exchange,
    std::shared_ptr<AnswerRun> run,
    api::StreamWriter writer,
    std::size_t choices_a_prompt,
    HttpHeaders headers
) {
  headers.Add("Content-Type", "text/event-stream; charset=utf-8");
  headers.Add("Cache-Control", "no-cache");
  headers.Add("X-Accel-Buffering", "no");  // proxies that collect would take the streaming away
  awaitable<bool> beginning = exchange.BeginStream(200, std::move(headers));
  bool reachable = co_await std::move(beginning);
  while (reachable && !run->done() && !run->error()) {
    awaitable<std::string> waiting = AnswerRun::NextFrames(run, context.options.heartbeat);
    std::string frames = co_await std::move(waiting);
    if (frames.empty() && !run->done() && !run->error()) {
      frames = api::SseComment("still at work");
    }
    if (!frames.empty()) {
      awaitable<bool> writing = exchange.WriteChunk(std::move(frames));
      reachable = co_await std::move(writing);
    }
  }
  if (!reachable) {
    run->Abandon();
    co_return;
  }
  awaitable<void> ending = AnswerRun::WaitEnd(run);
  co_await std::move(ending);
  // Whoever still reads is told so; nobody gets half an answer that looks whole.
  const std::optional<api::ApiError> error =
      run->abandoned() ? std::optional(api::ErrorOf(499, "the client has gone")) : run->error();
  // What was generated before an error goes out before it.
  awaitable<std::string> taking = AnswerRun::NextFrames(run, context.options.heartbeat);
  std::string last = co_await std::move(taking);
  last +=
      error ? writer.Fail(*error, exchange.request().id) : writer.End(run->usage(choices_a_prompt));
  awaitable<bool> writing = exchange.WriteChunk(std::move(last));
  co_await std::move(writing);
  awaitable<bool> closing = exchange.EndStream();
  co_await std::move(closing);
}

awaitable<void> RespondWhole(
    HttpExchange& exchange,
    std::shared_ptr<AnswerRun> run,
    api::AnswerHead head,
    api::TokenBytes bytes_of,
    std::size_t choices_a_prompt,
    HttpHeaders headers
) {
  awaitable<void> ending = AnswerRun::WaitEnd(run);
  co_await std::move(ending);
  if (run->abandoned()) {
    awaitable<void> failing = RespondError(exchange, api::ErrorOf(499, "the client has gone"));
    co_await std::move(failing);
    co_return;
  }
  if (run->error()) {
    awaitable<void> failing = RespondError(exchange, *run->error());
    co_await std::move(failing);
    co_return;
  }
  const std::vector<api::ChoiceAnswer> answers = run->answers();
  const std::vector<GenerationMetrics> metrics = run->metrics();
  const api::Json body = api::AnswerBody(
      head, answers, run->usage(choices_a_prompt), api::TimingsBody(metrics), bytes_of
  );
  awaitable<void> responding = RespondJson(exchange, 200, body, std::move(headers));
  co_await std::move(responding);
}

awaitable<void> Answer(
    RouteContext context,
    HttpExchange& exchange,
    Prepared (*prepare)(const RouteContext&, const Engine&, const std::string&)
) {
  Engine& engine = context.model.RequireEngine();
  const std::string body = std::move(exchange.request().body);
  std::function<Prepared()> work = [&] { return prepare(context, engine, body); };
  awaitable<Prepared> working = OnTextPool<Prepared>(context, std::move(work));
  Prepared prepared = co_await std::move(working);
  if (exchange.gone()) {
    co_return;
  }

  api::AnswerHead head;
  head.kind = prepared.kind;
  head.id = api::AnswerId(prepared.kind, FreshSeed(), FreshSeed());
  head.created = std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch()
  )
                     .count();
  head.model = context.model.id();
  head.seed = prepared.seed;
  api::TokenBytes bytes_of;
  if (prepared.fields.top_logprobs) {
    bytes_of = [text = engine.text()](TokenId token) { return text.TokenBytes(token); };
  }
  const std::size_t choices_a_prompt = prepared.fields.n;
  const bool streams = prepared.fields.stream;
  const api::StreamWriter writer(head, prepared.fields.include_usage, bytes_of);
  HttpHeaders headers;
  AddWarning(headers, prepared.fields.unknown);
  const auto run = std::make_shared<AnswerRun>(
      engine,
      context.model.metrics(),
      std::move(prepared.plans),
      streams ? std::optional<api::StreamWriter>(writer) : std::nullopt,
      context.options.engine.batch
  );
  awaitable<void> starting = AnswerRun::Start(run);
  co_await std::move(starting);
  exchange.OnGone([weak = std::weak_ptr<AnswerRun>(run)](GoneReason) {
    if (const std::shared_ptr<AnswerRun> alive = weak.lock()) {
      alive->Abandon();
    }
  });
  awaitable<void> answering =
      streams ? Stream(context, exchange, run, writer, choices_a_prompt, std::move(headers))
              : RespondWhole(exchange, run, head, bytes_of, choices_a_prompt, std::move(headers));
  co_await std::move(answering);
}

}  // namespace

awaitable<void> AnswerChat(RouteContext context, HttpExchange& exchange) {
  return Answer(context, exchange, PrepareChat);
}

awaitable<void> AnswerCompletion(RouteContext context, HttpExchange& exchange) {
  return Answer(context, exchange, PrepareCompletion);
}

}  // namespace hearth
