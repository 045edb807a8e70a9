/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of calls, in the words of the protocol, and of the node.
 */
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/listener.h"
#include "ng/service_impl.h"
#include "node/party.h"

struct sums {
	unsigned long long packets, bytes, errors;
};

static void add(struct sums *to, const struct sums *of)
{
	to->packets += of->packets;
	to->bytes += of->bytes;
	to->errors += of->errors;
}

static json_t *told_sums(const struct sums *s)
{
	return json_pack("{s:I, s:I, s:I}", "packets", (json_int_t)s->packets,
			 "bytes", (json_int_t)s->bytes, "errors",
			 (json_int_t)s->errors);
}

static json_t *told_endpoint(const struct sockaddr_storage *at)
{
	char host[64];

	if (!at->ss_family)
		return NULL;
	return json_pack("{s:s, s:s, s:i}", "family",
			 at->ss_family == AF_INET6 ? "IPv6" : "IPv4", "address",
			 address_host_text(at, host, sizeof(host)), "port",
			 (int)address_port(at));
}

/* The stream that comes from side @i in line @line of @d, or NULL. */
static struct node_call *stream_from(struct ng_service *sv,
				     const struct ng_dialog *d, unsigned line,
				     unsigned i)
{
	uint32_t id = d->stream[line].conversation;
	struct conversation *c = id ? conversation_find(sv->node, id) : NULL;

	return c ? conversation_stream(c, i) : NULL;
}

static struct sums sums_of(const struct node_leg_info *leg,
			   const struct node_call_info *stream)
{
	struct sums s = {
		.packets = leg->packets,
		.errors = leg->wrong_source + leg->wrong_ssrc + leg->unproven,
	};

	if (stream) {
		s.bytes = stream->count.octets_in;
		s.errors += stream->count.malformed + stream->count.wrong_pt;
	}
	return s;
}

static void tell_codec(json_t *media, const struct node_call_info *stream)
{
	json_t *flags = json_object_get(media, "flags");

	if (stream->relay)
		(void)json_array_append_new(flags, json_string("passthrough"));
	else if (stream->in.codec)
		(void)json_object_set_new(media, "codec",
					  json_string(stream->in.codec));
}

/* Line @line of side @i. */
static json_t *told_media(struct ng_service *sv, const struct ng_dialog *d,
			  unsigned i, unsigned line, struct sums *total)
{
	const struct ng_leg *leg = &d->side[i]->leg[line];
	const struct party *p = party_find(sv->node, leg->id);
	struct node_call *from = stream_from(sv, d, line, i);
	struct sockaddr_storage local;
	struct node_call_info stream;
	struct node_leg_info about;
	struct sums sums;
	json_t *media;

	if (!p)
		return NULL;
	party_leg_info(p, &about);
	if (from)
		node_call_info(from, &stream);
	sums = sums_of(&about, from ? &stream : NULL);
	add(total, &sums);
	media = json_pack("{s:i, s:s, s:s, s:[], s:[{s:i, s:o*, s:[s], s:o}]}",
			  "index", (int)line + 1, "type", "audio", "protocol",
			  "RTP/AVP", "flags", "streams", "local port",
			  ng_leg_local(sv->node, leg, &local)
				  ? (int)address_port(&local)
				  : 0,
			  "endpoint", told_endpoint(&about.to), "flags", "RTP",
			  "stats", told_sums(&sums));
	if (leg->mux)
		(void)json_array_append_new(json_object_get(media, "flags"),
					    json_string("rtcp-mux"));
	if (from)
		tell_codec(media, &stream);
	return media;
}

static void tell_side(struct ng_service *sv, const struct ng_dialog *d,
		      unsigned i, json_t *tags, struct sums *total)
{
	const struct ng_side *s = d->side[i], *peer = d->side[!i];
	const char *tag = s->tag ? s->tag : "";
	json_t *medias = json_array(), *about;

	for (unsigned k = 0; k < d->nlines; k++)
		if (s->leg[k].id)
			(void)json_array_append_new(
				medias, told_media(sv, d, i, k, total));
	about = json_pack("{s:o, s:I, s:o, s:o*}", "tag",
			  json_string_nocheck(tag), "created",
			  (json_int_t)(s->created / CR_SEC), "medias", medias,
			  "in dialogue with",
			  peer->tag ? json_string_nocheck(peer->tag) : NULL);
	(void)json_object_set_new_nocheck(tags, tag, about);
}

