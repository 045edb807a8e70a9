/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offers: endpoints are opened towards both sides, and the other side is told
 * ours and the codecs that it may choose from. Nothing that was answered is
 * touched before the answer, which may never come. Else what the other side
 * sends before it (early media, RFC 3960) is passed on as if it had answered
 * with all that it was offered. And what an offer has in common with its
 * answer: what a line of a description means for its party's spec and for the
 * call of two streams, and the description that is passed on.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/ng_service_impl.h"
#include "node/call_check.h"
#include "node/node_endpoint.h"

/* A call with many lines may need the room of several. */
enum { DISPLACES = 8 };

/* A description is kept as it came, as it was passed on, and as lines, twice.
 */
enum { COPIES = 4 };

struct ng_exchange *ng_exchange_begin(struct ng_service *sv,
				      struct ng_dialog *d, unsigned by)
{
	struct ng_exchange *x = &sv->exchange;

	memset(x, 0, offsetof(struct ng_exchange, format));
	x->sv = sv;
	x->d = d;
	x->by = by;
	return x;
}

void ng_exchange_end(struct ng_exchange *x)
{
	free(x->draft.text);
	free(x->draft.copy);
	sdp_free(x->sdp);
}

void ng_warn(struct ng_service *sv, const char *fmt, ...)
{
	struct cr_err *warning = &sv->request.warning;
	size_t n = strlen(warning->text);
	va_list ap;

	if (n && n + 3 < sizeof(warning->text))
		n += (size_t)snprintf(warning->text + n,
				      sizeof(warning->text) - n, "; ");
	va_start(ap, fmt);
	(void)vsnprintf(warning->text + n, sizeof(warning->text) - n, fmt, ap);
	va_end(ap);
}

/* --- what a line means for its party --- */

/* ms: all codecs have packets of a multiple of it, or none that fits; and what
 * is sent where nobody has said anything (RFC 3551, 4.2), or the next that the
 * codec has, up to LONG: G.723.1 has 30. */
enum { STEP = 10, USUAL = 20, LONG = 60 };

/* The address of the party of @line. No family: not known. */
static struct sockaddr_storage party_address(
	const struct sdp_line *line, const struct sockaddr_storage *host)
{
	struct sockaddr_storage at = line->rtp;

	if (line->held)
		return (struct sockaddr_storage){ 0 };
	if (host->ss_family) {
		at = *host;
		address_set_port(&at, address_port(&line->rtp));
	}
	return at;
}

/* The address for RTCP by "a=rtcp", as endpoint_spec has it. */
static struct sockaddr_storage party_rtcp_address(
	const struct sdp_line *line, const struct sockaddr_storage *host)
{
	struct sockaddr_storage rtp = party_address(line, host);
	struct sockaddr_storage at = host->ss_family ? *host : line->rtcp;

	/* RTP's number is for parties with RTCP there, and a fallback */
	if (!line->rtcp_said || !rtp.ss_family ||
	    line->rtcp.ss_family != rtp.ss_family || address_any(&line->rtcp) ||
	    (line->mux && address_equal(&line->rtcp, &line->rtp)))
		return (struct sockaddr_storage){ 0 };
	address_set_port(&at, address_port(&line->rtcp));
	return at;
}

enum sdp_mode ng_line_mode(const struct sdp_line *line)
{
	return line->held ? (enum sdp_mode)(line->mode & SDP_SENDONLY)
			  : line->mode;
}

/* Can @side be sent in packets of @ms? A request that its codec cannot have is
 * none. */
static cr_ns packet_time(const struct codec_use *side, unsigned ms)
{
	struct codec_use sent = *side;
	struct cr_err e;
	cr_ns t = (cr_ns)ms * CR_MS;

	if (t < CALL_PTIME_MIN || t > CALL_PTIME_MAX ||
	    codec_use_check(&sent, "", &e) || packet_time_set(&sent, t, "", &e))
		return 0;
	return t;
}

/* The packet time of what is sent. Without a word about it packets are as
 * usual, or as long as those that they are made from: 0, unless that is too
 * long. */
static cr_ns sent_packet_time(const struct codec_use *side,
			      const struct sdp_line *line,
			      const struct ng_packets *p)
{
	unsigned request = p->ptime ? p->ptime : line->ptime;
	unsigned comes = p->comes ? p->comes : USUAL;
	unsigned most = line->maxptime;
	cr_ns time = 0;

	if (!strcmp(side->name, cr_codec_relayed.name))
		return 0; /* it is passed on */
	if (!request && !most && p->apart)
		request = USUAL;
	if (!most || (request ? request : comes) <= most)
		return packet_time(side, request);
	/* as long as its codec can have them, and it wants them */
	for (unsigned ms = most - most % STEP; ms && !time; ms -= STEP)
		time = packet_time(side, ms);
	return time;
}

