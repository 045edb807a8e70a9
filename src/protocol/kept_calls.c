/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and endpoints as texts that a new process reads.
 *
 *   { "past": {...},     struct call_past
 *     "session": "...",  id of its owner's; none: it is nobody's, or the text
 *                        is another node's
 *     "start": {...},    params of call.start, as changed since
 *     "change": [...],   of each stream of two that was changed itself: params
 *                        of stream.change, as it is now; null: it was not
 *   }
 *   { "end": {...},      struct call_past
 *     "session": "...", "opened": true,
 *     "party": {...} }   params of endpoint.open, as it is now
 *
 *   { "note": ... }      keep_note()
 */
#include "protocol/kept_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/call_check.h"
#include "node/node.h"
#include "node/node_call.h"
#include "node/node_endpoint.h"
#include "node/node_move.h"
#include "node/restore.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/methods.h"
#include "protocol/tables/call_fields.h"

/* Calls that begin to be heard together. */
enum { RESTORE_BATCH = 16 };

FIELD_TABLE_DECLARE(stream_past, struct stream_past);
FIELD_TABLE_DECLARE(call_past, struct call_past);
FIELD_TABLE_DECLARE(end_past, struct call_past);
FIELD_TABLE_DECLARE(passed_type, struct passed_type);
FIELD_TABLE_DECLARE(event_type, struct telephone_event_type);
FIELD_TABLE_DECLARE(kept_party, struct endpoint_spec);

const struct field stream_past_fields[] = {
	{ ROW_ADDRESS(stream_past, "at", at) },
	{ ROW_INT(stream_past, "ssrc_in", ssrc_in), .max = UINT32_MAX },
	{ ROW_INT(stream_past, "ssrc_out", ssrc_out), .max = UINT32_MAX },
	{ ROW_INT(stream_past, "terms", terms), .max = UINT32_MAX },
	{ ROW_INT(stream_past, "mean", mean), .max = CALL_COST_MAX },
	{ ROW_INT(stream_past, "p99", p99), .max = CALL_COST_MAX },
	{ ROW_INT(stream_past, "endpoint", endpoint), .max = UINT32_MAX },
	{ 0 },
};

const struct field call_past_fields[] = {
	{ ROW_INT(call_past, "call", id), .min = 1, .max = UINT32_MAX,
	  .required = "" },
	{ ROW_INT(call_past, "started", started_utc), .max = INT64_MAX },
	{ ROW_INT(call_past, "node", node_utc), .max = INT64_MAX },
	{ ROW_INT(call_past, "from", from), .max = UINT32_MAX },
	/* the second one within CRASH_MEMORY ends it */
	{ ROW_INT(call_past, "crashes", crashes), .max = 1 },
	{ ROW_INT(call_past, "crashed", crashed_utc), .max = INT64_MAX },
	{ ROW_OBJECT(call_past, "a", stream[0], stream_past) },
	{ ROW_OBJECT(call_past, "b", stream[1], stream_past) },
	{ 0 },
};

const struct field end_past_fields[] = {
	{ ROW_OBJECT(end_past, "in", stream[0], stream_past) },
	{ 0 },
};

const struct field passed_type_fields[] = {
	{ ROW_INT(passed_type, "pt", pt), .max = 127 },
	{ ROW_INT(passed_type, "as", as), .max = 255 },
	{ ROW_INT(passed_type, "clock", clock), .max = UINT32_MAX },
	{ 0 },
};

const struct field event_type_fields[] = {
	{ ROW_INT(event_type, "pt", pt), .max = 127 },
	{ ROW_INT(event_type, "clock", clock), .max = UINT32_MAX },
	{ 0 },
};

/* With what only NG says. */
const struct field kept_party_fields[] = {
	{ ROW_SHARED(kept_party, party_endpoint) },
	{ ROW_LIST(kept_party, "passed", passed.one, passed.n, passed_type),
	  .max = PASSED_TYPES_MAX },
	{ ROW_LIST(kept_party, "more_events", types.more.one, types.more.n,
		   event_type),
	  .max = TELEPHONE_EVENT_TYPES },
	{ 0 },
};

/* --- while calls run --- */

