#include "server/model_info.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "kernels/kv_shape.h"
#include "server/fail.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

namespace json = boost::json;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string Known(std::int64_t number) { return number > 0 ? Grouped(number) : "unknown"; }

// The file's own words.
std::string Shown(const std::string& words) {
  return words.empty() ? "unknown" : QuoteWhereNeeded(words);
}

std::string Tokens(const std::vector<NamedToken>& tokens) {
  std::string list;
  for (const NamedToken& token : tokens) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", Quote(token.piece), " (", token.id, ")");
  }
  return list.empty() ? "none" : list;
}

// Lines of a name and what is to be said, one below the other.
class Table {
 public:
  void Row(const char* name, const std::string& content) {
    absl::StrAppendFormat(&text_, "%-16s%s\n", name, content);
  }
  std::string&& Take() { return std::move(text_); }

 private:
  std::string text_;
};

// What a token takes, in each format of the pages.
void AddPool(const model::Facts& facts, Table& table) {
  if (facts.kv_bytes_per_token == 0) return table.Row("KV pool", "unknown");
  const char* name = "KV pool";
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    const std::int64_t bytes = KvBytesPerToken(facts, format);
    if (bytes == 0) continue;
    table.Row(name, absl::StrFormat("%-8s %s bytes a token; 1 GiB holds %s tokens",
                                    std::string(kernels::LayoutOf(format).name), Grouped(bytes),
                                    Grouped(TokensIn(kGiB, facts, format))));
    name = "";
  }
}

void AddWeights(const ModelReport& report, Table& table) {
  const model::Facts& facts = report.facts;
  const char* name = "tensors";
  for (const TensorTypeCount& count : report.types) {
    table.Row(name,
              absl::StrFormat("%-8s %s in %s", std::string(count.type), RoundedBytes(count.bytes),
                              count.tensors == 1 ? std::string("1 tensor")
                                                 : Grouped(count.tensors) + " tensors"));
    name = "";
  }
  if (report.types.empty()) table.Row(name, "none");
  table.Row("memory", absl::StrCat("about ", RoundedBytes(facts.weight_bytes),
                                   " for the weights, and what --kv-memory says for the KV pool"));
  AddPool(facts, table);
}

void AddText(const ModelReport& report, Table& table) {
  if (report.tokenizer) {
    const TokenizerFacts& tokenizer = *report.tokenizer;
    table.Row("tokenizer",
              absl::StrCat(Shown(tokenizer.kind), ", ", Grouped(tokenizer.tokens), " tokens"));
    table.Row("added tokens", Tokens(tokenizer.added));
    table.Row("end tokens", Tokens(tokenizer.ends));
  }
  if (report.chat_template) {
    const TemplateFacts& chat = *report.chat_template;
    std::string line = Shown(chat.source);
    if (chat.bytes > 0) {
      absl::StrAppend(&line, ", ", Grouped(static_cast<std::int64_t>(chat.bytes)), " bytes, ",
                      chat.names_tools ? "names tools" : "names no tools");
    }
    table.Row("chat template", line);
    table.Row("reasoning", chat.reasoning ? absl::StrCat(Quote(chat.reasoning->begin), " ... ",
                                                         Quote(chat.reasoning->end))
                                          : "not marked");
  }
}

json::string Text(std::string_view text) {
  const std::string valid = ToValidUtf8(text);
  return json::string(valid.data(), valid.size());
}

json::array TokensAsJson(const std::vector<NamedToken>& tokens) {
  json::array list;
  for (const NamedToken& token : tokens) {
    list.push_back({{"id", token.id}, {"piece", Text(token.piece)}});
  }
  return list;
}

json::value PoolAsJson(const model::Facts& facts) {
  if (facts.kv_bytes_per_token == 0) return nullptr;
  json::object formats;
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    const std::int64_t bytes = KvBytesPerToken(facts, format);
    if (bytes == 0) continue;
    const std::string_view name = kernels::LayoutOf(format).name;
    formats[json::string_view(name.data(), name.size())] = {
        {"bytes_per_token", bytes}, {"tokens_per_gib", TokensIn(kGiB, facts, format)}};
  }
  return formats;
}