void ng_spec_packets(struct endpoint_spec *to, const struct sdp_line *line,
		     const struct ng_packets *p)
{
	to->ptime = sent_packet_time(&to->side, line, p);
	/* as usual where nothing is said: what was said before is over */
	to->in_ptime = p->in_ptime ? packet_time(&to->side, p->in_ptime) : 0;
	for (unsigned ms = USUAL; ms <= LONG && !to->in_ptime; ms += STEP)
		to->in_ptime = packet_time(&to->side, ms);
}

void ng_spec_locate(struct endpoint_spec *to, const struct sdp_line *line,
		    const struct sockaddr_storage *host, int learn)
{
	to->address = party_address(line, host);
	to->rtcp_address = party_rtcp_address(line, host);
	to->learn = learn;
	to->hold = !(ng_line_mode(line) & SDP_RECVONLY);
}

/* --- endpoints and calls of lines --- */

/* Nobody else has it. */
static void end_node_call(struct node_endpoint *ep)
{
	if (ep->call)
		node_call_stop(ep->call, NODE_END_STOPPED,
			       &(struct node_who){ .by = NODE_BY_PROXY });
}

void ng_endpoint_close(struct node *n, struct ng_endpoint *l)
{
	struct node_endpoint *ep = l->id ? node_endpoint_find(n, l->id) : NULL;
	struct cr_err e;

	l->id = 0;
	free(l->sounds);
	l->sounds = NULL;
	if (!ep)
		return;
	end_node_call(ep);
	(void)node_endpoint_close(ep, &e);
}

bool ng_stream_runs(struct node *n, const struct ng_stream *s)
{
	return !s->node_call || node_call_find(n, s->node_call);
}

void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who)
{
	struct node_call *c = node_call_find(n, s->node_call);

	s->node_call = 0;
	if (c)
		node_call_stop(c, why, who);
}

static int begin_node_call(struct ng_service *sv, struct ng_dialog *d,
			   unsigned i, const struct endpoint_spec to[2],
			   struct node_call_change **change, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;

	r.port = CALL_PORT_EACH;
	r.label = d->call->id;
	for (unsigned k = 0; k < 2; k++) {
		struct node_endpoint *ep = node_endpoint_find(
			sv->node, d->side[k]->endpoint[i].id);

		r.end[k].endpoint = d->side[k]->endpoint[i].id;
		if (ep)
			end_node_call(ep); /* another branch's */
	}
	return node_call_prepare_start(sv->node, &r, to, &sv->lacks, change, e);
}

int ng_stream_prepare(struct ng_service *sv, struct ng_dialog *d, unsigned i,
		      const struct endpoint_spec to[2],
		      struct node_call_change **change, struct cr_err *e)
{
	struct node_call *c = node_call_find(sv->node, d->stream[i].node_call);

	return c ? node_call_prepare(c, to, &sv->lacks, change, e)
		 : begin_node_call(sv, d, i, to, change, e);
}

struct node_call *ng_stream_commit(struct ng_stream *s,
				   struct node_call_change *change)
{
	struct node_call *c = node_call_commit(change);

	s->node_call = node_call_id(c);
	return c;
}

void ng_stream_set_early(struct node *n, struct ng_stream *s, bool early)
{
	struct node_call *c = node_call_find(n, s->node_call);

	s->early = early;
	if (c)
		node_call_set_early(c, early);
}

/* By what both say of their codecs. */
static int weigh_new(struct ng_service *sv, const struct endpoint_spec to[2],
		     const struct node_call_promise *promised, int64_t *ppm,
		     struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;

	r.port = CALL_PORT_EACH;
	for (unsigned i = 0; i < 2; i++) {
		r.end[i] = to[i];
		r.end[i].address.ss_family = AF_UNSPEC;
		r.end[i].rtcp_address.ss_family = AF_UNSPEC;
		r.end[i].learn = -1;
		r.end[i].types.noise = 0;
	}
	return node_call_weigh(sv->node, &r, promised, ppm, &sv->lacks, e);
}

