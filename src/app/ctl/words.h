/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands whose words have a form of their own: from the @n words behind the
 * command's name to a request. 0, or -EINVAL with @e. Pure.
 */
#ifndef APP_CTL_WORDS_H
#define APP_CTL_WORDS_H

#include "app/ctl/command.h"

/** KEY=VALUE words of a scheduler's options. */
int words_tune(struct ctl_request *r, const char *const *words, unsigned n,
	       struct cr_err *e);
/** NAME [overwrite] */
int words_trace_start(struct ctl_request *r, const char *const *words,
		      unsigned n, struct cr_err *e);
/** [INTERVAL [TIMES]] */
int words_watch(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e);
int words_top(struct ctl_request *r, const char *const *words, unsigned n,
	      struct cr_err *e);
/** [TIME] */
int words_drain(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e);
/** REQUEST, or METHOD [PARAMS], as JSON. */
int words_raw(struct ctl_request *r, const char *const *words, unsigned n,
	      struct cr_err *e);

#endif
