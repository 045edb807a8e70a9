/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialogs that outlive the process: from the answer on, what later commands
 * need of one is the note of its first call (protocol/kept_calls.h). One that
 * nobody has answered is not kept.
 *
 *   { "call-id": ..., "created": ns, "branch": ..., "host": of its share,
 *     "sides": [ { "tag": ..., "version": of "o=", "created": ns,
 *                  "ends": [[endpoint's id, mux], ...] }, {...} ],
 *     "lines": [ { "call": id, "spoken": [{...}, {...}] }, ... ] }
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "media/endpoint.h"
#include "ng/ng_service_impl.h"
#include "node/node_endpoint.h"
#include "node/restore.h"
#include "observe/log.h"
#include "protocol/kept_calls.h"

/* --- while it goes on --- */

static json_t *write_format(const struct sdp_format *f)
{
	return json_pack("{s:i, s:s, s:I, s:I, s:s}", "pt", f->pt, "name",
			 f->name, "rate", (json_int_t)f->rate, "channels",
			 (json_int_t)f->channels, "fmtp", f->fmtp);
}

static json_t *write_side(const struct ng_side *s, unsigned nlines)
{
	json_t *ends = json_array();

	for (unsigned i = 0; i < nlines; i++)
		(void)json_array_append_new(
			ends, json_pack("[I, b]", (json_int_t)s->endpoint[i].id,
					(int)s->endpoint[i].mux));
	return json_pack("{s:s*, s:I, s:I, s:o}", "tag", s->tag, "version",
			 (json_int_t)s->version, "created",
			 (json_int_t)s->created, "ends", ends);
}

static json_t *write_line(const struct ng_stream *s)
{
	json_t *spoken = json_array();

	for (unsigned i = 0; s->spoken && i < 2; i++)
		(void)json_array_append_new(
			spoken, write_format(&s->spoken->item[i].format));
	return json_pack("{s:I, s:o}", "call", (json_int_t)s->node_call,
			 "spoken", spoken);
}

static json_t *write_dialog(const struct ng_dialog *d)
{
	const struct in6_addr at = ng_due_host(&d->due);
	json_t *lines = json_array();
	char host[INET6_ADDRSTRLEN];

	for (unsigned i = 0; i < d->nlines; i++)
		(void)json_array_append_new(lines, write_line(&d->stream[i]));
	return json_pack("{s:s, s:I, s:s*, s:s, s:[o, o], s:o}", "call-id",
			 d->call->id, "created", (json_int_t)d->call->created,
			 "branch", d->branch, "host",
			 inet_ntop(AF_INET6, &at, host, sizeof(host)), "sides",
			 write_side(d->side[0], d->nlines),
			 write_side(d->side[1], d->nlines), "lines", lines);
}

void ng_keep_dialog(struct ng_service *sv, const struct ng_dialog *d)
{
	struct node_call *first = NULL;

	if (!node_keeps(sv->node))
		return;
	for (unsigned i = 0; i < d->nlines; i++) {
		struct call_spec spec = CALL_SPEC_UNSAID;
		struct node_call *c =
			node_call_find(sv->node, d->stream[i].node_call);

		if (!c)
			continue;
		spec.port = CALL_PORT_EACH;
		spec.label = d->call->id;
		spec.terms.weight = CALL_WEIGHT;
		for (unsigned k = 0; k < 2; k++) {
			spec.end[k].endpoint = d->side[k]->endpoint[i].id;
			keep_endpoint(node_call_endpoint(c, k));
		}
		keep_call(sv->node, c, &spec);
		if (!first)
			first = c;
	}
	if (first)
		keep_call_note(first, write_dialog(d));
}

/* --- in a new process --- */

static int read_format(struct sdp_format *f, const json_t *o)
{
	json_int_t rate, channels;
	int pt;

	if (json_unpack((json_t *)(uintptr_t)o, "{s:i, s:s, s:I, s:I, s:s}",
			"pt", &pt, "name", &f->name, "rate", &rate, "channels",
			&channels, "fmtp", &f->fmtp))
		return -EINVAL;
	f->pt = (uint8_t)(pt & 127);
	f->rate = (unsigned)rate;
	f->channels = (unsigned)channels;
	return 0;
}

static void restore_end(struct ng_service *sv, struct ng_endpoint *l,
			json_t *end)
{
	const struct node_endpoint *ep;
	json_int_t id;
	int mux;

	if (l->id || json_unpack(end, "[I, b]", &id, &mux))
		return;
	ep = node_endpoint_find(sv->node, (uint32_t)id);
	if (!ep)
		return;
	*l = (struct ng_endpoint){ .id = ep->id, .mux = mux };
	endpoint_rtcp_mux(ep->endpoint, mux);
}

static int restore_side(struct ng_service *sv, struct ng_dialog *d, unsigned i,
			json_t *side)
{
	struct ng_side *s = d->side[i];
	json_int_t version, created;
	const char *tag = NULL;
	json_t *ends;

	if (json_unpack(side, "{s?s, s:I, s:I, s:o}", "tag", &tag, "version",
			&version, "created", &created, "ends", &ends))
		return -EINVAL;
	/* Its text is not kept: the next one counts as another (RFC 3264, 8).
	 */
	s->version = version ? (uint64_t)version + 1 : 0;
	s->created = created;
	for (unsigned k = 0; k < d->nlines; k++)
		restore_end(sv, &s->endpoint[k], json_array_get(ends, k));
	return 0;
}

static void restore_line(struct ng_service *sv, struct ng_dialog *d, unsigned i,
			 const json_t *line)
{
	const char *const tag[2] = { d->side[0]->tag, d->side[1]->tag };
	const json_t *spoken = json_object_get(line, "spoken");
	struct codec_item item[2] = { 0 };
	struct ng_stream *s = &d->stream[i];
	struct node_call *c = node_call_find(
		sv->node,
		(uint32_t)json_integer_value(json_object_get(line, "call")));

	if (!c)
		return;
	s->node_call = node_call_id(c);
	node_call_set_tags(c, tag, i + 1);
	if (!read_format(&item[0].format, json_array_get(spoken, 0)) &&
	    !read_format(&item[1].format, json_array_get(spoken, 1)))
		s->spoken = codec_list_copy(item, 2);
}

/* Count what @d has with the share of @host. */
static int restore_due(struct ng_service *sv, struct ng_dialog *d,
		       const char *host)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	struct cr_err e;
	int err;

	if (inet_pton(AF_INET6, host, &at.sin6_addr) != 1)
		return -EINVAL;
	memcpy(&from, &at, sizeof(at));
	err = ng_due_open(&sv->shares, &d->due, &from, &e);
	return err ? err
		   : ng_due_change(&sv->shares, &d->due, d->nlines, 0, &e);
}

/* 0; -EINVAL: it is no dialog's; -ENOMEM; -ENOSPC: its host has too many. */
static int restore_dialog(struct ng_service *sv, json_t *note)
{
	const char *id, *host, *tag[2] = { NULL, NULL };
	struct ng_dialog_key key = { 0 };
	json_t *side[2], *lines;
	struct ng_dialog *d;
	struct ng_call *call;
	json_int_t created;
	int err = 0;

	if (json_unpack(note, "{s:s, s:I, s?s, s:s, s:[o, o], s:o}", "call-id",
			&id, "created", &created, "branch", &key.branch, "host",
			&host, "sides", &side[0], &side[1], "lines", &lines) ||
	    json_array_size(lines) > SDP_LINES_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < 2; i++)
		tag[i] = json_string_value(json_object_get(side[i], "tag"));
	key.from = tag[0];
	key.to = tag[1];
	call = ng_call_find(&sv->calls, id);
	if (!call)
		call = ng_call_new(&sv->calls, id);
	if (!call)
		return -ENOMEM;
	d = ng_dialog_new(call, &key, created);
	if (!d) {
		if (LIST_EMPTY(&call->dialogs))
			ng_call_free(&sv->calls, call);
		return -ENOMEM;
	}
	call->created = created;
	ng_call_signalled(call);
	d->known = true;
	d->nlines = (unsigned)json_array_size(lines);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = restore_side(sv, d, i, side[i]);
	for (unsigned i = 0; i < d->nlines; i++)
		restore_line(sv, d, i, json_array_get(lines, i));
	if (!err)
		err = restore_due(sv, d, host);
	if (err)
		ng_end_dialog(sv, d, NODE_END_STOPPED, NULL);
	return err;
}

void ng_service_taken(struct ng_service *sv, const struct node_call *c)
{
	json_t *note = kept_call_note(c);
	int err = note ? restore_dialog(sv, note) : 0;

	if (err)
		log_event(LOG_WARN, "dialog-not-restored",
			  LOG_INT("call", node_call_id(c)),
			  LOG_STR("why", strerror(-err)));
	json_decref(note);
}

void ng_restore_dialogs(struct ng_service *sv)
{
	struct node_call *c = NULL;
	uint32_t id = 0;

	while (node_keeps(sv->node) && (c = node_call_after(sv->node, id))) {
		id = node_call_id(c);
		ng_service_taken(sv, c);
	}
}