int ng_stream_weigh(struct ng_service *sv, const struct ng_stream *s,
		    const struct endpoint_spec to[2],
		    struct node_call_promise *promised, struct cr_err *e)
{
	struct node_call *c = node_call_find(sv->node, s->node_call);
	int64_t ppm = 0;
	int err =
		c ? node_call_weigh_change(c, to, promised, &ppm, &sv->lacks, e)
		  : weigh_new(sv, to, promised, &ppm, e);

	if (err)
		return err;
	promised->ppm += ppm;
	promised->calls += c ? 0 : 1;
	return 0;
}

/* --- descriptions --- */

bool ng_line_is_carried(const struct ng_exchange *x, unsigned i)
{
	const struct sdp_line *l = sdp_line(x->sdp, i);

	if (l->refused)
		return false;
	if (!l->audio)
		ng_warn(x->sv, "line %u: %.20s: this node has audio only",
			i + 1, l->media);
	else if (l->transport > SDP_RTP_FB)
		ng_warn(x->sv, "line %u: %.20s: this node has no %s", i + 1,
			l->proto,
			l->transport == SDP_SECURE ? "SRTP" : "such transport");
	else
		return true;
	return false;
}

int ng_check_room(struct ng_exchange *x, unsigned lines, unsigned what,
		  struct cr_err *e)
{
	const struct ng_dialog *d = x->d;

	x->due_lines = lines;
	x->due_octets = COPIES * x->sv->request.sdp_bytes;
	if (!what)
		x->due_octets += sizeof(*d) + 2 * sizeof(struct ng_side);
	return ng_due_check(&x->sv->shares, &d->due, lines,
			    x->due_octets + d->octets[!what], e);
}

void ng_take_room(const struct ng_exchange *x, unsigned what)
{
	struct ng_dialog *d = x->d;
	struct cr_err e;

	d->octets[what] = x->due_octets;
	(void)ng_due_change(&x->sv->shares, &d->due, x->due_lines,
			    d->octets[0] + d->octets[1], &e);
}

int ng_describe_line(struct ng_exchange *x, unsigned i,
		     const struct sdp_line *from,
		     const struct ng_endpoint *endpoint, int rtcp,
		     struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	struct sdp_line_out *out = &x->out[i];

	out->mode = ng_line_mode(from);
	out->maxptime = from->maxptime >= out->ptime ? from->maxptime : 0;
	out->formats = x->format[i];
	if (!ng_endpoint_local(x->sv->node, endpoint, &out->rtp))
		return cr_fail(e, -ESRCH, "an endpoint of it has ended");
	if (rtcp >= 0 && !r->no_rtcp)
		out->rtcp_port = address_port(&out->rtp) + (unsigned)rtcp;
	out->rtcp_host = rtcp >= 0 && r->full_rtcp;
	return 0;
}

/* Refused lines are where the endpoints towards @to are, or the node's first
 * interface: a description in which all are refused says so. All are where the
 * request wants them to be said to be. */
static void place_lines(struct ng_exchange *x, const struct ng_side *to)
{
	const struct sockaddr_storage *shown = &x->sv->request.shown;
	struct node *n = x->sv->node;
	struct sockaddr_storage at = { 0 };
	struct node_interface_info first;

	for (unsigned i = 0; i < SDP_LINES_MAX && !at.ss_family; i++)
		if (!to->endpoint[i].id ||
		    !ng_endpoint_local(n, &to->endpoint[i], &at))
			at.ss_family = AF_UNSPEC;
	if (!at.ss_family && node_interface(n, 0, &first) &&
	    address_parse_host(first.advertised, &at))
		at.ss_family = AF_UNSPEC;
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		struct sockaddr_storage *rtp = &x->out[i].rtp;
		unsigned port;

		if (x->out[i].refused)
			*rtp = at;
		if (!shown->ss_family || !rtp->ss_family)
			continue;
		port = address_port(rtp);
		*rtp = *shown;
		address_set_port(rtp, port);
	}
}

/* Its version rises by one from each description of @to to the next that is
 * another one (RFC 3264, 8), or, where the request wants that, to any. */
static int write_as(const struct ng_exchange *x, struct sdp_out *out,
		    const struct ng_side *to, char text[NG_BYTES_MAX],
		    struct cr_err *e)
{
	long n;

