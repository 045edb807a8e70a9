/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of calls and of the node, in the words of the protocol.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/listener.h"
#include "ng/ng_service_impl.h"
#include "node/node_endpoint.h"
#include "node/info.h"

struct sums {
	unsigned long long packets, bytes, errors;
};

/* Of a call. */
struct totals {
	struct sums rtp, rtcp;
	json_t *ssrc;
};

static void add_sums(struct sums *to, const struct sums *of)
{
	to->packets += of->packets;
	to->bytes += of->bytes;
	to->errors += of->errors;
}

static json_t *reported_sums(const struct sums *s)
{
	return json_pack("{s:I, s:I, s:I}", "packets", (json_int_t)s->packets,
			 "bytes", (json_int_t)s->bytes, "errors",
			 (json_int_t)s->errors);
}

static json_t *reported_endpoint(const struct sockaddr_storage *at)
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
static struct node_stream *stream_from(struct ng_service *sv,
				       const struct ng_dialog *d, unsigned line,
				       unsigned i)
{
	uint32_t id = d->stream[line].node_call;
	struct node_call *c = id ? node_call_find(sv->node, id) : NULL;

	return c ? node_call_stream(c, i) : NULL;
}

static struct sums rtp_sums_of(const struct node_endpoint_info *endpoint,
			       const struct node_stream_info *stream)
{
	struct sums s = {
		.packets = endpoint->packets,
		.errors = endpoint->wrong_source + endpoint->wrong_ssrc +
			  endpoint->probation,
	};

	if (stream) {
		s.bytes = stream->count.octets_in;
		s.errors += stream->count.malformed + stream->count.wrong_pt;
	}
	return s;
}

static json_int_t in(cr_ns t, cr_ns unit)
{
	return (json_int_t)((t + unit / 2) / unit);
}

/* --- how it sounds --- */

/* Fewer packets are no sample. */
enum { SAMPLE_PACKETS = 25 };

/* Make a sample of what came from the party of @endpoint since @since. False:
 * nothing is known. */
static bool sample_endpoint(const struct node_endpoint_info *endpoint,
			    struct node_stream *from,
			    const struct record_loss *since,
			    struct record_loss *now, struct ng_sample *out)
{
	const struct endpoint_rtcp_info *near = &endpoint->rtcp.leads, *far;
	struct node_stream_info stream;
	struct record_quality q;

	if (!from || !node_stream_quality(from, since, now, &q))
		return false;
	node_stream_info(from, &stream);
	far = &stream.rtcp.leads;
	*out = (struct ng_sample){
		.mos = q.mos,
		.loss = q.loss,
		.jitter = near->jitter,
		.rtt_endpoint = near->round_trips ? near->rtt_mean : 0,
		.at = clock_read(CLOCK_REALTIME) / CR_SEC,
	};
	if (near->round_trips && far->round_trips)
		out->rtt = near->rtt_mean + far->rtt_mean;
	return true;
}

static void take_quality_sample(const struct node_endpoint_info *endpoint,
				struct node_stream *from,
				struct ng_endpoint *to)
{
	struct ng_samples *s = to->sounds;
	struct record_loss none = { 0 }, now;
	struct ng_sample one;

	if (!endpoint->rtcp.is || !endpoint->rtcp.leads.heard ||
	    !sample_endpoint(endpoint, from, s ? &s->until : &none, &now, &one))
		return;
	if (s && now.expected >= s->until.expected &&
	    now.expected - s->until.expected < SAMPLE_PACKETS)
		return;
	if (!s)
		s = to->sounds = calloc(1, sizeof(*s));
	if (!s)
		return; /* another time */
	if (!s->n || one.mos < s->lowest.mos)
		s->lowest = one;
	if (!s->n || one.mos > s->highest.mos)
		s->highest = one;
	s->n++;
	s->until = now;
}

/* Its end: @last, of so many samples, or when it was. */
static json_t *reported_sample(const struct ng_sample *s, const char *last,
			       json_int_t value)
{
	return json_pack("{s:i, s:I, s:I, s:I, s:i, s:I}", "MOS",
			 (int)(s->mos * 10 + 0.5), "round-trip time",
			 in(s->rtt, CR_US), "round-trip time leg",
			 in(s->rtt_endpoint, CR_US), "jitter",
			 in(s->jitter, CR_MS), "packet loss",
			 (int)(s->loss * 100 + 0.5), last, value);
}