void ng_tell_call(struct ng_service *sv, struct ng_call *call,
		  const struct ng_whom *whom, json_t *reply)
{
	json_t *tags = json_object();
	struct sums total = { 0 };
	struct ng_dialog *d;

	LIST_FOREACH(d, &call->dialogs, link)
	if (ng_dialog_is_meant(d, whom))
		for (unsigned i = 0; i < 2; i++)
			if (!d->side[i]->tag ||
			    !json_object_get(tags, d->side[i]->tag))
				tell_side(sv, d, i, tags, &total);
	(void)json_object_set_new(reply, "created",
				  json_integer(call->created / CR_SEC));
	(void)json_object_set_new(reply, "last signal",
				  json_integer(call->signalled / CR_SEC));
	(void)json_object_set_new(reply, "tags", tags);
	(void)json_object_set_new(reply, "totals",
				  json_pack("{s:o}", "RTP", told_sums(&total)));
}

unsigned long long ng_call_packets(struct ng_service *sv,
				   const struct ng_call *call)
{
	unsigned long long packets = 0;
	const struct ng_side *s;
	struct node_leg_info about;

	LIST_FOREACH(s, &call->sides, link)
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		const struct party *p =
			s->leg[i].id ? party_find(sv->node, s->leg[i].id)
				     : NULL;

		if (!p)
			continue;
		party_leg_info(p, &about);
		packets += about.packets;
		if (about.rtcp.is) /* all that comes of who is on hold */
			packets += about.rtcp.is->packets_in;
	}
	return packets;
}

/* --- the node --- */

static json_t *told_asked(const struct ng_counts *c)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < NG_COMMANDS; i++)
		(void)json_object_set_new(
			o, ng_command_names[i],
			json_integer((json_int_t)c->asked[i]));
	(void)json_object_set_new(o, "errors",
				  json_integer((json_int_t)c->errors));
	(void)json_object_set_new(o, "load limit",
				  json_integer((json_int_t)c->load_limits));
	return o;
}

static json_t *told_listener(const struct ng_listener *l)
{
	struct ng_listener_stats s;

	ng_listener_stats(l, &s);
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i}", "denied",
		(json_int_t)s.denied, "received", (json_int_t)s.received,
		"limited", (json_int_t)s.limited, "malformed",
		(json_int_t)s.malformed, "repeated", (json_int_t)s.repeated,
		"ignored", (json_int_t)s.ignored, "overloaded",
		(json_int_t)s.overloaded, "answered", (json_int_t)s.answered,
		"waiting", (int)s.waiting, "connections", (int)s.connections);
}

void ng_tell_statistics(struct ng_service *sv, json_t *reply)
{
	const struct ng_counts *c = &sv->count;
	char uptime[24];
	struct node_stats n;
	json_t *now, *ever;

	node_stats(sv->node, &n);
	(void)snprintf(uptime, sizeof(uptime), "%lld",
		       (long long)((clock_now() - sv->started) / CR_SEC));
	now = json_pack("{s:i, s:i, s:i, s:i}", "sessionsown", (int)sv->calls.n,
			"sessionsforeign", 0, "sessionstotal", (int)sv->calls.n,
			"transcodedmedia", (int)(n.calls - n.relays));
	ever = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "uptime",
			 uptime, "managedsessions", (json_int_t)c->dialogs,
			 "rejectedsessions", (json_int_t)c->load_limits,
			 "timeoutsessions", (json_int_t)c->silent,
			 "offertimeoutsessions", (json_int_t)c->unanswered,
			 "regularterminatedsessions", (json_int_t)c->deleted,
			 "relayedpackets", (json_int_t)n.totals.packets_out,
			 "relayedpacketerrors",
			 (json_int_t)n.totals.send_failed);
	(void)json_object_set_new(
		reply, "statistics",
		json_pack("{s:o, s:o, s:o, s:o}", "currentstatistics", now,
			  "totalstatistics", ever, "controlstatistics",
			  told_asked(c), "listener",
			  told_listener(sv->listener)));
}