	out->version = to->version ? to->version : sdp_version(x->sdp);
	n = sdp_write(x->sdp, out, text, NG_BYTES_MAX, e);
	if (n >= 0 && out->own_version && to->text &&
	    (x->sv->request.version_rises || strcmp(to->text, text) != 0)) {
		out->version++;
		n = sdp_write(x->sdp, out, text, NG_BYTES_MAX, e);
	}
	return n == -ENOSPC ? -EMSGSIZE : n < 0 ? (int)n : 0;
}

int ng_draft_write(struct ng_exchange *x, const struct ng_side *to,
		   struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	char buf[NG_BYTES_MAX];
	struct sdp_out out = {
		.lines = x->out,
		.origin = r->origin,
		.connection = r->connection,
		.own_version = r->version,
	};
	int err;

	place_lines(x, to);
	err = write_as(x, &out, to, buf, e);
	if (err)
		return err;
	x->draft = (struct ng_draft){ .text = strdup(buf),
				      .copy = r->version ? strdup(buf) : NULL,
				      .version = out.version };
	return x->draft.text && (x->draft.copy || !r->version)
		       ? 0
		       : cr_fail(e, -ENOMEM, "out of memory for an SDP");
}

char *ng_draft_report(struct ng_exchange *x, struct ng_side *to)
{
	char *text = x->draft.text;

	to->version = x->draft.version;
	if (x->draft.copy) {
		free(to->text);
		to->text = x->draft.copy;
	}
	x->draft = (struct ng_draft){ 0 };
	return text;
}

/* --- endpoints --- */

/* Open the endpoint of line @i towards @side as @to says, unless it is open. 0;
 * or as node_endpoint_open(), with @e. */
static int open_ng_endpoint(struct ng_exchange *x, unsigned i, unsigned side,
			    const struct endpoint_spec *to, struct cr_err *e)
{
	struct node *n = x->sv->node;
	struct ng_endpoint *l = &x->d->side[side]->endpoint[i];
	struct node_endpoint *ep;
	int err;

	if (l->id && node_endpoint_find(n, l->id))
		return 0;
	err = node_endpoint_open(n, to, &endpoint_own_names, &ep, e);
	if (err)
		return err;
	ep->opened = ep->noted = x->opened[i][side] = true;
	free(l->sounds);
	*l = (struct ng_endpoint){ .id = ep->id };
	return 0;
}

bool ng_endpoint_local(struct node *n, const struct ng_endpoint *l,
		       struct sockaddr_storage *out)
{
	const struct node_endpoint *ep = node_endpoint_find(n, l->id);
	char text[NODE_ADDRESS_MAX];

	if (!ep)
		return false;
	node_endpoint_address(ep, text, sizeof(text));
	return !address_parse(text, out);
}

/* The name of its interface. NULL: it has ended. */
static const char *interface_of(struct node *n, const struct ng_endpoint *l)
{
	const struct node_endpoint *ep = node_endpoint_find(n, l->id);

	return ep ? ep->interface->cfg.name : NULL;
}

/* Return the interface of the endpoints that a side has already. */
static const char *usual_interface(const struct ng_exchange *x, unsigned side)
{
	const struct ng_side *s = x->d->side[side];
	const char *name = NULL;

	for (unsigned i = 0; i < SDP_LINES_MAX && !name; i++)
		if (s->endpoint[i].id)
			name = interface_of(x->sv->node, &s->endpoint[i]);
	return name;
}

/* The one that the request wants towards the party @i, or the first that has
 * this name but for capitals and the like; NULL: none, or one that there is
 * not. */
static const char *wanted_interface(const struct ng_exchange *x, unsigned i)
{
	const char *name = x->sv->request.interface[i];
	const char *like = NULL;
	struct node_interface_info info;

	for (unsigned k = 0; name && node_interface(x->sv->node, k, &info);
	     k++) {
		if (!strcmp(info.name, name))
			return name;
		if (!like && ng_is_named(name, info.name))
			like = info.name;
	}
	return like;
}

static int party_family(int family)
{
	return family == AF_INET    ? PARTY_IPV4
	       : family == AF_INET6 ? PARTY_IPV6
				    : PARTY_ANY;
}