/* Report how the party of @endpoint sounds, by its SSRC: of all that came so
 * far, and the worst and best parts of it. Round trips are known where there is
 * RTCP. */
static void report_ssrc(const struct node_endpoint_info *endpoint,
			struct node_stream *from, struct ng_endpoint *of,
			json_t *to)
{
	const struct endpoint_rtcp_info *seen = &endpoint->rtcp.leads;
	struct record_loss none = { 0 }, now;
	struct ng_sample all;
	json_t *about;
	char ssrc[16];

	if (!endpoint->rtcp.is || !seen->heard)
		return;
	if (!of->sounds) /* a short call */
		take_quality_sample(endpoint, from, of);
	(void)snprintf(ssrc, sizeof(ssrc), "%" PRIu32, seen->ssrc);
	about = json_pack("{s:I}", "cumulative loss", (json_int_t)seen->lost);
	(void)json_object_set_new(to, ssrc, about);
	if (!of->sounds || !sample_endpoint(endpoint, from, &none, &now, &all))
		return;
	(void)json_object_set_new(
		about, "average MOS",
		reported_sample(&all, "samples", of->sounds->n));
	(void)json_object_set_new(about, "lowest MOS",
				  reported_sample(&of->sounds->lowest,
						  "reported at",
						  of->sounds->lowest.at));
	(void)json_object_set_new(about, "highest MOS",
				  reported_sample(&of->sounds->highest,
						  "reported at",
						  of->sounds->highest.at));
}

static void sample_line(struct ng_service *sv, const struct ng_dialog *d,
			unsigned line)
{
	for (unsigned i = 0; i < 2; i++) {
		struct ng_endpoint *endpoint = &d->side[i]->endpoint[line];
		const struct node_endpoint *ep =
			node_endpoint_find(sv->node, endpoint->id);
		struct node_endpoint_info about;

		if (!ep)
			continue;
		node_endpoint_info(ep, &about);
		take_quality_sample(&about, stream_from(sv, d, line, i),
				    endpoint);
	}
}

void ng_take_samples(struct ng_service *sv, struct ng_call *call)
{
	struct ng_dialog *d;

	LIST_FOREACH(d, &call->dialogs, link)
	for (unsigned k = 0; k < d->nlines; k++)
		if (d->stream[k].node_call)
			sample_line(sv, d, k);
}

/* A port of @endpoint, of RTP or RTCP. */
static json_t *reported_port(const struct node_endpoint_info *endpoint,
			     const char *kind, unsigned port,
			     const struct sums *sums)
{
	const struct endpoint_rtcp_info *seen = &endpoint->rtcp.leads;

	return json_pack("{s:i, s:o*, s:[s], s:o, s:o*}", "local port",
			 (int)port, "endpoint",
			 strcmp(kind, "RTP") ? NULL
					     : reported_endpoint(&endpoint->to),
			 "flags", kind, "stats", reported_sums(sums), "SSRC",
			 endpoint->rtcp.is && seen->heard
				 ? json_integer((json_int_t)seen->ssrc)
				 : NULL);
}

