/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialogs that outlive the process: from the answer on, what later commands
 * need of one is the note of its first call (protocol/kept_calls.h), a struct
 * kept_dialog. One that nobody has answered is not kept.
 *
 * Proxies name calls and sides by any octets: each is a character of the note
 * (ISO 8859-1).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "media/endpoint.h"
#include "ng/ng_service_impl.h"
#include "node/node_endpoint.h"
#include "node/restore.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/kept_calls.h"

struct kept_end {
	uint32_t id;
	bool mux;
};

struct kept_side {
	const char *tag; /* NULL: not known */
	uint64_t version;
	int64_t created;
	struct kept_end end[SDP_LINES_MAX]; /* of each line */
	unsigned nends;
};

struct kept_line {
	uint32_t call;
	struct sdp_format spoken[2];
	unsigned nspoken;
};

struct kept_dialog {
	const char *id, *branch;
	int64_t created;
	const char *host; /* of its share, IPv6 */
	struct kept_side side[2];
	struct kept_line line[SDP_LINES_MAX];
	unsigned nlines;
};

FIELD_TABLE_DECLARE(kept_end, struct kept_end);
FIELD_TABLE_DECLARE(kept_side, struct kept_side);
FIELD_TABLE_DECLARE(kept_format, struct sdp_format);
FIELD_TABLE_DECLARE(kept_line, struct kept_line);
FIELD_TABLE_DECLARE(kept_dialog, struct kept_dialog);

const struct field kept_end_fields[] = {
	{ ROW_INT(kept_end, "id", id), .max = UINT32_MAX },
	{ ROW_BOOL(kept_end, "mux", mux) },
	{ 0 },
};

const struct field kept_side_fields[] = {
	{ ROW_TEXT(kept_side, "tag", tag) },
	{ ROW_INT(kept_side, "version", version), .max = INT64_MAX },
	{ ROW_INT(kept_side, "created", created), .max = INT64_MAX },
	{ ROW_LIST(kept_side, "ends", end, nends, kept_end),
	  .max = SDP_LINES_MAX },
	{ 0 },
};

const struct field kept_format_fields[] = {
	{ ROW_INT(kept_format, "pt", pt), .max = 127 },
	{ ROW_TEXT(kept_format, "name", name) },
	{ ROW_INT(kept_format, "rate", rate), .max = UINT32_MAX },
	{ ROW_INT(kept_format, "channels", channels), .max = UINT32_MAX },
	{ ROW_TEXT(kept_format, "fmtp", fmtp) },
	{ 0 },
};

const struct field kept_line_fields[] = {
	{ ROW_INT(kept_line, "call", call), .max = UINT32_MAX },
	{ ROW_LIST(kept_line, "spoken", spoken, nspoken, kept_format),
	  .max = 2 },
	{ 0 },
};

const struct field kept_dialog_fields[] = {
	{ ROW_TEXT(kept_dialog, "call-id", id), .required = "" },
	{ ROW_TEXT(kept_dialog, "branch", branch) },
	{ ROW_INT(kept_dialog, "created", created), .max = INT64_MAX },
	{ ROW_TEXT(kept_dialog, "host", host), .required = "" },
	{ ROW_OBJECT(kept_dialog, "a", side[0], kept_side) },
	{ ROW_OBJECT(kept_dialog, "b", side[1], kept_side) },
	{ ROW_LIST(kept_dialog, "lines", line, nlines, kept_line),
	  .max = SDP_LINES_MAX },
	{ 0 },
};

/* The names of a dialog: call-id, branch, tags. */
enum { NAMES = 4 };

static void list_names(struct kept_dialog *k, const char **name[NAMES])
{
	name[0] = &k->id;
	name[1] = &k->branch;
	name[2] = &k->side[0].tag;
	name[3] = &k->side[1].tag;
}

/* --- while it goes on --- */

/* Let *@name be its octets as characters, in @buf. */
static void write_octets(const char **name, char buf[2 * NG_NAME_MAX + 1])
{
	char *to = buf;

	if (!*name)
		return;
	for (const char *from = *name; *from; from++) {
		unsigned char c = (unsigned char)*from;

		if (c >= 0x80)
			*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
	}
	*to = '\0';
	*name = buf;
}