static int open_endpoints(struct ng_exchange *x, unsigned i,
			  const struct sdp_line *l, struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	struct node *n = x->sv->node;
	const struct ng_endpoint *near = &x->d->side[x->by]->endpoint[i];
	struct endpoint_spec to = ENDPOINT_SPEC_UNSAID;
	const char *wanted = wanted_interface(x, 0);
	struct sockaddr_storage local;
	int err;

	to.interface = wanted ? wanted : usual_interface(x, x->by);
	ng_spec_locate(&to, l, &r->host, to.learn);
	if (to.address.ss_family)
		to.learn = r->learn;
	to.hold = 0; /* that comes with an answer */
	err = open_ng_endpoint(x, i, x->by, &to, e);
	if (err)
		return err;
	to = (struct endpoint_spec)ENDPOINT_SPEC_UNSAID;
	wanted = wanted_interface(x, 1);
	to.interface = wanted ? wanted : usual_interface(x, !x->by);
	to.family = party_family(r->family);
	if (!to.interface && !r->family) { /* as towards the offerer */
		if (!r->interface[1])
			to.interface = interface_of(n, near);
		if (ng_endpoint_local(n, near, &local))
			to.family = party_family(local.ss_family);
	}
	return open_ng_endpoint(x, i, !x->by, &to, e);
}

/* --- codecs --- */

/* A rule that cannot be followed, or "all" of it. */
static void warn_unmet(const struct ng_exchange *x, unsigned i,
		       const char *rule, const char *codec, unsigned why)
{
	static const char *const whys[] = {
		[CODEC_LACKING] = "this node has no such codec",
		[CODEC_NO_SOURCE] = "the offerer has nothing that it could "
				    "be made from",
		[CODEC_NO_TYPE] = "no payload type is left for it",
		[CODEC_NEEDED] = "it would leave nothing: it is not done",
	};

	if (why != CODEC_MET)
		ng_warn(x->sv, "line %u: codec %s %s: %s", i + 1, rule, codec,
			whys[why]);
}

static int list_codecs(struct ng_exchange *x, unsigned i, struct cr_err *e)
{
	const struct codec_rules *r = &x->sv->request.codecs;
	struct codec_offer made;
	int err;

	made.line = sdp_line(x->sdp, i);
	made.rules = r;
	made.spoken = x->d->stream[i].spoken
			      ? &x->d->stream[i].spoken->item[!x->by].format
			      : NULL;
	err = codec_offer_make(&made, &x->line[i].offered.list, e);
	if (err)
		return err;
	for (unsigned k = 0; k < CODEC_RULES; k++)
		warn_unmet(x, i, codec_rule_names[k],
			   r->full[k] ? "full" : "all", made.unmet_all[k]);
	for (unsigned k = 0; k < r->n; k++)
		warn_unmet(x, i, codec_rule_names[r->item[k].rule],
			   r->item[k].name, made.unmet[k]);
	return 0;
}

/* --- lines --- */

/* The offerer has RTCP at RTP's port with us; the other side is offered what
 * the rules want, and what it has agreed to before. */
static unsigned mux_of(const struct ng_request *r, const struct sdp_line *l,
		       const struct ng_endpoint *far)
{
	unsigned mux = 0;

	if (l->mux && !(r->mux & NG_MUX_REJECT))
		mux |= NG_MUX_NEAR;
	if (r->mux & NG_MUX_REQUIRE)
		return mux | NG_MUX_FAR | NG_MUX_SURE;
	if ((r->mux & NG_MUX_OFFER) || (far->mux && !(r->mux & NG_MUX_DEMUX)))
		mux |= NG_MUX_FAR;
	return mux;
}

static int pass_on(struct ng_exchange *x, unsigned i, const struct sdp_line *l,
		   struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	const struct ng_endpoint *far = &x->d->side[!x->by]->endpoint[i];
	struct ng_offered *o = &x->line[i].offered;

	o->mux = mux_of(r, l, far);
	/* as the proxy asks: of all, or of the codec that is best */
	o->ptime = r->ptime ? r->ptime : codec_best_shown(o->list)->ptime;
	o->ptime_signalled = o->ptime ? o->ptime : l->ptime;
	o->ptime_back = r->ptime_reverse;
	x->out[i] = (struct sdp_line_out){
		.proto = r->proto ? r->proto : l->proto,
		.mux = o->mux & NG_MUX_FAR,
		.ptime = o->ptime_signalled,
		.nformats = codec_shown(o->list, x->format[i]),
	};
	return ng_describe_line(x, i, l, far, !(o->mux & NG_MUX_SURE), e);
}

