#include "server/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <sstream>
#include <utility>
#include <vector>

namespace hearth {
namespace {

using prometheus::MetricType;

// Seconds: a token of a small model takes milliseconds, a long answer minutes.
const prometheus::Histogram::BucketBoundaries kLong = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600
};
const prometheus::Histogram::BucketBoundaries kShort = {
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5
};

// A histogram under our name and, where gateways look for it, under vLLM's.
class Timing {
 public:
  Timing(
      prometheus::Registry& registry,
      const std::string& name,
      const std::string& alias,
      const std::string& help,
      const prometheus::Labels& labels,
      const prometheus::Histogram::BucketBoundaries& buckets
  ) {
    const auto add = [&](const std::string& full) {
      histograms_.push_back(
          &prometheus::BuildHistogram().Name(full).Help(help).Register(registry).Add(
              labels, buckets
          )
      );
    };
    add("hearth_" + name);
    if (!alias.empty()) {
      add("vllm:" + alias);
    }
  }

  void Observe(double seconds) {
    for (prometheus::Histogram* histogram : histograms_) {
      histogram->Observe(seconds);
    }
  }

 private:
  std::vector<prometheus::Histogram*> histograms_;
};

prometheus::MetricFamily Family(
    const std::string& name,
    const std::string& help,
    MetricType type,
    const std::vector<prometheus::ClientMetric::Label>& labels,
    double value
) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  metric.label = labels;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
  return family;
}

// A value of the engine's snapshot and its names.
struct Exported {
  const char* name;
  const char* alias;  // vLLM's; empty: none
  const char* help;
  MetricType type;
  double (*value)(const EngineSnapshot&);
};

#define HEARTH_SNAPSHOT(field) \
  [](const EngineSnapshot& engine) { return static_cast<double>(engine.field); }

const Exported kExported[] = {
    {"sessions",
     "",
     "Requests that were opened and have not ended",
     MetricType::Gauge,
     HEARTH_SNAPSHOT(sessions)},
    {"queued",
     "vllm:num_requests_waiting",
     "Requests that wait for a row",
     MetricType::Gauge,
     HEARTH_SNAPSHOT(queued)},
    {"preparing",
     "",
     "Rows whose prompt is being computed",
     MetricType::Gauge,
     HEARTH_SNAPSHOT(preparing)},
    {"active", "", "Rows that decode", MetricType::Gauge, HEARTH_SNAPSHOT(active)},
    {"running",
     "vllm:num_requests_running",
     "Rows that are prepared or decode",
     MetricType::Gauge,
     [](const EngineSnapshot& engine) {
       return static_cast<double>(engine.preparing + engine.active);
     }},
    {"parked", "", "Rows whose reader has no room", MetricType::Gauge, HEARTH_SNAPSHOT(parked)},
    {"pages_used",
     "",
     "Pages of keys and values in use",
     MetricType::Gauge,
     HEARTH_SNAPSHOT(pages_used)},
    {"pages_cached",
     "",
     "Pages that the prompt cache holds",
     MetricType::Gauge,
     HEARTH_SNAPSHOT(pages_cached)},
    {"steps_total", "", "Forwards of the model", MetricType::Counter, HEARTH_SNAPSHOT(steps)},
    {"prompt_tokens_total",
     "vllm:prompt_tokens_total",
     "Prompt tokens that were computed",
     MetricType::Counter,
     HEARTH_SNAPSHOT(prompt_tokens)},
    {"generated_tokens_total",
     "vllm:generation_tokens_total",
     "Tokens that were sampled",
     MetricType::Counter,
     HEARTH_SNAPSHOT(generated_tokens)},
    {"preemptions_total",
     "vllm:num_preemptions_total",
     "Rows that gave their pages up and came back",
     MetricType::Counter,
     HEARTH_SNAPSHOT(preemptions)},
    {"prompt_cache_hits_total",
     "",
     "Requests that found a prefix",
     MetricType::Counter,
     HEARTH_SNAPSHOT(cache_hits)},
    {"prompt_cache_misses_total",
     "",
     "Requests that found none",
     MetricType::Counter,
     HEARTH_SNAPSHOT(cache_misses)},
    {"cached_prompt_tokens_total",
     "",
     "Prompt tokens that were not computed again",
     MetricType::Counter,
     HEARTH_SNAPSHOT(cached_tokens)},
};

#undef HEARTH_SNAPSHOT

}  // namespace

