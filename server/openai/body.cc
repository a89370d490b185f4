#include "server/openai/body.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/openai/fields.h"
#include "server/openai/strict_json.h"

namespace banyan::server::openai {

http::Error ModelNotFound(std::string_view asked, std::string_view served) {
  return http::Error{
      .status = 404,
      .code = "model_not_found",
      .message = absl::StrCat("The model '", std::string(asked.substr(0, 256)),
                              "' is not here; this server has '", std::string(served), "'."),
      .param = "model"};
}

Result<boost::json::object> ParseBody(std::string_view body, std::string_view model_name,
                                      Route route) {
  Result<boost::json::object> object = ParseObject(body);
  if (!object.ok()) return object.error();
  Fields fields(*object, "");
  const std::optional<std::string_view> model = fields.Text("model");
  if (fields.error()) return *fields.error();
  if (model && *model != model_name) return ModelNotFound(*model, model_name);
  if (auto error = RefuseUnsupported(*object, route)) return *std::move(error);
  return object;
}

}  // namespace banyan::server::openai