static json_t *owner_json(const void *owner)
{
	const struct session *s = owner;

	return s ? json_string(s->id) : NULL;
}

/* Member @name of @o is @value, whose reference is taken; NULL: it has none. */
static void set_member(json_t *o, const char *name, json_t *value)
{
	if (value)
		(void)json_object_set_new(o, name, value);
	else
		(void)json_object_del(o, name);
}

/* @o, whose reference is taken, is the text of @c or of @ep from now on. */
static void put_text(struct node_call *c, struct node_endpoint *ep, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);
	size_t bytes = text ? strlen(text) : 0;
	int err = !text ? -ENOMEM
		  : c	? node_call_keep(c, text, bytes)
			: node_endpoint_keep(ep, text, bytes);

	if (err)
		log_event(LOG_WARN, "call-not-kept",
			  LOG_INT(c ? "call" : "endpoint",
				  c ? node_call_id(c) : ep->id),
			  LOG_STR("why", strerror(-err)));
	free(text);
	json_decref(o);
}

/* @past and @spec are the text of @c from now on, with what else @o has, whose
 * reference is taken. */
static void write_text(struct node_call *c, const struct call_past *past,
		       const struct call_spec *spec, json_t *o)
{
	json_t *start = field_write_request(spec->port == CALL_PORT_EACH
						    ? call_two_fields
						    : call_one_fields,
					    spec);
	json_t *each = field_write_request(call_each_fields, spec);

	(void)json_object_update(start, each);
	json_decref(each);
	set_member(o, "start", start);
	set_member(o, "past", field_write_request(call_past_fields, past));
	set_member(o, "session", owner_json(node_call_owner(c)));
	put_text(c, NULL, o);
}

/* Read @o, the text of a call, into @past and @spec, whose texts are those of
 * @o. 0, or -EINVAL with @e. */
static int read_call(const json_t *o, struct call_past *past,
		     struct call_spec *spec, struct cr_err *e)
{
	int err = field_read(call_past_fields, json_object_get(o, "past"), past,
			     e);

	if (!err)
		err = field_complete(call_past_fields, past, e);
	return err ? err : call_params(spec, json_object_get(o, "start"), e);
}

/* The text of @c; NULL: it has none. */
static json_t *text_of(const struct node_call *c)
{
	char text[STATE_TEXT_MAX + 1];

	return node_call_kept(c, text) ? json_loads(text, 0, NULL) : NULL;
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
 * port is. One that was opened by itself has a text of its own. */
static void renew_two(struct call_spec *spec, const struct node_call *c)
{
	for (unsigned i = 0; i < 2; i++) {
		struct node_endpoint *ep = node_call_endpoint(c, i);
		const char *at = spec->end[i].interface;

		if (spec->end[i].endpoint) {
			keep_endpoint(ep);
			continue;
		}
		spec->end[i] = *ep->spec;
		spec->end[i].interface = at;
	}
}

/* All that stream.change can say of @st, as it is now. */
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
	set_member(o, "stream", json_integer(is.id));
	return o;
}

/* As they are now: the streams that were changed themselves, and the one that
 * @ask has changed. */
static json_t *write_changes(const struct node_call *c, const json_t *was,
			     const struct call_spec *ask)
{
	json_t *changes = json_array();

	for (unsigned i = 0; i < 2; i++) {
		struct node_stream *st = node_call_stream(c, i);
		bool has = st && (node_stream_id(st) == ask->id ||
				  json_is_object(json_array_get(was, i)));

		(void)json_array_append_new(changes, has ? write_change(st)
							 : json_null());
	}
	return changes;
}

void keep_call(const struct node *n, struct node_call *c,
	       const struct call_spec *spec)
{
	static const struct call_spec none;
	struct call_past past = { 0 }, now;
	struct cr_err e;
	json_t *was, *o;

	if (!node_keeps(n))
		return;
	was = text_of(c);
	o = json_object();
	node_call_past(c, &now);
	if (was) {
		(void)field_read(call_past_fields, json_object_get(was, "past"),
				 &past, &e);
		set_member(o, "change",
			   write_changes(c, json_object_get(was, "change"),
					 &none));
		json_decref(was);
	}
	now.crashes = past.crashes;
	now.crashed_utc = past.crashed_utc;
	write_text(c, &now, spec, o);
}