struct ServerMetrics::State {
  State(std::string model_id, EngineSource engine_source, HttpSource http_source)
      : model(std::move(model_id)),
        engine(std::move(engine_source)),
        http(std::move(http_source)),
        labels{{"model_name", model}},
        queue(
            registry,
            "queue_seconds",
            "request_queue_time_seconds",
            "From a request to its row",
            labels,
            kLong
        ),
        prefill(
            registry,
            "prefill_seconds",
            "request_prefill_time_seconds",
            "From a row to its first token",
            labels,
            kLong
        ),
        decode(
            registry,
            "decode_seconds",
            "request_decode_time_seconds",
            "From the first token to the last",
            labels,
            kLong
        ),
        first(
            registry,
            "first_token_seconds",
            "time_to_first_token_seconds",
            "From a request to its first token",
            labels,
            kLong
        ),
        between(
            registry,
            "inter_token_seconds",
            "time_per_output_token_seconds",
            "From a token to the next",
            labels,
            kShort
        ),
        whole(
            registry,
            "request_seconds",
            "e2e_request_latency_seconds",
            "From a request to its end",
            labels,
            kLong
        ),
        ended(
            prometheus::BuildCounter()
                .Name("hearth_requests_ended_total")
                .Help("Choices of answers by how they ended")
                .Register(registry)
        ),
        answered(
            prometheus::BuildCounter()
                .Name("hearth_http_answers_total")
                .Help("Answers by route and status")
                .Register(registry)
        ),
        succeeded(
            prometheus::BuildCounter()
                .Name("vllm:request_success_total")
                .Help("Choices that were completed")
                .Register(registry)
        ) {}

  std::string model;
  std::atomic<std::uint64_t> pages{0};
  EngineSource engine;
  HttpSource http;
  prometheus::Labels labels;
  prometheus::Registry registry;
  Timing queue, prefill, decode, first, between, whole;
  prometheus::Family<prometheus::Counter>& ended;
  prometheus::Family<prometheus::Counter>& answered;
  prometheus::Family<prometheus::Counter>& succeeded;
};

ServerMetrics::ServerMetrics(std::string model_id, EngineSource engine, HttpSource http)
    : state_(std::make_unique<State>(std::move(model_id), std::move(engine), std::move(http))) {
}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::Ended(
    const GenerationMetrics& metrics, std::string_view reason, double seconds
) {
  State& s = *state_;
  s.queue.Observe(metrics.queue_seconds);
  if (metrics.generated_tokens > 0) {
    s.prefill.Observe(metrics.prefill_seconds);
    s.decode.Observe(metrics.decode_seconds);
  }
  s.whole.Observe(seconds);
  s.ended.Add({{"reason", std::string(reason)}}).Increment();
  if (reason == "stop" || reason == "length") {
    s.succeeded.Add(
                   {{"model_name", s.model}, {"finished_reason", std::string(reason)}}
    ).Increment();
  }
}

void ServerMetrics::SetPages(std::uint64_t pages) {
  state_->pages = pages;
}

void ServerMetrics::FirstToken(double seconds) {
  state_->first.Observe(seconds);
}

void ServerMetrics::BetweenTokens(double seconds) {
  state_->between.Observe(seconds);
}

void ServerMetrics::Answered(
    std::string_view path, int status, std::chrono::microseconds /*duration*/
) {
  state_->answered.Add(
                      {{"path", std::string(path)}, {"status", std::to_string(status)}}
  ).Increment();
}

std::string ServerMetrics::Text() const {
  const State& s = *state_;
  std::vector<prometheus::MetricFamily> families = s.registry.Collect();
  const std::optional<EngineSnapshot> engine = s.engine();
  if (engine) {
    for (const Exported& exported : kExported) {
      const double value = exported.value(*engine);
      families.push_back(
          Family("hearth_" + std::string(exported.name), exported.help, exported.type, {}, value)
      );
      if (*exported.alias != '\0') {
        families.push_back(
            Family(exported.alias, exported.help, exported.type, {{"model_name", s.model}}, value)
        );
      }
    }
  }
  // The pages are known a moment before the engine is.
  const std::uint64_t pages = s.pages;
  if (engine && pages > 0) {
    const double used = static_cast<double>(engine->pages_used);
    families.push_back(Family(
        "hearth_pages", "Pages that there can be", MetricType::Gauge, {}, static_cast<double>(pages)
    ));
    // Under the name that the aliased gateways balance by.
    families.push_back(Family(
        "vllm:gpu_cache_usage_perc",
        "Share of the pages in use, from 0 to 1",
        MetricType::Gauge,
        {{"model_name", s.model}},
        used / static_cast<double>(pages)
    ));
  }
  const HttpCounters http = s.http();
  const auto add = [&](const char* name, const char* help, MetricType type, std::uint64_t value) {
    families.push_back(Family(name, help, type, {}, static_cast<double>(value)));
  };
  add("hearth_http_connections_open", "Connections", MetricType::Gauge, http.open_connections);
  add("hearth_http_requests_running",
      "Requests that are being answered",
      MetricType::Gauge,
      http.running_requests);
  add("hearth_http_body_bytes_buffered",
      "Bytes of bodies that are held",
      MetricType::Gauge,
      http.buffered_body_bytes);
  add("hearth_http_connections_total",
      "Connections since the start",
      MetricType::Counter,
      http.accepted_connections);
  add("hearth_http_connections_refused_total",
      "Connections over the limit",
      MetricType::Counter,
      http.refused_connections);
  add("hearth_http_faults_total", "Requests that were no HTTP", MetricType::Counter, http.faults);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace hearth
