/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-sim's command line. Main thread.
 */
#ifndef APP_SIM_OPTIONS_H
#define APP_SIM_OPTIONS_H

#include "campaign/campaign.h"

/** What does not depend on the campaign. All text is argv's. */
struct sim_options {
	const char *campaign;  /**< the file; NULL: @replay */
	const char *replay;    /**< a recorded run, or NULL */
	bool replay_overheads; /**< its own; false: the command line's */
	uint64_t seed;	       /**< of what is drawn for @replay */
	struct campaign_settings settings; /**< in place of what it says */
	const char *out;		   /**< run folder, or NULL */
	const char *trace;		   /**< file, or NULL */
	bool json, quiet;
	bool analyse;	  /**< do not play it */
	bool stand_in;	  /**< fifo goes on for who breaks the contract */
	unsigned threads; /**< to simulate in, >= 1 */
};

/** What is simulated: the campaign's settings, or the command line's. */
struct sim_settings {
	uint64_t seed;
	cr_ns duration;
	struct campaign_platform platform;
	const char *const *schedulers; /**< [nschedulers] "rr,quantum=5ms" */
	unsigned nschedulers;	       /**< >= 1 */
};

/** Parse; exits with 2 and a message when something is wrong, with 0 after
 * --help and --version. */
void sim_options_parse(struct sim_options *o, int argc, char **argv);

/** The settings of @c, which must outlive @s, with the options parsed in their
 * place. 0, or -EINVAL with @e. */
int sim_options_apply(const struct campaign *c, struct sim_settings *s,
		      struct cr_err *e);

#endif
