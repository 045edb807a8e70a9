/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialogs that outlive the process: what later commands need of one is a note
 * (protocol/kept_calls.h), a struct kept_dialog. While its newest offer has no
 * answer, that is the request, too: a new process accepts it again, with the
 * endpoints that are there.
 *
 * Proxies name calls and sides by any octets, and so are their requests: each
 * octet is a character of the note (ISO 8859-1).
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
	struct sockaddr_storage at; /* its port; another node's has another */
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
	bool early;
	bool carried; /* in the newest offer */
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
	bool known;
	const char *offer; /* the request, bencoded; NULL: it was answered */
};

FIELD_TABLE_DECLARE(kept_end, struct kept_end);
FIELD_TABLE_DECLARE(kept_side, struct kept_side);
FIELD_TABLE_DECLARE(kept_format, struct sdp_format);
FIELD_TABLE_DECLARE(kept_line, struct kept_line);
FIELD_TABLE_DECLARE(kept_dialog, struct kept_dialog);

const struct field kept_end_fields[] = {
	{ ROW_INT(kept_end, "id", id), .max = UINT32_MAX },
	{ ROW_ADDRESS(kept_end, "at", at), .flags = FIELD_NULL },
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
	{ ROW_BOOL(kept_line, "early", early) },
	{ ROW_BOOL(kept_line, "carried", carried) },
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
	{ ROW_BOOL(kept_dialog, "known", known) },
	{ ROW_TEXT(kept_dialog, "offer", offer) },
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

/* Let *@octets be characters, in @buf, which has room for two each and a NUL.
 */
static void write_octets(const char **octets, char *buf)
{
	char *to = buf;

	if (!*octets)
		return;
	for (const char *from = *octets; *from; from++) {
		unsigned char c = (unsigned char)*from;

		if (c >= 0x80)
			*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
	}
	*to = '\0';
	*octets = buf;
}

/* Where the party of @ep sends to. */
static struct sockaddr_storage endpoint_at(const struct node_endpoint *ep)
{
	struct call_past past;

	node_endpoint_past(ep, &past);
	return past.stream[0].at;
}

static void fill_side(const struct ng_service *sv, struct kept_side *k,
		      const struct ng_side *s, unsigned nlines)
{
	k->tag = s->tag;
	k->version = s->version;
	k->created = s->created;
	k->nends = nlines;
	for (unsigned i = 0; i < nlines; i++) {
		const struct node_endpoint *ep =
			node_endpoint_find(sv->node, s->endpoint[i].id);

		k->end[i] = (struct kept_end){ .mux = s->endpoint[i].mux };
		if (!ep)
			continue;
		k->end[i].id = ep->id;
		k->end[i].at = endpoint_at(ep);
	}
}

/* Its note; @offer: the request that it waits for an answer to, or NULL. */
static json_t *write_dialog(const struct ng_service *sv,
			    const struct ng_dialog *d, const char *offer)
{
	const struct in6_addr at = ng_due_host(&d->due);
	char host[INET6_ADDRSTRLEN], text[NAMES][2 * NG_NAME_MAX + 1];
	struct kept_dialog k = {
		.id = d->call->id,
		.branch = d->branch,
		.created = d->call->created,
		.host = inet_ntop(AF_INET6, &at, host, sizeof(host)),
		.nlines = d->nlines,
		.known = d->known,
		.offer = offer,
	};
	const char **name[NAMES];

	for (unsigned i = 0; i < 2; i++)
		fill_side(sv, &k.side[i], d->side[i], d->nlines);
	for (unsigned i = 0; i < d->nlines; i++) {
		const struct ng_stream *s = &d->stream[i];

		k.line[i].call = s->node_call;
		k.line[i].early = s->early;
		k.line[i].carried = s->offered.list != NULL;
		k.line[i].nspoken = s->spoken ? 2 : 0;
		for (unsigned n = 0; n < k.line[i].nspoken; n++)
			k.line[i].spoken[n] = s->spoken->item[n].format;
	}
	list_names(&k, name);
	for (unsigned i = 0; i < NAMES; i++)
		write_octets(name[i], text[i]);
	return field_write_request(kept_dialog_fields, &k);
}

/* The request, in characters of a note: @out[2 * STATE_TEXT_MAX + 1]. False: it
 * is longer than any note, or no text. */
static bool write_request(const struct ng_request *r, char *out)
{
	char octets[STATE_TEXT_MAX + 1];
	const char *text = octets;
	long n = bencode_write(r->body, octets, STATE_TEXT_MAX);

	if (n < 0 || memchr(octets, 0, (size_t)n))
		return false;
	octets[n] = '\0';
	write_octets(&text, out);
	return true;
}

static void keep_dialog_line(struct ng_service *sv, const struct ng_dialog *d,
			     unsigned i)
{
	struct node_call *c = node_call_find(sv->node, d->stream[i].node_call);
	struct call_spec spec = CALL_SPEC_UNSAID;

	spec.port = CALL_PORT_EACH;
	spec.label = d->call->id;
	spec.terms.weight = CALL_WEIGHT;
	for (unsigned k = 0; k < 2; k++) {
		struct node_endpoint *ep = node_endpoint_find(
			sv->node, d->side[k]->endpoint[i].id);

		spec.end[k].endpoint = d->side[k]->endpoint[i].id;
		if (ep)
			keep_endpoint(ep);
	}
	if (c)
		keep_call(sv->node, c, &spec);
}

void ng_keep_dialog(struct ng_service *sv, struct ng_dialog *d)
{
	char request[2 * STATE_TEXT_MAX + 1];
	const bool waits = d->offer && !d->answer;
	int err;

	if (!node_keeps(sv->node))
		return;
	for (unsigned i = 0; i < d->nlines; i++)
		keep_dialog_line(sv, d, i);
	err = waits && !write_request(&sv->request, request)
		      ? -EMSGSIZE
		      : keep_note(sv->node, &d->slot,
				  write_dialog(sv, d, waits ? request : NULL));
	d->kept = !err;
	if (err)
		log_event(LOG_WARN, "dialog-not-kept",
			  LOG_STR("call-id", d->call->id),
			  LOG_STR("why", strerror(-err)));
}

/* --- in a new process --- */

/* Let *@text, characters, be octets, in @buf[@most + 1]. False: they are none,
 * or more. */
static bool read_characters(const char **text, char *buf, size_t most)
{
	size_t left = *text ? strlen(*text) : 0, n = 0;

	if (!*text)
		return true;
	for (const char *from = *text; left; n++) {
		size_t octets = utf8_length(from, left);
		unsigned c = octets ? utf8_code(from, octets) : 256;

		if (c > 255 || n == most)
			return false;
		buf[n] = (char)c;
		from += octets;
		left -= octets;
	}
	buf[n] = '\0';
	*text = buf;
	return true;
}

/* Side @i of @d. On another machine, an id may be that of any endpoint: only
 * one of a note that nobody has claimed is taken. */
static void restore_side(const struct ng_service *sv, struct ng_dialog *d,
			 unsigned i, const struct kept_side *k)
{
	struct ng_side *s = d->side[i];
	/* Its text is not kept: the next one counts as another (RFC 3264, 8).
	 */
	const uint64_t version = k->version ? k->version + 1 : 0;

	/* of one that another dialog has, too, the newest */
	if (s->version < version)
		s->version = version;
	s->created = k->created;
	for (unsigned n = 0; n < d->nlines && n < k->nends; n++) {
		const struct kept_end *end = &k->end[n];
		const struct node_endpoint *ep =
			node_endpoint_find(sv->node, end->id);
		struct sockaddr_storage at;

		if (s->endpoint[n].id || !ep || !ep->slot || ep->opened ||
		    ep->owner)
			continue;
		at = endpoint_at(ep);
		if (address_equal(&at, &end->at))
			s->endpoint[n] =
				(struct ng_endpoint){ .id = ep->id,
						      .mux = end->mux };
	}
}

/* Is it between the endpoints of line @i of @d? On another machine, its id may
 * be that of any call. */
static bool is_call_of(const struct node_call *c, const struct ng_dialog *d,
		       unsigned i)
{
	for (unsigned k = 0; k < 2; k++) {
		const uint32_t id = d->side[k]->endpoint[i].id;
		const struct node_endpoint *ep = node_call_endpoint(c, k);

		if (!id || !ep || ep->id != id)
			return false;
	}
	return true;
}

static void restore_line(struct ng_service *sv, struct ng_dialog *d, unsigned i,
			 const struct kept_line *k)
{
	struct ng_stream *s = &d->stream[i];
	const struct node_call *c = node_call_find(sv->node, k->call);
	const struct codec_item item[2] = { { .format = k->spoken[0] },
					    { .format = k->spoken[1] } };

	if (!c || !is_call_of(c, d, i))
		return;
	s->node_call = node_call_id(c);
	s->early = k->early;
	if (k->nspoken == 2)
		s->spoken = codec_list_copy(item, 2);
}

static void claim_line(struct node *n, struct ng_dialog *d, unsigned i)
{
	const char *const tag[2] = { d->side[0]->tag, d->side[1]->tag };
	struct ng_stream *s = &d->stream[i];
	struct node_call *c = node_call_find(n, s->node_call);

	for (unsigned k = 0; k < 2; k++) {
		const struct ng_endpoint *l = &d->side[k]->endpoint[i];
		struct node_endpoint *ep = node_endpoint_find(n, l->id);

		if (!ep)
			continue;
		ep->opened = ep->noted = true;
		endpoint_rtcp_mux(ep->endpoint, l->mux);
	}
	if (!c)
		return;
	node_call_set_tags(c, tag, i + 1);
	if (s->early)
		node_call_set_early(c, true);
}

/* Calls and endpoints are as they have to be for @d. */
static void claim_dialog(struct node *n, struct ng_dialog *d)
{
	for (unsigned i = 0; i < d->nlines; i++)
		claim_line(n, d, i);
}

void ng_claim_dialogs(struct ng_service *sv)
{
	struct ng_call *call = ng_call_first(&sv->calls);
	struct ng_dialog *d;

	for (; call; call = ng_call_next(call))
		LIST_FOREACH(d, &call->dialogs, link)
		{
			claim_dialog(sv->node, d);
		}
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
		if (!read_characters(name[i], text[i], NG_NAME_MAX))
			err = cr_fail(e, -EINVAL, "a name is no octets");
	for (unsigned i = 0; !err && i < k->nlines; i++)
		for (unsigned n = 0; n < k->line[i].nspoken; n++)
			if (!k->line[i].spoken[n].name ||
			    !k->line[i].spoken[n].fmtp)
				err = cr_fail(e, -EINVAL,
					      "a codec has no name");
	return err;
}

/* Wait for an answer to the offer of @k. 0, or -errno with @e. */
static int offer_again(struct ng_service *sv, struct ng_dialog *d,
		       const struct kept_dialog *k, struct cr_err *e)
{
	char octets[STATE_TEXT_MAX + 1];
	bool carried[SDP_LINES_MAX] = { false };
	const char *offer = k->offer;
	json_t *body = NULL;
	int err = 0;

	for (unsigned i = 0; i < k->nlines; i++)
		carried[i] = k->line[i].carried;
	if (!read_characters(&offer, octets, STATE_TEXT_MAX))
		return cr_fail(e, -EINVAL,
			       "the offer of its note is no text of octets");
	body = bencode_read(offer, strlen(offer), e);
	err = body ? ng_request_read(&sv->request, body, e) : -EINVAL;
	if (!err && sv->request.command != NG_OFFER)
		err = cr_fail(e, -EINVAL,
			      "the request of its note is no offer");
	sv->reply = json_object();
	if (!err) {
		unsigned to = !ng_dialog_number(d, sv->request.key.from);

		/* the description is the very one that this side has */
		if (d->side[to]->version == k->side[to].version + 1)
			d->side[to]->version--;
	}
	if (!err)
		err = ng_offer_repeat(sv, d, carried, e);
	json_decref(sv->reply);
	sv->reply = NULL;
	json_decref(body);
	return err;
}

/* Has the other process told somebody of a port that is not here? */
static bool lacks_endpoint(const struct ng_dialog *d,
			   const struct kept_dialog *k)
{
	for (unsigned i = 0; i < 2; i++)
		for (unsigned n = 0; n < k->side[i].nends; n++)
			if (k->side[i].end[n].id &&
			    d->side[i]->endpoint[n].id != k->side[i].end[n].id)
				return true;
	return false;
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
	if (call && !call->restored)
		return cr_fail(e, -EEXIST, "its call-id is in use here");
	if (!call)
		call = ng_call_new(&sv->calls, k.id);
	if (!call)
		return cr_fail(e, -ENOMEM, "out of memory");
	call->restored = true;
	d = ng_dialog_new(call, &key, k.created);
	if (!d) {
		if (LIST_EMPTY(&call->dialogs))
			ng_call_free(&sv->calls, call);
		return cr_fail(e, -ENOMEM, "out of memory");
	}
	*out = d;
	call->created = k.created;
	ng_call_signalled(call);
	d->known = k.known;
	d->nlines = k.nlines;
	for (unsigned i = 0; i < 2; i++)
		restore_side(sv, d, i, &k.side[i]);
	for (unsigned i = 0; i < d->nlines; i++)
		restore_line(sv, d, i, &k.line[i]);
	claim_dialog(sv->node, d);
	err = restore_due(sv, d, k.host, e);
	if (!err && k.offer && lacks_endpoint(d, &k))
		err = cr_fail(e, -ENOENT,
			      "one of its endpoints has not gone on");
	return err || !k.offer ? err : offer_again(sv, d, &k, e);
}

/* Endpoints that a dialog leaves are as they were before it claimed them. */
static void unclaim_side(void *arg, struct ng_side *s)
{
	const struct ng_service *sv = arg;

	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		struct node_endpoint *ep =
			node_endpoint_find(sv->node, s->endpoint[i].id);

		if (ep)
			ep->opened = ep->noted = false;
		free(s->endpoint[i].sounds);
	}
}

