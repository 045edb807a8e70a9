/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as texts that a new process reads.
 *
 *   { "call": 7, "started": ..., "a": {...}, "b": {...},   struct call_past
 *     "start": {...},    params of call.start; a and b as they are now
 *     "change": {...} }  of a call of one stream: params of call.change
 */
#include "protocol/kept_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/call_check.h"
#include "node/node_call.h"
#include "node/node.h"
#include "node/restore.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/methods.h"
#include "protocol/tables/call_fields.h"

FIELD_TABLE_DECLARE(stream_past, struct stream_past);
FIELD_TABLE_DECLARE(call_past, struct call_past);

const struct field stream_past_fields[] = {
	{ ROW_INT(stream_past, "ssrc_in", ssrc_in), .max = UINT32_MAX },
	{ ROW_INT(stream_past, "ssrc_out", ssrc_out), .max = UINT32_MAX },
	{ ROW_INT(stream_past, "terms", terms), .max = UINT32_MAX },
	{ ROW_INT(stream_past, "mean", mean), .max = CALL_COST_MAX },
	{ ROW_INT(stream_past, "p99", p99), .max = CALL_COST_MAX },
	{ 0 },
};

const struct field call_past_fields[] = {
	{ ROW_INT(call_past, "call", id), .min = 1, .max = UINT32_MAX,
	  .required = "" },
	{ ROW_INT(call_past, "endpoint", endpoint), .max = UINT32_MAX },
	{ ROW_INT(call_past, "started", started_utc), .max = INT64_MAX },
	{ ROW_INT(call_past, "node", node_utc), .max = INT64_MAX },
	{ ROW_INT(call_past, "crashes", crashes), .max = 100 },
	{ ROW_INT(call_past, "crashed", crashed_utc), .max = INT64_MAX },
	{ ROW_OBJECT(call_past, "a", stream[0], stream_past) },
	{ ROW_OBJECT(call_past, "b", stream[1], stream_past) },
	{ 0 },
};

/* --- while calls run --- */

/* @past, with @start and @change (or NULL), whose references are taken, is the
 * text of @st from now on. */
static void write_text(struct node_stream *st, const struct call_past *past,
		       json_t *start, json_t *change)
{
	json_t *o = field_write(call_past_fields, past);
	char *text;
	int err;

	(void)json_object_set_new(o, "start", start);
	if (change)
		(void)json_object_set_new(o, "change", change);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	err = text ? node_call_keep(st, text, strlen(text)) : -ENOMEM;
	if (err)
		log_event(LOG_WARN, "call-not-kept", LOG_INT("call", past->id),
			  LOG_STR("why", strerror(-err)));
	free(text);
	json_decref(o);
}

void keep_call(const struct node *n, struct node_stream *st,
	       const struct call_spec *spec)
{
	struct call_past past;
	json_t *start, *each;

	if (!node_keeps(n) || spec->end[0].endpoint || spec->end[1].endpoint)
		return;
	start = field_write_request(spec->port == CALL_PORT_EACH
					    ? call_two_fields
					    : call_one_fields,
				    spec);
	each = field_write_request(call_each_fields, spec);
	(void)json_object_update(start, each);
	json_decref(each);
	node_call_past(st, &past);
	write_text(st, &past, start, NULL);
}

/* Member @name of @o, which has it no more; or NULL. */
static json_t *take_member(json_t *o, const char *name)
{
	json_t *v = json_incref(json_object_get(o, name));

	(void)json_object_del(o, name);
	return v;
}

/* The text of @st; NULL: it has none. */
static json_t *read_text(const struct node_stream *st)
{
	char text[STATE_TEXT_MAX + 1];

	return node_call_kept(st, text) ? json_loads(text, 0, NULL) : NULL;
}

/* What endpoint @i of @two is now, in place of what has started it: its
 * interface is where its port is, and its SSRCs are what was asked for. */
static void renew_end(json_t *start, const struct node_call *two, unsigned i)
{
	static const char *const names[] = { "a", "b" };
	json_t *was = json_object_get(start, names[i]);
	json_t *is = field_write_request(party_endpoint_fields,
					 node_call_spec(two, i));
	json_t *at = json_object_get(was, "interface");

	if (at)
		(void)json_object_set(is, "interface", at);
	(void)json_object_set_new(start, names[i], is);
}

