/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that sends text as it is, whole batches too, and keeps what comes
 * back as JSON.
 */
#ifndef TESTS_RPC_ASKER_H
#define TESTS_RPC_ASKER_H

#include <jansson.h>

#include "transport/transport.h"

struct asker {
	struct transport *t;
	uint32_t assoc;
	struct inbox in;
	struct outbox out;
	unsigned up, down, replies;
	json_t *said;	/**< array of the messages that came */
	size_t longest; /**< of them, bytes                  */
};

/** Connect to @to; counts ->up when it is. 0, or -errno with @e. */
int asker_open(struct asker *a, struct event_base *base,
	       const struct transport_addr *to, struct cr_err *e);
void asker_close(struct asker *a);

/** Send @text, now or when there is room; fails the test when the transport
 * does not take it. */
void asker_say(struct asker *a, const char *text);

/** Message number @i that came; borrowed. */
const json_t *asker_heard(const struct asker *a, unsigned i);

/** The error code of the reply @r; 0: it is a result. */
int asker_code(const json_t *r);

/** The id of the reply @r, an integer. */
int asker_id(const json_t *r);

/** A batch of @n times @method with @params (JSON), ids from 0 on; free() it.
 */
char *asker_batch(unsigned n, const char *method, const char *params);

#endif
