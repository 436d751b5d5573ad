// Every verb of the command line, in the order the help shows them.
#pragma once

#include <vector>

#include "cli/args.h"

namespace semel::cli {

std::vector<Verb> all_verbs();

// The groups it is made of, one per file of this folder.
void add_task_verbs(std::vector<Verb>& out);            // enqueue, enqueue-batch, get, list
void add_operator_verbs(std::vector<Verb>& out);        // cancel, redrive, discard
void add_holder_verbs(std::vector<Verb>& out);          // claim, deliver, heartbeat, complete, fail, release
void add_workflow_start_verbs(std::vector<Verb>& out);  // start
void add_workflow_verbs(std::vector<Verb>& out);        // get, list, history
void add_workflow_control_verbs(std::vector<Verb>& out);
void add_workflow_code_verbs(std::vector<Verb>& out);  // signal, cancel, terminate
void add_queue_verbs(std::vector<Verb>& out);          // queue, key, tenant
void add_explain_verbs(std::vector<Verb>& out);        // explain
void add_maintenance_verbs(std::vector<Verb>& out);    // doctor, verify, backup, restore, purge, migrate, version
void add_worker_verbs(std::vector<Verb>& out);         // worker
void add_bench_verbs(std::vector<Verb>& out);          // bench
void add_demo_verbs(std::vector<Verb>& out);           // demo

}  // namespace semel::cli