/* @stream: @ask was about one stream of @c. */
static void keep_again(struct node_call *c, const struct call_spec *ask,
		       bool stream)
{
	static const struct call_spec none;
	struct call_past past = { 0 }, now;
	struct call_spec spec;
	json_t *o = text_of(c);
	struct cr_err e;

	if (!o || read_call(o, &past, &spec, &e)) {
		json_decref(o);
		return;
	}
	node_call_past(c, &now);
	now.crashes = past.crashes;
	now.crashed_utc = past.crashed_utc;
	if (node_call_streams(c) == 2) {
		renew_two(&spec, c);
		set_member(o, "change",
			   write_changes(c, json_object_get(o, "change"),
					 stream ? ask : &none));
	} else {
		renew_one(&spec, node_call_stream(c, 0), ask);
	}
	write_text(c, &now, &spec, json_incref(o));
	json_decref(o);
}

void keep_call_change(struct node_call *c, const struct call_spec *ask)
{
	keep_again(c, ask, false);
}

void keep_stream_change(struct node_stream *st, const struct call_spec *ask)
{
	keep_again(node_stream_call(st), ask, true);
}

void keep_endpoint(struct node_endpoint *ep)
{
	struct call_past past;
	json_t *o, *party;

	if (!ep->slot)
		return;
	node_endpoint_past(ep, &past);
	party = field_write_request(kept_party_fields, ep->spec);
	set_member(party, "interface", json_string(ep->interface->cfg.name));
	o = json_pack("{s:o, s:b, s:o}", "end",
		      field_write_request(end_past_fields, &past), "opened",
		      (int)(ep->opened && !ep->noted), "party", party);
	set_member(o, "session", owner_json(ep->owner));
	put_text(NULL, ep, o);
}

void keep_call_owner(struct node_call *c)
{
	json_t *o = text_of(c);

	if (!o)
		return;
	set_member(o, "session", owner_json(node_call_owner(c)));
	put_text(c, NULL, o);
}

/* slot_is_note() knows it by its begin. */
int keep_note(struct node *n, struct state_slot **slot, json_t *note)
{
	json_t *o = json_pack("{s:o}", "note", note);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	int err = text ? node_note_keep(n, slot, text, strlen(text)) : -ENOMEM;

	free(text);
	json_decref(o);
	return err;
}

