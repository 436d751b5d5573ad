// Every suite, for a program that names its backends:
//   SEMEL_CONFORMANCE(backends());
#pragma once

#include "store/conformance/chains_suite.h"
#include "store/conformance/claims_suite.h"
#include "store/conformance/deliveries_suite.h"
#include "store/conformance/duplicates_suite.h"
#include "store/conformance/ends_suite.h"
#include "store/conformance/histories_suite.h"
#include "store/conformance/keys_suite.h"
#include "store/conformance/limits_suite.h"
#include "store/conformance/runs_suite.h"

#define SEMEL_SUITE(suite, backends) INSTANTIATE_TEST_SUITE_P(Store, suite, ::testing::ValuesIn(backends), backend_name)
#define SEMEL_CONFORMANCE(backends)  \
  SEMEL_SUITE(Chains, backends);     \
  SEMEL_SUITE(Claims, backends);     \
  SEMEL_SUITE(Deliveries, backends); \
  SEMEL_SUITE(Duplicates, backends); \
  SEMEL_SUITE(Ends, backends);       \
  SEMEL_SUITE(Groups, backends);     \
  SEMEL_SUITE(Histories, backends);  \
  SEMEL_SUITE(Keys, backends);       \
  SEMEL_SUITE(Ledger, backends);     \
  SEMEL_SUITE(Limits, backends);     \
  SEMEL_SUITE(Runs, backends)