json::value TokenizerAsJson(const std::optional<TokenizerFacts>& tokenizer) {
  if (!tokenizer) return nullptr;
  return {{"kind", Text(tokenizer->kind)},
          {"tokens", tokenizer->tokens},
          {"added_tokens", TokensAsJson(tokenizer->added)},
          {"end_tokens", TokensAsJson(tokenizer->ends)}};
}

json::value TemplateAsJson(const std::optional<TemplateFacts>& chat) {
  if (!chat) return nullptr;
  json::value reasoning = nullptr;
  if (chat->reasoning) {
    reasoning = {{"begin", Text(chat->reasoning->begin)}, {"end", Text(chat->reasoning->end)}};
  }
  return {{"source", Text(chat->source)},
          {"bytes", chat->bytes},
          {"names_tools", chat->names_tools},
          {"reasoning", std::move(reasoning)}};
}

}  // namespace

std::string ReportAsText(const ModelReport& report) {
  const model::Facts& facts = report.facts;
  Table table;
  table.Row("model", Shown(facts.name));
  table.Row("file", absl::StrCat(Shown(report.path), ", ", RoundedBytes(report.file_bytes),
                                 report.parts > 1 ? absl::StrCat(" in ", report.parts, " parts")
                                                  : std::string()));
  table.Row("runs", report.problems.empty() ? "yes" : "no:");
  for (const std::string& problem : report.problems) table.Row("", "- " + problem);
  table.Row("architecture", Shown(facts.architecture));
  table.Row("parameters", Known(facts.parameters));
  table.Row("layers", Known(facts.layers));
  table.Row("heads", absl::StrCat(Known(facts.heads), " of size ", Known(facts.head_dim),
                                  "; keys and values have ", Known(facts.kv_heads)));
  table.Row("context", absl::StrCat(Known(facts.context_length), " tokens"));
  table.Row("vocabulary", absl::StrCat(Known(facts.vocabulary_size), " rows"));
  AddWeights(report, table);
  AddText(report, table);
  return table.Take();
}

std::string ReportAsJson(const ModelReport& report) {
  const model::Facts& facts = report.facts;
  json::array types;
  for (const TensorTypeCount& count : report.types) {
    types.push_back(
        {{"type", Text(count.type)}, {"tensors", count.tensors}, {"bytes", count.bytes}});
  }
  json::array problems;
  for (const std::string& problem : report.problems) problems.push_back(Text(problem));
  const json::object whole = {
      {"file", Text(report.path)},
      {"file_bytes", report.file_bytes},
      {"parts", report.parts},
      {"runs", report.problems.empty()},
      {"problems", std::move(problems)},
      {"name", Text(facts.name)},
      {"architecture", Text(facts.architecture)},
      {"parameters", facts.parameters},
      {"layers", facts.layers},
      {"heads", facts.heads},
      {"kv_heads", facts.kv_heads},
      {"head_dim", facts.head_dim},
      {"context_length", facts.context_length},
      {"vocabulary_size", facts.vocabulary_size},
      {"tensor_types", std::move(types)},
      {"weight_bytes", facts.weight_bytes},
      {"kv_bytes_per_token", facts.kv_bytes_per_token},
      {"kv_tokens_per_gib", TokensIn(kGiB, facts.kv_bytes_per_token)},
      {"kv_dtypes", PoolAsJson(facts)},
      {"tokenizer", TokenizerAsJson(report.tokenizer)},
      {"chat_template", TemplateAsJson(report.chat_template)},
  };
  return json::serialize(whole);
}

int ModelInfo(const ModelInfoOptions& options) {
  const absl::StatusOr<ModelReport> report = DescribeModel(options.file);
  const bool as_json = options.format == ReportFormat::kJson;
  if (!report.ok()) {
    const std::string reason = absl::StrCat(options.file, ": ", report.status().message());
    if (!as_json) return Fail(reason);
    Print(json::serialize(json::object{{"error", Text(reason)}}) + "\n");
    return 1;
  }
  return Print(as_json ? ReportAsJson(*report) + "\n" : ReportAsText(*report));
}

}  // namespace banyan::server