static int carry(struct ng_exchange *x, unsigned i, struct cr_err *e)
{
	const struct sdp_line *l = sdp_line(x->sdp, i);
	int err = list_codecs(x, i, e);

	if (err)
		return err;
	if (!codec_best_shown(x->line[i].offered.list)) {
		ng_warn(x->sv, "line %u: this node has no codec of it", i + 1);
		free(x->line[i].offered.list);
		x->out[i].refused = true;
		return 0;
	}
	x->carried[i] = true;
	if (l->ice && !x->ncarried)
		ng_warn(x->sv, "ICE: this node has none");
	x->ncarried++;
	err = open_endpoints(x, i, l, e);
	return err ? err : pass_on(x, i, l, e);
}

/* A line that was carried before goes on. */
static bool has_room_for_line(struct ng_exchange *x, unsigned i)
{
	unsigned most = x->sv->shares.most.lines_of_call;

	if (x->ncarried < most || x->d->stream[i].offered.list)
		return true;
	ng_warn(x->sv,
		"line %u: a call has no more (--ng-call-lines "
		"%u)",
		i + 1, most);
	return false;
}

/* One that is repeated: the other side was offered just these lines. */
static int carry_again(struct ng_exchange *x, unsigned i, struct cr_err *e)
{
	int err = 0;

	x->out[i].refused = !x->sv->repeated[i];
	if (x->sv->repeated[i] && ng_line_is_carried(x, i))
		err = carry(x, i, e);
	if (err || x->carried[i] == x->sv->repeated[i])
		return err;
	return cr_fail(e, -ENOTSUP,
		       "this process cannot carry line %u of an offer that "
		       "another one has accepted",
		       i + 1);
}

static int carry_lines(struct ng_exchange *x, struct cr_err *e)
{
	unsigned n = sdp_lines(x->sdp);
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++)
		if (x->sv->repeated)
			err = carry_again(x, i, e);
		else if (ng_line_is_carried(x, i) && has_room_for_line(x, i))
			err = carry(x, i, e);
		else
			x->out[i].refused = true;
	if (err || x->ncarried || !*x->sv->request.warning.text)
		return err;
	return cr_fail(e, -ENOTSUP, "%s", x->sv->request.warning.text);
}

/* --- before the answer --- */

/* Has another branch of the call been answered that has an endpoint of line @i?
 */
static bool is_anothers(const struct ng_exchange *x, unsigned i)
{
	const struct ng_dialog *d = x->d, *of;
	const struct ng_side *by = d->side[x->by];

	LIST_FOREACH(of, &d->call->dialogs, link)
	if (of != d && of->stream[i].node_call && !of->stream[i].early &&
	    (of->side[0] == by || of->side[1] == by) &&
	    ng_stream_runs(x->sv->node, &of->stream[i]))
		return true;
	return false;
}

/* Let line @i pass on what comes before the answer, as if the other side had
 * answered with all that it is offered. How long packets are is left to the
 * answer. False: nothing may. */
static bool early_specs(struct ng_exchange *x, unsigned i)
{
	const struct ng_stream *s = &x->d->stream[i];
	const struct ng_request *r = &x->sv->request;
	const struct sdp_line all = { .formats = x->out[i].formats,
				      .nformats = x->out[i].nformats };
	struct endpoint_spec *to = x->line[i].to;
	struct cr_err e;

	if ((s->node_call && ng_stream_runs(x->sv->node, s) && !s->early) ||
	    is_anothers(x, i))
		return false;
	x->settled.party[0] = &to[x->by];
	x->settled.party[1] = &to[!x->by];
	if (codec_settle(&x->settled, x->line[i].offered.list, &all, false, &e))
		return false;
	ng_spec_locate(&to[x->by], sdp_line(x->sdp, i), &r->host, r->learn);
	return true;
}

/* An early call has what was promised to it; one for which there is no
 * room does not begin. */
static void begin_early(struct ng_exchange *x, unsigned i)
{
	struct ng_service *sv = x->sv;
	struct ng_stream *s = &x->d->stream[i];
	struct node_call_change *change;
	struct cr_err e;

	if (!x->carried[i] || !x->line[i].early ||
	    ng_stream_prepare(sv, x->d, i, x->line[i].to, &change, &e))
		return;
	(void)ng_stream_commit(s, change);
	ng_stream_set_early(sv->node, s, true);
	ng_release(sv, s);
}

/* --- what it will need --- */

/* Settle on what the other side is offered first: @to, in the order of sides,
 * without addresses. */
static int guess(struct ng_exchange *x, unsigned i, struct endpoint_spec to[2],
		 struct cr_err *e)
{
	const struct ng_offered *o = &x->line[i].offered;
	const unsigned ptime[] = { o->ptime_back, o->ptime_signalled };
	const struct sdp_line best = {
		.formats = &codec_best_shown(o->list)->format, .nformats = 1
	};
	int err;