/* As if it had never been; its calls and endpoints stay. */
static void forget_dialog(struct ng_service *sv, struct ng_dialog *d)
{
	struct ng_call *call = d->call;

	for (unsigned i = 0; i < d->nlines; i++)
		ng_release(sv, &d->stream[i]);
	ng_dialog_ring(sv, d, false);
	ng_due_close(&sv->shares, &d->due);
	ng_dialog_free(d, unclaim_side, sv);
	if (LIST_EMPTY(&call->dialogs))
		ng_call_free(&sv->calls, call);
}

int ng_restore_dialog(struct ng_service *sv, const json_t *note,
		      struct state_slot *slot, bool must, struct cr_err *e)
{
	struct ng_dialog *d = NULL;
	int err = restore_dialog(sv, note, &d, e);

	if (!err) {
		d->slot = slot;
		d->kept = true;
		return 0;
	}
	if (!must)
		log_event(LOG_WARN, "dialog-not-restored",
			  LOG_STR("call-id", d ? d->call->id : ""),
			  LOG_STR("why", e->text));
	if (d && must)
		forget_dialog(sv, d);
	else if (d)
		ng_end_dialog(sv, d, NODE_END_STOPPED, NULL);
	return err;
}

static struct ng_dialog *dialog_of_slot(struct ng_service *sv,
					const struct state_slot *slot)
{
	struct ng_call *call = ng_call_first(&sv->calls);
	struct ng_dialog *d;

	for (; call; call = ng_call_next(call))
		LIST_FOREACH(d, &call->dialogs, link)
		{
			if (d->slot == slot)
				return d;
		}
	return NULL;
}

struct state_slot *ng_drop_dialog(struct ng_service *sv,
				  const struct state_slot *slot)
{
	struct ng_dialog *d = dialog_of_slot(sv, slot);
	struct state_slot *had = d ? d->slot : NULL;

	if (d)
		forget_dialog(sv, d);
	return had;
}
