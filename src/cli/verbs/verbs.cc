#include "cli/verbs/verbs.h"

namespace semel::cli {

std::vector<Verb> all_verbs() {
  std::vector<Verb> out;
  add_task_verbs(out);
  add_operator_verbs(out);
  add_holder_verbs(out);
  add_workflow_start_verbs(out);
  add_workflow_verbs(out);
  add_workflow_control_verbs(out);
  add_workflow_code_verbs(out);
  add_queue_verbs(out);
  add_explain_verbs(out);
  add_worker_verbs(out);
  add_maintenance_verbs(out);
  add_bench_verbs(out);
  add_demo_verbs(out);
  return out;
}

}  // namespace semel::cli
