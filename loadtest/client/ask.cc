#include "loadtest/client/ask.h"

#include <boost/json/parse.hpp>
#include <utility>

namespace banyan::loadtest {
namespace {

class Collect final : public http::AnswerSink {
 public:
  explicit Collect(Reply& reply) : reply_(reply) {}

  void OnSent(Tick) override {}
  void OnHead(int status, std::string_view, Tick) override { reply_.status = status; }
  bool OnBody(std::string_view bytes, Tick) override {
    reply_.body += bytes.substr(0, kMaxReplyBytes - reply_.body.size());
    return reply_.body.size() < kMaxReplyBytes;
  }

 private:
  Reply& reply_;
};

}  // namespace

boost::asio::awaitable<Reply> Ask(http::Client& client, std::string_view target,
                                  std::string_view body) {
  Reply reply;
  Collect sink(reply);
  http::ClientRequest request;
  request.method = body.empty() ? "GET" : "POST";
  request.target = target;
  request.body = body;
  reply.result = co_await client.Exchange(request, sink);
  co_return reply;
}

boost::json::value ParseReply(std::string_view body) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse({body.data(), body.size()}, error);
  return error ? boost::json::value() : value;
}

}  // namespace banyan::loadtest
