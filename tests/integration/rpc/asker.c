/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that sends text as it is. Checks nothing but that it can be sent.
 */
#include "asker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "echo.h"

static void on_event(void *arg, const struct transport_event *ev)
{
	struct asker *a = arg;
	const char *text;
	size_t bytes;

	if (ev->kind == TRANSPORT_UP) {
		a->assoc = ev->assoc;
		a->up++;
	}
	if (ev->kind == TRANSPORT_ROOM)
		(void)outbox_flush(&a->out, a->t, a->assoc);
	if (ev->kind == TRANSPORT_SHUTDOWN || ev->kind == TRANSPORT_LOST)
		a->down++;
	if (ev->kind != TRANSPORT_DATA ||
	    inbox_add(&a->in, ev, SIZE_MAX, &text, &bytes) <= 0)
		return;
	(void)json_array_append_new(a->said, json_loadb(text, bytes, 0, NULL));
	if (bytes > a->longest)
		a->longest = bytes;
	a->replies++;
}

int asker_open(struct asker *a, struct event_base *base,
	       const struct transport_addr *to, struct cr_err *e)
{
	const struct transport_config cfg = {
		.base = base, .kind = echo_kind, .arg = a, .event = on_event
	};
	int err;

	*a = (struct asker){ .said = json_array() };
	outbox_init(&a->out);
	err = transport_open(&a->t, &cfg, e);
	return err ? err : transport_connect(a->t, to, e);
}

void asker_close(struct asker *a)
{
	transport_close(a->t);
	inbox_free(&a->in);
	outbox_free(&a->out);
	json_decref(a->said);
	*a = (struct asker){ 0 };
}

void asker_say(struct asker *a, const char *text)
{
	assert_int_equal(
		outbox_send(&a->out, a->t, a->assoc, text, strlen(text)), 0);
}

const json_t *asker_heard(const struct asker *a, unsigned i)
{
	return json_array_get(a->said, i);
}

int asker_code(const json_t *r)
{
	return (int)json_integer_value(
		json_object_get(json_object_get(r, "error"), "code"));
}

int asker_id(const json_t *r)
{
	return (int)json_integer_value(json_object_get(r, "id"));
}

char *asker_batch(unsigned n, const char *method, const char *params)
{
	json_t *all = json_array();
	char *text;

	for (unsigned i = 0; i < n; i++)
		(void)json_array_append_new(
			all,
			json_pack("{s:s, s:s, s:o, s:i}", "jsonrpc", "2.0",
				  "method", method, "params",
				  json_loads(params, 0, NULL), "id", (int)i));
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}
