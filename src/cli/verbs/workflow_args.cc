#include "cli/verbs/workflow_args.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/utf8.h"

namespace semel::cli {

Positional run_positional() { return {"ID", "a workflow_id (its newest run) or a run_id"}; }

Result<engine::RunView> run_of(Session& session, engine::Runtime& runtime, const Args& args) {
  return runtime.engine().run_get(session.tenant(), args.text("ID"));
}

Result<std::string> attributes_of(const Args& args) {
  const auto given = args.all("attr");
  if (given.empty()) return std::string();
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  for (const auto& text : given) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || !base::is_valid_utf8(text))
      return make_error(ErrorCode::InvalidArgument,
                        "attr must be KEY=VALUE, such as tier=gold, not " + base::printable(text));
    const std::string value = text.substr(equals + 1);
    json.key(text.substr(0, equals));
    if (base::validate_json(value)) json.raw(value);
    else json.value(value);
  }
  json.end_object();
  return out;
}

}  // namespace semel::cli