char *kept_text_public(const char *kept)
{
	json_t *o = json_loads(kept, 0, NULL);
	char *text;

	(void)json_object_del(o, "session");
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

/* --- in a new process --- */

/* In the order in which they are restored: calls may have endpoints that were
 * opened before, and notes are about both. */
enum text_kind { TEXT_ENDPOINT, TEXT_CALL, TEXT_NOTE, TEXT_KINDS };

static enum text_kind text_kind_of(const json_t *o)
{
	return json_object_get(o, "end")    ? TEXT_ENDPOINT
	       : json_object_get(o, "note") ? TEXT_NOTE
					    : TEXT_CALL;
}

/* What is read of a slot. Texts of it are borrowed from @o. */
struct kept_text {
	json_t *o;
	struct state_slot *slot;
	/* of a call that moves here */
	struct session *owner;
	struct node_cost_wait *lacks;
};

struct restoring {
	struct service *sv;
	struct node *node;
	struct kept_text *text;
	unsigned n, room;
	unsigned restored, dropped;
};

static bool read_all(struct restoring *r)
{
	char text[STATE_TEXT_MAX + 1];
	struct state_slot *slot;
	unsigned at = 0;

	while (node_restore_next(r->node, &at, &slot, text)) {
		if (r->n == r->room) {
			unsigned room = r->room ? 2 * r->room : 64;
			struct kept_text *more =
				realloc(r->text, room * sizeof(*more));

			if (!more)
				return false;
			r->text = more;
			r->room = room;
		}
		r->text[r->n++] = (struct kept_text){
			.o = json_loads(text, 0, NULL),
			.slot = slot,
		};
	}
	return true;
}

static struct session *owner_of(struct service *sv, const json_t *o)
{
	const char *id = json_string_value(json_object_get(o, "session"));

	return id ? session_restore(sv, id) : NULL;
}

/* A change that cannot be made again leaves the stream as it began. */
static void change_again(struct node_stream *st, const json_t *change)
{
	struct cr_err e = { "" };
	struct call_spec ask;
	struct stream_cfg to;
	int err;

	if (!json_is_object(change))
		return;
	err = call_change_params(&ask, stream_change_fields, change, &e);
	to = node_stream_cfg(st);
	if (!err)
		err = call_check_change(&to, &ask, &e);
	if (!err)
		err = node_stream_change(st, &to, ask.end[1].side.mode != NULL,
					 &e);
	if (err)
		log_event(LOG_WARN, "change-not-restored",
			  LOG_INT("stream", node_stream_id(st)),
			  LOG_STR("why", e.text));
}

/* The call of @t, into *@out. 0; -EAGAIN with @t->lacks; or another -errno with
 * @e. */
static int restore_call(struct service *sv, const struct kept_text *t,
			struct call_past *past, struct node_call **out,
			struct cr_err *e)
{
	struct node *n = sv->node;
	struct node_call *c = NULL;
	struct node_cost_wait none;
	struct call_past now;
	struct call_spec spec;
	struct session *s;
	cr_ns crashed;
	int err = read_call(t->o, past, &spec, e);

	for (unsigned i = 0; i < 2; i++) {
		if (err || !spec.end[i].endpoint)
			continue;
		past->stream[i].endpoint = 0;	/* it is there already */
		if (past->how == RESTORE_MOVED) /* as is another one here */
			err = cr_fail(e, -ENOTSUP,
				      "its endpoints were opened by "
				      "themselves, and cannot move");
	}
	crashed = past->crashed_utc;
	if (!err)
		err = node_restore_as(n, past, e);
	if (!err)
		err = node_call_start(n, &spec, t->lacks ? t->lacks : &none, &c,
				      e);
	node_restored(n, past, !err);
	if (err)
		return err;
	for (unsigned i = 0; i < node_call_streams(c); i++)
		change_again(
			node_call_stream(c, i),
			json_array_get(json_object_get(t->o, "change"), i));
	s = past->how == RESTORE_HELD ? owner_of(sv, t->o) : t->owner;
	node_call_set_owner(c, s);
	if (s)
		s->calls++;
	*out = c;
	if (past->how == RESTORE_HELD && past->crashes > 1) {
		node_call_stop(c, NODE_END_CRASHED, NULL);
		return 0;
	}
	/* else its text says all of it already */
	if (past->how != RESTORE_HELD || past->crashed_utc != crashed) {
		node_call_past(c, &now);
		now.crashes = past->crashes;
		now.crashed_utc = past->crashed_utc;
		write_text(c, &now, &spec, json_incref(t->o));
	}
	node_call_hear(c);
	return 0;
}

/* The endpoint of @t, into *@out. 0, or -errno with @e. */
static int restore_endpoint(struct service *sv, const struct kept_text *t,
			    struct call_past *past, struct node_endpoint **out,
			    struct cr_err *e)
{
	struct endpoint_spec spec = ENDPOINT_SPEC_UNSAID;
	struct node_endpoint *ep;
	int err = field_read(end_past_fields, json_object_get(t->o, "end"),
			     past, e);

	if (!err)
		err = field_read(kept_party_fields,
				 json_object_get(t->o, "party"), &spec, e);
	if (!err)
		err = node_restore_as(sv->node, past, e);
	if (!err) {
		err = node_endpoint_open(sv->node, &spec, &endpoint_own_names,
					 &ep, e);
	}
	node_restored(sv->node, past, !err);
	if (err)
		return err;
	ep->opened = json_is_true(json_object_get(t->o, "opened"));
	ep->owner = past->how == RESTORE_HELD ? owner_of(sv, t->o) : NULL;
	if (past->how != RESTORE_HELD) /* else its text says it already */
		keep_endpoint(ep);
	*out = ep;
	return 0;
}

/* A text of another machine, and what came of it. */
struct foreign {
	struct kept_text text; /* o NULL: it is none */
	uint32_t call, endpoint;
	bool noted;
};

/* The user goes on with what @o notes, in @slot. 0, or -errno with @e: the slot
 * is free, or, if that @must go on, the other process's as before. */
static int restore_note(struct service *sv, const json_t *o,
			struct state_slot *slot, bool must, struct cr_err *e)
{
	int err = sv->cfg.noted ? sv->cfg.noted(sv->cfg.arg,
						json_object_get(o, "note"),
						slot, must, e)
				: cr_fail(e, -ENOTSUP, "nobody has notes");

	if (err && must)
		node_note_leave(sv->node, slot);
	else if (err)
		node_note_forget(sv->node, slot);
	return err;
}

/* Go on with @t, of @call, as @how says. 0, or -errno with @e. */
static int take_foreign(struct service *sv, struct foreign *t,
			const struct replica_call *call, cr_ns shift,
			enum restore_how how, struct cr_err *e)
{
	struct call_past past = {
		.how = how,
		.slot = node_foreign_slot(sv->node, call->records, shift),
	};
	struct node_endpoint *ep;
	struct node_call *c;
	int err;

	t->text.slot = past.slot;
	if (!past.slot)
		return cr_fail(e, -ENOTSUP,
			       "this node has no room for the state of a call: "
			       "it needs --replicate, --supervise or a service "
			       "manager that holds descriptors");
	switch (text_kind_of(t->text.o)) {
	case TEXT_ENDPOINT:
		err = restore_endpoint(sv, &t->text, &past, &ep, e);
		t->endpoint = err ? 0 : ep->id;
		break;
	case TEXT_NOTE:
		err = keep_note(
			sv->node, &past.slot,
			json_incref(json_object_get(t->text.o, "note")));
		if (err)
			node_note_forget(sv->node, past.slot);
		else
			err = restore_note(sv, t->text.o, past.slot, false, e);
		t->noted = !err;
		return err;
	default:
		err = restore_call(sv, &t->text, &past, &c, e);
		t->call = err ? 0 : node_call_id(c);
	}
	if (err && err != -EAGAIN)
		log_event(LOG_WARN, "call-not-taken", LOG_INT("call", past.id),
			  LOG_INT("endpoint", past.stream[0].endpoint),
			  LOG_STR("why", e->text));
	return err;
}

static json_t *parse_text(const struct replica_call *call)
{
	return call->text ? json_loads(call->text, 0, NULL) : NULL;
}

int take_call(struct service *sv, const struct service_request *a,
	      struct node_cost_wait *lacks, struct node_call **out,
	      struct cr_err *e)
{
	const struct replica_call call = { .text = a->state.state,
					   .records = a->state.records };
	struct foreign t = { .text = { .o = parse_text(&call),
				       .owner = a->session,
				       .lacks = lacks } };
	struct call_past past = { .id = 0 };
	int err;

	err = text_kind_of(t.text.o) != TEXT_CALL
		      ? cr_fail(e, -EINVAL, "it is the state of no call")
		      : field_read(call_past_fields,
				   json_object_get(t.text.o, "past"), &past, e);
	*out = !err && past.id ? node_call_moved_here(sv->node, &past) : NULL;
	if (*out && node_call_owner(*out)) {
		node_call_stop(*out, NODE_END_LOST, NULL);
		*out = NULL;
	}
	if (!err && !*out) {
		err = take_foreign(sv, &t, &call, a->came, RESTORE_MOVED, e);
		*out = node_call_find(sv->node, t.call);
	}
	json_decref(t.text.o);
	return err;
}

unsigned take_calls(struct service *sv, struct replica *got, unsigned *dropped)
{
	struct foreign *t = calloc(got->n + 1, sizeof(*t));
	unsigned taken = 0;

	*dropped = t ? 0 : got->n;
	node_gather(sv->node);
	for (unsigned i = 0; t && i < got->n; i++)
		t[i].text.o = parse_text(&got->call[i]);
	for (enum text_kind kind = 0; t && kind < TEXT_KINDS; kind++)
		for (unsigned i = 0; i < got->n; i++) {
			struct cr_err e = { "" };

			if (text_kind_of(t[i].text.o) == kind)
				(void)take_foreign(sv, &t[i], &got->call[i],
						   got->shift, RESTORE_TAKEOVER,
						   &e);
		}
	node_close_unclaimed(sv->node);
	/* a dialog that cannot go on has ended all of its calls */
	for (unsigned i = 0; t && i < got->n; i++) {
		bool is = node_call_find(sv->node, t[i].call) != NULL;

		got->call[i].restored =
			is || t[i].noted ||
			node_endpoint_find(sv->node, t[i].endpoint);
		taken += is;
		*dropped += !is && text_kind_of(t[i].text.o) == TEXT_CALL;
		json_decref(t[i].text.o);
	}
	node_notify(sv->node);
	free(t);
	return taken;
}

/* A call or an endpoint. 0, or -errno with @e. */
static int restore_text(struct restoring *r, const struct kept_text *t,
			struct cr_err *e)
{
	const bool call = text_kind_of(t->o) == TEXT_CALL;
	struct call_past past = { .slot = t->slot };
	struct node_endpoint *ep;
	struct node_call *c;
	int err;

	if (!t->o) {
		err = cr_fail(e, -EINVAL, "its state is damaged");
		node_restored(r->node, &past, false);
	} else {
		err = call ? restore_call(r->sv, t, &past, &c, e)
			   : restore_endpoint(r->sv, t, &past, &ep, e);
	}
	r->restored += call && !err;
	r->dropped += call && err;
	if (err)
		log_event(
			LOG_WARN,
			call ? "call-not-restored" : "endpoint-not-restored",
			LOG_INT("id", call ? past.id : past.stream[0].endpoint),
			LOG_STR("why", e->text));
	return err;
}

int restore_slot(struct service *sv, unsigned i, uint64_t version,
		 struct cr_err *e)
{
	struct restoring r = { .sv = sv, .node = sv->node };
	char text[STATE_TEXT_MAX + 1];
	struct kept_text t = { .o = NULL };
	uint64_t is;
	int err;

	if (!node_restore_look(sv->node, i, &is, text) ||
	    node_slot_version(sv->node, i) != version)
		return 0;
	t.slot = node_restore_at(sv->node, i);
	t.o = is ? json_loads(text, 0, NULL) : NULL;
	err = text_kind_of(t.o) == TEXT_NOTE
		      ? restore_note(sv, t.o, t.slot, true, e)
		      : restore_text(&r, &t, e);
	json_decref(t.o);
	return node_slot_version(sv->node, i) == version ? err : 0;
}

void drop_slot(struct service *sv, unsigned i)
{
	struct state_slot *note =
		sv->cfg.unnoted ? sv->cfg.unnoted(sv->cfg.arg,
						  node_slot_at(sv->node, i))
				: NULL;
	struct session *owner = note ? NULL : node_move_drop(sv->node, i);

	if (note)
		node_note_leave(sv->node, note);
	if (owner)
		owner->calls--;
}

bool slot_is_note(const struct service *sv, unsigned i)
{
	static const char begin[] = "{\"note\"";
	char text[STATE_TEXT_MAX + 1];
	uint64_t version;

	return node_restore_look(sv->node, i, &version, text) && version &&
	       strncmp(text, begin, strlen(begin)) == 0;
}

int restore_calls(struct service *sv, struct cr_err *e)
{
	struct restoring r = { .sv = sv, .node = sv->node };
	bool all = read_all(&r);

	node_gather(sv->node);
	for (enum text_kind kind = 0; kind < TEXT_KINDS; kind++)
		for (unsigned i = 0; i < r.n; i++) {
			const struct kept_text *t = &r.text[i];
			struct cr_err why = { "" };

			if (text_kind_of(t->o) != kind)
				continue;
			if (kind == TEXT_NOTE)
				(void)restore_note(sv, t->o, t->slot, false,
						   &why);
			else
				(void)restore_text(&r, t, &why);
			/* the first ones do not wait for the last */
			if (i % RESTORE_BATCH == RESTORE_BATCH - 1) {
				node_notify(sv->node);
				node_gather(sv->node);
			}
		}
	node_notify(sv->node);
	while (r.n)
		json_decref(r.text[--r.n].o);
	free(r.text);
	if (r.restored || r.dropped || !all)
		log_event(all ? LOG_INFO : LOG_ERROR, "calls-restored",
			  LOG_INT("calls", r.restored),
			  LOG_INT("dropped", r.dropped));
	return node_restored_all(sv->node, e);
}