	x->settled.party[0] = &to[x->by];
	x->settled.party[1] = &to[!x->by];
	err = codec_settle(&x->settled, o->list, &best, false, e);
	for (unsigned k = 0; k < 2 && !err; k++)
		ng_spec_packets(x->settled.party[k], sdp_line(x->sdp, i),
				&(struct ng_packets){ .ptime = ptime[k],
						      .in_ptime = ptime[k],
						      .comes = ptime[!k] });
	return err;
}

void ng_release(struct ng_service *sv, struct ng_stream *s)
{
	sv->promised.ppm -= s->promised.ppm;
	sv->promised.calls -= s->promised.calls;
	s->promised = (struct node_call_promise){ 0 };
}

/* A line that goes on has its share; only what is beyond that is needed, and
 * @promised then. An offer that has to wait for costs waits before anything has
 * changed. */
static int weigh_line(struct ng_exchange *x, unsigned i,
		      struct node_call_promise *promised, struct cr_err *e)
{
	const struct node_call_promise before = *promised;
	const struct ng_stream *s = &x->d->stream[i];
	struct node_call_promise none = { 0 };
	struct endpoint_spec to[2];
	int err = guess(x, i, to, e);

	if (!err)
		err = ng_stream_weigh(x->sv, s, to, promised, e);
	if (err)
		return err;
	x->line[i].needs = (struct node_call_promise){
		.ppm = promised->ppm - before.ppm,
		.calls = promised->calls - before.calls,
	};
	x->line[i].early = early_specs(x, i);
	if (x->line[i].early &&
	    ng_stream_weigh(x->sv, s, x->line[i].to, &none, e) == -EAGAIN)
		return -EAGAIN;
	return 0;
}

/* One that is repeated was let in, and what comes before its answer is passed
 * on already. */
static void weigh_again(struct ng_exchange *x, unsigned i,
			struct node_call_promise *promised)
{
	struct cr_err e;

	if (weigh_line(x, i, promised, &e))
		x->line[i].needs = (struct node_call_promise){ 0 };
	x->line[i].early = false;
}

static int weigh_offer(struct ng_exchange *x, struct cr_err *e)
{
	struct node_call_promise others = x->sv->promised;
	int err = 0;

	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		others.ppm -= x->d->stream[i].promised.ppm;
		others.calls -= x->d->stream[i].promised.calls;
	}
	for (unsigned i = 0; i < SDP_LINES_MAX && !err; i++) {
		if (!x->carried[i])
			continue;
		if (x->sv->repeated)
			weigh_again(x, i, &others);
		else
			err = weigh_line(x, i, &others, e);
	}
	return err;
}

/* --- the whole --- */

static int make_offer(struct ng_exchange *x, struct cr_err *e)
{
	const struct ng_request *r = &x->sv->request;
	struct ng_service *sv = x->sv;
	struct ng_dialog *d = x->d;
	int err = sdp_read(&x->sdp, r->sdp, r->sdp_bytes, e);

	if (!err && sdp_lines(x->sdp) < d->nlines)
		err = cr_fail(e, -EINVAL,
			      "sdp: %u media lines, but there were %u before "
			      "(RFC 3264, 8)",
			      sdp_lines(x->sdp), d->nlines);
	if (!err && !d->due.share)
		err = ng_due_open(&sv->shares, &d->due, &x->sv->client->host,
				  e);
	if (!err && !d->known)
		err = ng_due_ring(&sv->shares, &d->due, true, e);
	if (!err)
		err = ng_check_room(x, sdp_lines(x->sdp), 0, e);
	for (unsigned i = 0; i < 2; i++)
		if (r->interface[i] && !wanted_interface(x, i))
			ng_warn(x->sv,
				"direction: no interface is called %.40s",
				r->interface[i]);
	if (!err)
		err = carry_lines(x, e);
	if (!err)
		err = weigh_offer(x, e);
	if (!err)
		err = ng_draft_write(x, d->side[!x->by], e);
	if (!err && json_object_set_new(x->sv->reply, "sdp",
					json_string_nocheck(x->draft.text)))
		err = cr_fail(e, -ENOMEM, "out of memory for the answer");
	return err;
}

/* All went well: this is what an answer is to, and what that needs is kept
 * free. */