/* Line @line of side @i. */
static json_t *reported_media(struct ng_service *sv, const struct ng_dialog *d,
			      unsigned i, unsigned line, struct totals *total)
{
	struct ng_endpoint *endpoint = &d->side[i]->endpoint[line];
	const struct node_endpoint *ep =
		node_endpoint_find(sv->node, endpoint->id);
	const struct codec_list *spoken = d->stream[line].spoken;
	struct node_stream *from = stream_from(sv, d, line, i);
	struct sockaddr_storage local = { 0 };
	struct node_stream_info stream;
	struct node_endpoint_info about;
	struct sums rtp, rtcp;
	unsigned port;
	json_t *media;
	const struct endpoint_rtcp_info *r;

	if (!ep)
		return NULL;
	node_endpoint_info(ep, &about);
	if (from)
		node_stream_info(from, &stream);
	rtp = rtp_sums_of(&about, from ? &stream : NULL);
	r = &about.rtcp.leads;
	rtcp = (struct sums){ .packets = r->packets_in,
			      .bytes = r->octets_in,
			      .errors = r->refused + r->foreign };
	add_sums(&total->rtp, &rtp);
	add_sums(&total->rtcp, &rtcp);
	report_ssrc(&about, from, endpoint, total->ssrc);
	port = ng_endpoint_local(sv->node, endpoint, &local)
		       ? address_port(&local)
		       : 0;
	media = json_pack(
		"{s:i, s:s, s:s, s:[], s:[o, o]}", "index", (int)line + 1,
		"type", "audio", "protocol", "RTP/AVP", "flags", "streams",
		reported_port(&about, "RTP", port, &rtp),
		reported_port(&about, "RTCP", port + !endpoint->mux, &rtcp));
	if (endpoint->mux)
		(void)json_array_append_new(json_object_get(media, "flags"),
					    json_string("rtcp-mux"));
	if (from) {
		(void)json_array_append_new(
			json_object_get(media, "flags"),
			json_string(stream.relay ? "passthrough"
						 : "transcoding"));
		if (spoken) { /* "opus/48000/2" */
			const struct sdp_format *f = &spoken->item[i].format;

			(void)json_object_set_new(
				media, "codec",
				json_sprintf(f->channels > 1 ? "%s/%u/%u"
							     : "%s/%u",
					     f->name, f->rate, f->channels));
		}
	}
	return media;
}

static void report_side(struct ng_service *sv, const struct ng_dialog *d,
			unsigned i, json_t *tags, struct totals *total)
{
	const struct ng_side *s = d->side[i], *peer = d->side[!i];
	const char *tag = s->tag ? s->tag : "";
	json_t *medias = json_array(), *about;

	for (unsigned k = 0; k < d->nlines; k++)
		if (s->endpoint[k].id)
			(void)json_array_append_new(
				medias, reported_media(sv, d, i, k, total));
	about = json_pack("{s:o, s:I, s:o, s:o*}", "tag",
			  json_string_nocheck(tag), "created",
			  (json_int_t)(s->created / CR_SEC), "medias", medias,
			  "in dialogue with",
			  peer->tag ? json_string_nocheck(peer->tag) : NULL);
	(void)json_object_set_new_nocheck(tags, tag, about);
}

void ng_report_call(struct ng_service *sv, struct ng_call *call,
		    const struct ng_dialog_key *key, json_t *reply)
{
	json_t *tags = json_object();
	struct totals total = { .ssrc = json_object() };
	struct ng_dialog *d;

	LIST_FOREACH(d, &call->dialogs, link)
	if (ng_dialog_matches(d, key))
		for (unsigned i = 0; i < 2; i++)
			if (!d->side[i]->tag ||
			    !json_object_get(tags, d->side[i]->tag))
				report_side(sv, d, i, tags, &total);
	(void)json_object_set_new(reply, "created",
				  json_integer(call->created / CR_SEC));
	(void)json_object_set_new(reply, "last signal",
				  json_integer(call->last_signalled / CR_SEC));
	(void)json_object_set_new(reply, "tags", tags);
	(void)json_object_set_new(reply, "totals",
				  json_pack("{s:o, s:o}", "RTP",
					    reported_sums(&total.rtp), "RTCP",
					    reported_sums(&total.rtcp)));
	(void)json_object_set_new(reply, "SSRC", total.ssrc);
}

unsigned long long ng_call_packets(struct ng_service *sv,
				   const struct ng_call *call)
{
	unsigned long long packets = 0;
	const struct ng_side *s;
	struct node_endpoint_info about;

	LIST_FOREACH(s, &call->sides, link)
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		const struct node_endpoint *ep =
			s->endpoint[i].id ? node_endpoint_find(
						    sv->node, s->endpoint[i].id)
					  : NULL;

		if (!ep)
			continue;
		node_endpoint_info(ep, &about);
		packets += about.packets;
		if (about.rtcp.is) /* all that comes of a party on hold */
			packets += about.rtcp.is->packets_in;
	}
	return packets;
}

/* --- the node --- */

static json_t *reported_asked(const struct ng_counts *c)
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

static json_t *reported_listener(const struct ng_listener *l)
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

void ng_report_statistics(struct ng_service *sv, json_t *reply)
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
			  reported_asked(c), "listener",
			  reported_listener(sv->listener)));
}
