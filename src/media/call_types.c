/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the payload types of a call's packets stand for.
 */
#include "media/call.h"

#include <errno.h>
#include <stdlib.h>

static void free_types(struct rcu_later *head)
{
	rcu_deferred();
	free(caa_container_of(head, struct call_types, rcu));
}

static int fill_types(struct payload_types *t, struct call *c,
		      const struct call_codecs *codecs, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < codecs->n && err >= 0; i++) {
		int number =
			pipeline_add_input(c->pipeline, &codecs->one[i], e);

		err = number < 0
			      ? number
			      : payload_types_add_speech(t, codecs->one[i].pt,
							 (unsigned)number, e);
	}
	return err;
}

/* What is on its way, or what a party goes on with that has not heard of the
 * change yet (RFC 3264, 8.3.2). */
static void add_former(struct payload_types *t, struct call *c)
{
	for (unsigned pt = 0; pt < 128; pt++) {
		int number = call_codec_of(c, (uint8_t)pt);

		if (number >= 0 && !payload_types_find(t, (uint8_t)pt))
			(void)payload_types_add_speech(t, pt, (unsigned)number,
						       NULL);
	}
}

int call_types_new(struct call_types **out, struct call *c,
		   const struct call_codecs *codecs, struct cr_err *e)
{
	struct call_types *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return cr_fail(e, -ENOMEM, "out of memory for payload types");
	t->inputs = pipeline_inputs(c->pipeline);
	err = fill_types(&t->table, c, codecs, e);
	if (err) {
		call_types_free(t, c);
		return err;
	}
	if (c->ring)
		add_former(&t->table, c);
	*out = t;
	return 0;
}

void call_types_free(struct call_types *t, struct call *c)
{
	if (t)
		pipeline_forget_inputs(c->pipeline, t->inputs);
	free(t);
}

void call_set_types(struct call *c, struct call_types *t, uint8_t first)
{
	unsigned number =
		payload_type_codec(payload_types_find(&t->table, first));
	/* release: a receiver that finds a type has its codec, too */
	struct call_types *old =
		atomic_exchange_explicit(&c->types, t, memory_order_acq_rel);

	atomic_store_explicit(&c->speech, first | number << 8,
			      memory_order_release);
	if (old)
		rcu_defer(&old->rcu, free_types);
}
