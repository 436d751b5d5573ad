// Durable tasks and workflows: steps run at least once; outcomes are recorded exactly once; a duplicate is answered,
// never executed again. docs/guide-tasks.md and docs/guide-workflows.md walk through it, examples/ are whole programs.
#pragma once

#include "semel/context.h"
#include "semel/engine.h"
#include "semel/error.h"
#include "semel/exceptions.h"
#include "semel/execution.h"
#include "semel/handle.h"
#include "semel/id.h"
#include "semel/json.h"
#include "semel/log.h"
#include "semel/options.h"
#include "semel/payload.h"
#include "semel/result.h"
#include "semel/saga.h"
#include "semel/status.h"
#include "semel/task.h"
#include "semel/time.h"
#include "semel/worker.h"
#include "semel/workflow.h"
#include "semel/workflow_handle.h"