static void fill_side(struct kept_side *k, const struct ng_side *s,
		      unsigned nlines)
{
	k->tag = s->tag;
	k->version = s->version;
	k->created = s->created;
	k->nends = nlines;
	for (unsigned i = 0; i < nlines; i++)
		k->end[i] = (struct kept_end){ s->endpoint[i].id,
					       s->endpoint[i].mux };
}

static json_t *write_dialog(const struct ng_dialog *d)
{
	const struct in6_addr at = ng_due_host(&d->due);
	char host[INET6_ADDRSTRLEN], text[NAMES][2 * NG_NAME_MAX + 1];
	struct kept_dialog k = {
		.id = d->call->id,
		.branch = d->branch,
		.created = d->call->created,
		.host = inet_ntop(AF_INET6, &at, host, sizeof(host)),
		.nlines = d->nlines,
	};
	const char **name[NAMES];

	for (unsigned i = 0; i < 2; i++)
		fill_side(&k.side[i], d->side[i], d->nlines);
	for (unsigned i = 0; i < d->nlines; i++) {
		const struct ng_stream *s = &d->stream[i];

		k.line[i].call = s->node_call;
		k.line[i].nspoken = s->spoken ? 2 : 0;
		for (unsigned n = 0; n < k.line[i].nspoken; n++)
			k.line[i].spoken[n] = s->spoken->item[n].format;
	}
	list_names(&k, name);
	for (unsigned i = 0; i < NAMES; i++)
		write_octets(name[i], text[i]);
	return field_write_request(kept_dialog_fields, &k);
}

void ng_keep_dialog(struct ng_service *sv, const struct ng_dialog *d)
{
	bool noted = false;

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
		keep_call(sv->node, c, &spec, noted ? NULL : write_dialog(d));
		noted = true;
	}
}

/* --- in a new process --- */

/* Let *@name, characters, be octets, in @buf. False: they are none. */
static bool read_name_octets(const char **name, char buf[NG_NAME_MAX + 1])
{
	size_t left = *name ? strlen(*name) : 0, n = 0;

	if (!*name)
		return true;
	for (const char *from = *name; left; n++) {
		size_t octets = utf8_length(from, left);
		unsigned c = octets ? utf8_code(from, octets) : 256;

		if (c > 255 || n == NG_NAME_MAX)
			return false;
		buf[n] = (char)c;
		from += octets;
		left -= octets;
	}
	buf[n] = '\0';
	*name = buf;
	return true;
}

static void restore_side(struct ng_service *sv, struct ng_dialog *d, unsigned i,
			 const struct kept_side *k)
{
	struct ng_side *s = d->side[i];

	/* Its text is not kept: the next one counts as another (RFC 3264, 8).
	 */
	s->version = k->version ? k->version + 1 : 0;
	s->created = k->created;
	for (unsigned n = 0; n < d->nlines && n < k->nends; n++) {
		const struct kept_end *end = &k->end[n];
		const struct node_call *c =
			node_call_find(sv->node, d->stream[n].node_call);
		const struct node_endpoint *ep =
			c ? node_call_endpoint(c, i) : NULL;

		if (s->endpoint[n].id || !ep || ep->id != end->id)
			continue;
		s->endpoint[n] =
			(struct ng_endpoint){ .id = ep->id, .mux = end->mux };
		endpoint_rtcp_mux(ep->endpoint, end->mux);
	}
}

/* Is it of @d? On another machine, its id may be that of any call. */
static bool is_call_of(const struct node_call *c, const struct ng_dialog *d)
{
	const char *label = node_call_label(c);
	char id[NG_NAME_MAX + 1];

	(void)snprintf(id, sizeof(id), "%s", d->call->id);
	utf8_mark(id); /* as texts have it */
	return !node_call_owner(c) && label && strcmp(label, id) == 0;
}

static void restore_line(struct ng_service *sv, struct ng_dialog *d, unsigned i,
			 const struct kept_line *k)
{
	const char *const tag[2] = { d->side[0]->tag, d->side[1]->tag };
	struct ng_stream *s = &d->stream[i];
	struct node_call *c = node_call_find(sv->node, k->call);
	const struct codec_item item[2] = { { .format = k->spoken[0] },
					    { .format = k->spoken[1] } };

	if (!c || !is_call_of(c, d))
		return;
	s->node_call = node_call_id(c);
	node_call_set_tags(c, tag, i + 1);
	if (k->nspoken == 2)
		s->spoken = codec_list_copy(item, 2);
}

