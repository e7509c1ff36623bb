#include "server/server_service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/api/discovery_body.h"
#include "server/generation_routes.h"
#include "server/http/access_log.h"
#include "server/info_routes.h"
#include "server/route_context.h"
#include "server/text_routes.h"

namespace hearth {
namespace {

using boost::asio::awaitable;
using RouteHandler = awaitable<void> (*)(RouteContext, HttpExchange&);

struct Route {
  std::string_view method;
  std::string_view path;  // one that ends in '/' is a beginning
  RouteHandler handler;
};

constexpr std::array kRoutes = {
    Route{"POST", "/v1/chat/completions", AnswerChat},
    Route{"POST", "/v1/chat/completions/render", AnswerRender},
    Route{"POST", "/v1/completions", AnswerCompletion},
    Route{"GET", "/v1/models", AnswerModels},
    Route{"GET", "/v1/models/", AnswerModel},
    Route{"GET", "/v1", AnswerIndex},
    Route{"POST", "/tokenize", AnswerTokenize},
    Route{"POST", "/detokenize", AnswerDetokenize},
    Route{"GET", "/health", AnswerHealth},
    Route{"GET", "/health/live", AnswerLive},
    Route{"GET", "/health/ready", AnswerHealth},
    Route{"GET", "/metrics", AnswerMetrics},
    Route{"GET", "/stats", AnswerStats},
    Route{"GET", "/fit", AnswerFit},
};

bool Matches(const Route& route, std::string_view path) {
  return route.path.ends_with('/') ? path.size() > route.path.size() && path.starts_with(route.path)
                                   : path == route.path;
}

// The handler; else an error in words: 404, or 405 with what would be allowed.
const Route* FindRoute(std::string_view method, std::string_view path, api::ApiError& error) {
  // HEAD is GET without a body: the HTTP server leaves that out.
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  std::string allowed;
  for (const Route& route : kRoutes) {
    if (!Matches(route, path)) {
      continue;
    }
    if (route.method == wanted) {
      return &route;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (allowed.empty()) {
    error = api::ErrorOf(404, "no such route: GET /v1 lists them");
  } else {
    error = api::ErrorOf(405, "this route takes " + allowed);
    error.allow = allowed;
  }
  return nullptr;
}

bool IsJson(const HttpRequest& request) {
  const std::string* const type = request.headers.First("Content-Type");
  // Absent, and what curl says when it is told nothing, are taken as JSON; a body that says it is something else is not.
  if (type == nullptr) {
    return true;
  }
  const std::string name = type->substr(0, type->find(';'));
  const auto is = [&](std::string_view wanted) {
    const std::size_t begin = name.find_first_not_of(" \t");
    const std::size_t end = name.find_last_not_of(" \t");
    return begin != std::string::npos &&
           EqualsIgnoringCase(std::string_view(name).substr(begin, end - begin + 1), wanted);
  };
  return is("application/json") || is("text/json") || is("text/plain") ||
         is("application/x-www-form-urlencoded");
}

}  // namespace

std::vector<std::string> ServerEndpoints() {
  std::vector<std::string> endpoints;
  for (const Route& route : kRoutes) {
    const std::string_view rest = route.path.ends_with('/') ? "{id}" : "";
    endpoints.push_back(std::string(route.method) + " ");
    endpoints.back().append(route.path).append(rest);
  }
  return endpoints;
}

struct ServerService::State {
  State(const ServerOptions& server_options, ServedModel& served, AccessPolicy access)
      : options(server_options), model(served), policy(std::move(access)) {}

  ServerOptions options;
  ServedModel& model;
  AccessPolicy policy;
  boost::asio::thread_pool text{1};
};

ServerService::ServerService(const ServerOptions& options, ServedModel& model, AccessPolicy policy)
    : state_(std::make_unique<State>(options, model, std::move(policy))) {
}

ServerService::~ServerService() {
  state_->text.join();
}

std::optional<HttpRefusal> ServerService::Admit(const HttpRequest& head) {
  return state_->policy.Admit(head);
}

void ServerService::AddHeaders(const HttpRequest& head, HttpHeaders& headers) {
  state_->policy.AddHeaders(head, headers);
}

HttpErrorBody ServerService::ErrorBody(int status, std::string_view message) {
  return {
      "application/json",
      api::DumpJson(api::ErrorBody(api::ErrorOf(status, std::string(message)))) + "\n"
  };
}

void ServerService::Finished(const HttpRecord& record) noexcept {
  LogAccess(record);
  try {
    // Only paths that are there: names from outside would be counters without end.
    api::ApiError error;
    const Route* route = FindRoute(record.method, record.path, error);
    state_->model.metrics().Answered(
        route != nullptr ? route->path : "other", record.status, record.duration
    );
  } catch (...) {  // NOLINT(bugprone-empty-catch): a count that cannot be made stops nobody
  }
}

awaitable<void> ServerService::Handle(HttpExchange& exchange) {
  State& s = *state_;
  const RouteContext context{s.options, s.model, s.text};
  api::ApiError error;
  const HttpRequest& request = exchange.request();
  const Route* const route = FindRoute(request.method, request.path, error);
  if (route != nullptr) {
    if (route->method == "POST" && !IsJson(request)) {
      error = api::ErrorOf(415, "Content-Type: wanted application/json");
    } else {
      bool failed = false;
      try {
        awaitable<void> answering = route->handler(context, exchange);
        co_await std::move(answering);
      } catch (...) {
        error = api::ErrorOf(std::current_exception());
        failed = true;
      }
      if (!failed) {
        co_return;
      }
    }
  }
  awaitable<void> failing = RespondError(exchange, error);
  co_await std::move(failing);
}

awaitable<void> RespondJson(
    HttpExchange& exchange, int status, api::Json body, HttpHeaders headers
) {
  HttpResponse response;
  response.status = status;
  response.headers = std::move(headers);
  response.headers.Add("Content-Type", "application/json");
  response.body = api::DumpJson(body) + "\n";
  awaitable<bool> responding = exchange.Respond(std::move(response));
  co_await std::move(responding);
}

awaitable<void> RespondError(HttpExchange& exchange, api::ApiError error) {
  HttpHeaders headers;
  if (error.retry_after_seconds) {
    headers.Add("Retry-After", std::to_string(*error.retry_after_seconds));
  }
  if (!error.allow.empty()) {
    headers.Add("Allow", error.allow);
  }
  return RespondJson(
      exchange, error.status, api::ErrorBody(error, exchange.request().id), std::move(headers)
  );
}

}  // namespace hearth
