/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload contracts as people write them, in call.start and in campaigns: what
 * a call will send (rate, burst and peak, the parameters of an LBAP or a TSpec)
 * and what a job of it costs. Both programs take them through here, so that a
 * contract means the same live and simulated.
 *
 * Pure functions: any thread.
 */
#ifndef ENGINE_CONTRACT_H
#define ENGINE_CONTRACT_H

#include "cr/sched.h"
#include "engine/release.h"

/** A contract; every member 0: not said. */
struct contract {
	int64_t rate_ppm; /**< jobs per second * 10^6; 0: one a period      */
	int64_t burst;	  /**< jobs beyond the rate                         */
	int64_t peak_ppm; /**< jobs per second * 10^6 at any time; 0: free  */
	cr_ns mean, p99, worst; /**< CPU time of a job; 0: as measured      */
};

/** The terms by which a task is to be served, as people write them: what can
 * change while it is there. What is declared to schedulers of them is struct
 * core_terms. */
struct task_terms {
	enum cr_class cls;
	cr_ns deadline; /**< from arrival on; CR_NEVER: it has none     */
	int nice;
	uint32_t weight; /**< 1024 is neutral                            */
	struct contract contract;
};

/** A member that contradicts something, and the way out. */
struct contract_flaw {
	const char *member; /**< of struct contract: "rate", ... */
	char text[160];
};

/** Does @t's contract agree with its other terms, with a job every @period,
 * and with the release model? 0, or -EINVAL with @f. */
int contract_check(const struct task_terms *t, cr_ns period,
		   enum release_kind release, struct contract_flaw *f);

/**
 * The declaration to schedulers of a call with contract @k, release model @r:
 * a contract's rate goes before the model's, and before one job a period.
 */
struct cr_contract contract_promise(const struct contract *k,
				    const struct release_cfg *r);

/** The declaration of its costs: those of @k, else @measured,
 * which is never more than what @k says above it. */
struct cr_cost contract_cost(const struct contract *k,
			     const struct cr_cost *measured);

/** A call that names a rate is an LBAP of that rate and burst, unless its
 * release model @r was asked for by name (@named). */
void contract_release(const struct contract *k, bool named,
		      struct release_cfg *r);

#endif