/* All that call.change can say of a call of one stream, as it is now. */
static json_t *write_change(struct node_stream *st)
{
	struct node_stream_info is;
	struct call_spec all = CALL_CHANGE_UNSAID;
	json_t *o;

	node_stream_info(st, &is);
	all.terms = is.terms;
	all.ptime = is.ptime;
	all.end[1].ptime = is.out.ptime;
	all.end[1].side.mode = is.out.mode;
	o = field_write(call_change_one_fields, &all);
	(void)json_object_set_new(o, "call", json_integer(is.id));
	return o;
}

void keep_call_change(struct node_stream *st)
{
	const struct node_call *two = node_stream_call(st);
	json_t *was = read_text(st), *start, *asked;
	struct call_past past = { 0 }, now;
	struct cr_err e;

	if (!was)
		return;
	start = take_member(was, "start");
	asked = take_member(was, "change");
	(void)field_read(call_past_fields, was, &past, &e);
	json_decref(was);
	node_call_past(st, &now);
	now.crashes = past.crashes;
	now.crashed_utc = past.crashed_utc;
	if (two) {
		for (unsigned i = 0; i < 2; i++)
			renew_end(start, two, i);
	} else {
		json_decref(asked);
		asked = write_change(st);
	}
	write_text(st, &now, start, asked);
}

/* --- in a new process --- */

static int restore_one(struct node *n, const struct call_past *past,
		       const struct call_spec *spec, const json_t *change,
		       struct node_stream **st, struct cr_err *e)
{
	struct call_spec ask;
	struct stream_cfg cfg;
	int err = call_check(&cfg, spec, e);

	if (err)
		return err;
	cfg.ssrc_in = past->stream[0].ssrc_in;
	cfg.ssrc_out = past->stream[0].ssrc_out;
	if (change) {
		err = call_change_params(&ask, call_change_fields, change, e);
		if (!err)
			err = call_check_change(&cfg, &ask, e);
	}
	return err ? err : node_stream_start(n, &cfg, spec, st, e);
}

static int restore_two(struct node *n, const struct call_spec *spec,
		       struct node_stream **st, struct cr_err *e)
{
	struct node_cost_wait lacks;
	struct node_call *two;
	int err = node_call_start(n, spec, &lacks, &two, e);

	if (!err)
		*st = node_call_stream(two, 0);
	return err;
}

/* The call of @o, which is the text of @slot, into *@st. */
static int restore_text(struct node *n, json_t *o, struct call_past *past,
			struct node_stream **st, struct cr_err *e)
{
	json_t *start = take_member(o, "start");
	json_t *change = take_member(o, "change");
	struct call_spec spec;
	int err = field_read(call_past_fields, o, past, e);

	if (!err)
		err = field_complete(call_past_fields, past, e);
	if (!err)
		err = call_params(&spec, start, e);
	if (!err) {
		node_restore_as(n, past);
		err = spec.port == CALL_PORT_EACH
			      ? restore_two(n, &spec, st, e)
			      : restore_one(n, past, &spec, change, st, e);
	}
	node_restored(n, past, err ? NULL : *st);
	if (!err) /* its endpoints, and how often it has crashed */
		write_text(*st, past, json_incref(start), json_incref(change));
	json_decref(start);
	json_decref(change);
	return err;
}

void restore_calls(struct node *n)
{
	unsigned at = 0, restored = 0, dropped = 0;
	char text[STATE_TEXT_MAX + 1];
	struct state_slot *slot;

	while (node_restore_next(n, &at, &slot, text)) {
		struct call_past past = { .slot = slot };
		struct node_stream *st = NULL;
		struct cr_err e = { "" };
		json_t *o = json_loads(text, 0, NULL);

		if (restore_text(n, o, &past, &st, &e)) {
			log_event(LOG_WARN, "call-not-restored",
				  LOG_INT("call", past.id),
				  LOG_STR("why", e.text));
			dropped++;
		} else {
			restored++;
		}
		json_decref(o);
	}
	if (restored || dropped)
		log_event(LOG_INFO, "calls-restored",
			  LOG_INT("calls", restored),
			  LOG_INT("dropped", dropped));
}