static void commit_offer(struct ng_exchange *x)
{
	const struct ng_request *r = &x->sv->request;
	struct ng_service *sv = x->sv;
	struct ng_dialog *d = x->d;
	unsigned n = sdp_lines(x->sdp);

	ng_take_room(x, 0);
	free(ng_draft_report(x, d->side[!x->by]));
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		ng_release(sv, &d->stream[i]);
		if (!x->carried[i])
			continue;
		d->stream[i].promised = x->line[i].needs;
		sv->promised.ppm += x->line[i].needs.ppm;
		sv->promised.calls += x->line[i].needs.calls;
	}
	for (unsigned i = 0; i < n; i++)
		begin_early(x, i);
	sdp_free(d->offer);
	d->offer = x->sdp;
	x->sdp = NULL;
	d->offerer = x->by;
	d->host = r->host;
	d->learn = r->learn;
	free(d->answer);
	free(d->answered);
	d->answer = d->answered = NULL;
	for (unsigned i = 0; i < n; i++) {
		struct ng_offered *to = &d->stream[i].offered;

		free(to->list);
		*to = x->carried[i] ? x->line[i].offered
				    : (struct ng_offered){ 0 };
	}
	if (n > d->nlines)
		d->nlines = n;
	if (!d->known)
		ng_dialog_ring(sv, d, true);
	if (!sv->repeated)
		ng_keep_dialog(sv, d);
}

/* Give back what the offer had made for itself. */
static void drop_offer(struct ng_exchange *x)
{
	for (unsigned i = 0; i < SDP_LINES_MAX; i++) {
		if (x->carried[i])
			free(x->line[i].offered.list);
		for (unsigned k = 0; k < 2; k++)
			if (x->opened[i][k])
				ng_endpoint_close(x->sv->node,
						  &x->d->side[k]->endpoint[i]);
	}
}

static int offer_in(struct ng_dialog *d, struct ng_service *sv,
		    struct cr_err *e)
{
	struct ng_exchange *x = ng_exchange_begin(
		sv, d, ng_dialog_number(d, sv->request.key.from));
	int err = make_offer(x, e);

	if (!err)
		commit_offer(x);
	else
		drop_offer(x);
	ng_exchange_end(x);
	return err;
}

int ng_offer_repeat(struct ng_service *sv, struct ng_dialog *d,
		    const bool *carried, struct cr_err *e)
{
	int err;

	sv->repeated = carried;
	err = offer_in(d, sv, e);
	sv->repeated = NULL;
	return err;
}

/* Of some interface's less than an eighth are left: those of what ends come
 * back a moment later, which is too late for an offer that finds none. */
static bool ports_run_short(const struct node *n)
{
	struct node_interface_info info;

	for (unsigned i = 0; node_interface(n, i, &info); i++)
		if (info.ports && info.available <= info.ports / 8)
			return true;
	return false;
}

/* Offer; without room for it, end dialogs that have rung for long. */
static int offer_or_displace(struct ng_dialog *d, struct ng_service *sv,
			     struct cr_err *e)
{
	const struct cr_err before = sv->request.warning;
	int err = offer_in(d, sv, e);

	for (unsigned i = 0;
	     i < DISPLACES && err == -ENOSPC && ng_end_oldest(sv, d); i++) {
		sv->request.warning = before;
		err = offer_in(d, sv, e);
	}
	if (err == -EMFILE || ports_run_short(sv->node))
		(void)ng_end_oldest(sv, d);
	return err;
}

int ng_offer(struct ng_service *sv, struct cr_err *e)
{
	const struct ng_request *r = &sv->request;
	struct ng_call *call = sv->call;
	struct ng_dialog *d = call ? ng_dialog_of_offer(call, &r->key) : NULL;
	bool begins = !d;
	int err;

	if (!call) {
		call = ng_call_new(&sv->calls, r->call_id);
		if (!call)
			return cr_fail(e, -ENOMEM, "out of memory for a call");
		call->created = clock_read(CLOCK_REALTIME);
	}
	if (!d)
		d = ng_dialog_new(call, &r->key, clock_read(CLOCK_REALTIME));
	err = d ? offer_or_displace(d, sv, e)
		: cr_fail(e, -ENOMEM, "out of memory for a dialog");
	ng_call_signalled(call);
	sv->count.dialogs += !err && begins;
	if (err && begins && d)
		ng_end_dialog(sv, d, NODE_END_STOPPED, NULL);
	else if (err && !d && LIST_EMPTY(&call->dialogs))
		ng_call_free(&sv->calls, call);
	return err;
}
