// The routes: which request is answered by what. HTTP below, JSON values beside, the engine behind.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "server/http/access_policy.h"
#include "server/http/http_service.h"
#include "server/served_model.h"
#include "server/server_options.h"

namespace hearth {

// Threads: those of the HTTP server. What takes long without waiting (templates, tokens of long texts) runs on a pool of
//          its own.
class ServerService final : public HttpService {
 public:
  ServerService(const ServerOptions& options, ServedModel& model, AccessPolicy policy);
  ~ServerService() override;

  std::optional<HttpRefusal> Admit(const HttpRequest& head) override;
  boost::asio::awaitable<void> Handle(HttpExchange& exchange) override;
  void AddHeaders(const HttpRequest& head, HttpHeaders& headers) override;
  HttpErrorBody ErrorBody(int status, std::string_view message) override;
  void Finished(const HttpRecord& record) noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
