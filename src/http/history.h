/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last minutes of a node, for who opens the live page: a sample every
 * HISTORY_STEP, HISTORY_SAMPLES of them.
 *
 * Thread rule: the event base's thread.
 */
#ifndef HTTP_HISTORY_H
#define HTTP_HISTORY_H

#include <jansson.h>

#include "protocol/service.h"

enum { HISTORY_SAMPLES = 150 };
#define HISTORY_STEP (2 * CR_SEC)

struct history;

/** Begin to take samples of @service, which outlives it. 0; -ENOMEM. */
int history_open(struct history **h, struct event_base *base,
		 struct service *service);
void history_close(struct history *h); /**< NULL is fine */

/** The samples, oldest first: objects with "at" (seconds since the start),
 * "calls", "lost" (frames since the start), "busy" (share of all workers since
 * the sample before, 0 to 1). NULL: no memory. */
json_t *history_json(const struct history *h);

#endif
