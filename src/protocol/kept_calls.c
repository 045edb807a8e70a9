/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as texts that a new process reads.
 *
 *   { "call": 7, "started": ..., "a": {...}, "b": {...},   struct call_past
 *     "start": {...} }   params of call.start, as changed since
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
	{ ROW_ADDRESS(stream_past, "at", at) },
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

/* @past and @spec are the text of @c from now on. */
static void write_text(struct node_call *c, const struct call_past *past,
		       const struct call_spec *spec)
{
	json_t *o = field_write_request(call_past_fields, past);
	json_t *start = field_write_request(spec->port == CALL_PORT_EACH
						    ? call_two_fields
						    : call_one_fields,
					    spec);
	json_t *each = field_write_request(call_each_fields, spec);
	char *text;
	int err;

	(void)json_object_update(start, each);
	json_decref(each);
	(void)json_object_set_new(o, "start", start);
	text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	err = text ? node_call_keep(c, text, strlen(text)) : -ENOMEM;
	if (err)
		log_event(LOG_WARN, "call-not-kept", LOG_INT("call", past->id),
			  LOG_STR("why", strerror(-err)));
	free(text);
	json_decref(o);
}

/* Read @text, into @past and @spec, whose texts are those of the object that it
 * returns; NULL with @e. */
static json_t *read_text(const char *text, struct call_past *past,
			 struct call_spec *spec, struct cr_err *e)
{
	json_t *o = json_loads(text, 0, NULL);
	json_t *start = json_incref(json_object_get(o, "start"));
	int err;

	(void)json_object_del(o, "start");
	err = field_read(call_past_fields, o, past, e);
	if (!err)
		err = field_complete(call_past_fields, past, e);
	if (!err)
		err = call_params(spec, start, e);
	json_decref(o);
	if (!err)
		return start;
	json_decref(start);
	return NULL;
}

void keep_call(const struct node *n, struct node_call *c,
	       const struct call_spec *spec)
{
	struct call_past past;

	if (!node_keeps(n) || spec->end[0].endpoint || spec->end[1].endpoint)
		return;
	node_call_past(c, &past);
	write_text(c, &past, spec);
}

/* Let @spec be what the stream of a call of one is now, which @ask has changed.
 */
static void renew_one(struct call_spec *spec, struct node_stream *st,
		      const struct call_spec *ask)
{
	const struct stream_cfg is = node_stream_cfg(st);
	const struct codec_use *out = &is.media.out;

	spec->terms = is.terms;
	spec->ptime = is.release.period;
	spec->end[1].side.mode = out->codec->modes[out->cfg.mode].name;
	if (ask->end[1].ptime >= 0)
		spec->end[1].ptime = ask->end[1].ptime;
}

/* The same of the ends of a call of two: the interface of each is where its
 * port is. */
static void renew_two(struct call_spec *spec, const struct node_call *c)
{
	for (unsigned i = 0; i < 2; i++) {
		const char *at = spec->end[i].interface;

		spec->end[i] = *node_call_spec(c, i);
		spec->end[i].interface = at;
	}
}

void keep_call_change(struct node_call *c, const struct call_spec *ask)
{
	struct call_past past = { 0 }, now;
	char text[STATE_TEXT_MAX + 1];
	struct call_spec spec;
	struct cr_err e;
	json_t *start;

	start = node_call_kept(c, text) ? read_text(text, &past, &spec, &e)
					: NULL;
	if (!start)
		return;
	node_call_past(c, &now);
	now.crashes = past.crashes;
	now.crashed_utc = past.crashed_utc;
	if (node_call_streams(c) == 2)
		renew_two(&spec, c);
	else
		renew_one(&spec, node_call_stream(c, 0), ask);
	write_text(c, &now, &spec);
	json_decref(start);
}

/* --- in a new process --- */

/* The call of @text, into *@out. 0, or -errno with @e. */
static int restore_text(struct node *n, const char *text,
			struct call_past *past, struct node_call **out,
			struct cr_err *e)
{
	struct node_call *c = NULL;
	struct node_cost_wait lacks;
	struct call_past now;
	struct call_spec spec;
	json_t *start = read_text(text, past, &spec, e);
	int err = -EINVAL;

	if (start)
		err = node_restore_as(n, past, e);
	if (!err)
		err = node_call_start(n, &spec, &lacks, &c, e);
	node_restored(n, past, err ? NULL : c);
	if (!err) {
		node_call_past(c, &now);
		now.crashes = past->crashes;
		now.crashed_utc = past->crashed_utc;
		if (past->crashes < 2) /* else it ends */
			write_text(c, &now, &spec);
		*out = c;
	}
	json_decref(start);
	return err;
}

int take_call(struct node *n, const struct replica_call *call, cr_ns shift,
	      enum restore_how how, struct node_call **out, struct cr_err *e)
{
	struct call_past past = {
		.how = how,
		.slot = node_foreign_slot(n, call->records, shift),
	};
	int err;

	if (!past.slot)
		return cr_fail(e, -ENOTSUP,
			       "this node has no room for the state of a call: "
			       "it needs --replicate, --supervise or a service "
			       "manager that holds descriptors");
	err = restore_text(n, call->text ? call->text : "", &past, out, e);
	if (err)
		log_event(LOG_WARN, "call-not-taken", LOG_INT("call", past.id),
			  LOG_STR("why", e->text));
	return err;
}

unsigned take_calls(struct node *n, const struct replica *got,
		    unsigned *dropped)
{
	unsigned taken = 0;

	node_gather(n);
	for (unsigned i = 0; i < got->n; i++) {
		struct node_call *c;
		struct cr_err e = { "" };

		taken += !take_call(n, &got->call[i], got->shift, RESTORE_TAKEN,
				    &c, &e);
	}
	node_notify(n);
	*dropped = got->n - taken;
	return taken;
}

void restore_calls(struct node *n)
{
	unsigned at = 0, restored = 0, dropped = 0;
	char text[STATE_TEXT_MAX + 1];
	struct state_slot *slot;

	while (node_restore_next(n, &at, &slot, text)) {
		struct call_past past = { .slot = slot };
		struct node_call *c;
		struct cr_err e = { "" };

		if (restore_text(n, text, &past, &c, &e)) {
			log_event(LOG_WARN, "call-not-restored",
				  LOG_INT("call", past.id),
				  LOG_STR("why", e.text));
			dropped++;
		} else {
			restored++;
		}
	}
	if (restored || dropped)
		log_event(LOG_INFO, "calls-restored",
			  LOG_INT("calls", restored),
			  LOG_INT("dropped", dropped));
}