/* Count what @d has with the share of @host. */
static int restore_due(struct ng_service *sv, struct ng_dialog *d,
		       const char *host, struct cr_err *e)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	int err;

	if (inet_pton(AF_INET6, host, &at.sin6_addr) != 1)
		return cr_fail(e, -EINVAL, "host: is no address");
	memcpy(&from, &at, sizeof(at));
	err = ng_due_open(&sv->shares, &d->due, &from, e);
	return err ? err : ng_due_change(&sv->shares, &d->due, d->nlines, 0, e);
}

static int read_dialog(struct kept_dialog *k, const json_t *note,
		       char text[NAMES][NG_NAME_MAX + 1], struct cr_err *e)
{
	const char **name[NAMES];
	int err = field_read(kept_dialog_fields, note, k, e);

	if (!err)
		err = field_complete(kept_dialog_fields, k, e);
	list_names(k, name);
	for (unsigned i = 0; !err && i < NAMES; i++)
		if (!read_name_octets(name[i], text[i]))
			err = cr_fail(e, -EINVAL, "a name is no octets");
	for (unsigned i = 0; !err && i < k->nlines; i++)
		for (unsigned n = 0; n < k->line[i].nspoken; n++)
			if (!k->line[i].spoken[n].name ||
			    !k->line[i].spoken[n].fmtp)
				err = cr_fail(e, -EINVAL,
					      "a codec has no name");
	return err;
}

/* 0, or -errno with @e; *@out: as far as it has come, or NULL. */
static int restore_dialog(struct ng_service *sv, const json_t *note,
			  struct ng_dialog **out, struct cr_err *e)
{
	char text[NAMES][NG_NAME_MAX + 1];
	struct kept_dialog k = { 0 };
	int err = read_dialog(&k, note, text, e);
	const struct ng_dialog_key key = { .branch = k.branch,
					   .from = k.side[0].tag,
					   .to = k.side[1].tag };
	struct ng_dialog *d;
	struct ng_call *call;

	*out = NULL;
	if (err)
		return err;
	call = ng_call_find(&sv->calls, k.id);
	if (!call)
		call = ng_call_new(&sv->calls, k.id);
	if (!call)
		return cr_fail(e, -ENOMEM, "out of memory");
	d = ng_dialog_new(call, &key, k.created);
	if (!d) {
		if (LIST_EMPTY(&call->dialogs))
			ng_call_free(&sv->calls, call);
		return cr_fail(e, -ENOMEM, "out of memory");
	}
	call->created = k.created;
	ng_call_signalled(call);
	d->known = true;
	d->nlines = k.nlines;
	for (unsigned i = 0; i < d->nlines; i++)
		restore_line(sv, d, i, &k.line[i]);
	for (unsigned i = 0; i < 2; i++)
		restore_side(sv, d, i, &k.side[i]);
	*out = d;
	return restore_due(sv, d, k.host, e);
}

/* The dialog of @c, if it has one. @must: if it cannot go on, that is for the
 * caller to mend; else it ends. 0, or -errno with @e. */
static int restore_noted(struct ng_service *sv, const struct node_call *c,
			 bool must, struct cr_err *e)
{
	json_t *note = kept_call_note(c);
	struct ng_dialog *d = NULL;
	int err = note ? restore_dialog(sv, note, &d, e) : 0;

	json_decref(note);
	if (!err || must)
		return err;
	log_event(LOG_WARN, "dialog-not-restored",
		  LOG_INT("call", node_call_id(c)), LOG_STR("why", e->text));
	if (d)
		ng_end_dialog(sv, d, NODE_END_STOPPED, NULL);
	return err;
}

void ng_service_restored(struct ng_service *sv, const struct node_call *c)
{
	struct cr_err e;

	(void)restore_noted(sv, c, false, &e);
}

int ng_restore_dialogs(struct ng_service *sv, bool all, struct cr_err *e)
{
	struct node_call *c = NULL;
	uint32_t id = 0;
	int err = 0;

	while (!err && node_keeps(sv->node) &&
	       (c = node_call_after(sv->node, id))) {
		id = node_call_id(c);
		err = restore_noted(sv, c, all, e);
		err = all ? err : 0;
	}
	return err;
}
