/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of questions in the order in which they were asked; the first of them
 * are under way.
 */
#include "feeder/peer_ng.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "ng/message.h"
#include "sdp/fmtp.h"
#include "sdp/sdp.h"

#define TICK (50 * CR_MS)

struct question {
	struct question *next;
	char cookie[NG_COOKIE_MAX + 1];
	cr_ns asked, again; /* first, and due; 0: not yet */
	peer_ng_reply_fn *reply;
	void *arg;
	size_t bytes;
	char text[];
};

struct peer_ng {
	int fd;
	struct event *readable, *tick;
	struct question *first, **last;
	unsigned pending, in_flight;
	uint64_t serial;
	char tag[17];
	struct {
		peer_ng_reply_fn *reply; /* NULL: none watches */
		void *arg;
		cr_ns every, due;
		bool asked;
	} watch;
};

/* --- questions --- */

static void ask_now(struct peer_ng *p, struct question *q, cr_ns now)
{
	if (!q->asked) {
		q->asked = now;
		p->in_flight++;
	}
	q->again = now + PEER_NG_AGAIN;
	/* what is lost is sent again */
	(void)!send(p->fd, q->text, q->bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Those whose turn it is. */
static void send_waiting(struct peer_ng *p)
{
	cr_ns now = clock_now();

	for (struct question *q = p->first; q && p->in_flight < PEER_NG_WINDOW;
	     q = q->next)
		if (!q->asked)
			ask_now(p, q, now);
}

/* The end of *@link; it may ask more. */
static void end_question(struct peer_ng *p, struct question **link,
			 const json_t *answer, const char *why)
{
	struct question *q = *link;

	*link = q->next;
	if (p->last == &q->next)
		p->last = link;
	p->pending--;
	p->in_flight -= q->asked != 0;
	q->reply(q->arg, answer, why);
	free(q);
}

static struct question *make_question(struct peer_ng *p, const json_t *body)
{
	struct ng_message m = { .encoding = NG_BENCODE };
	static char text[NG_BYTES_MAX];
	struct question *q;
	long n;

	(void)snprintf(m.cookie, sizeof(m.cookie), "%s_%llu", p->tag,
		       (unsigned long long)++p->serial);
	n = ng_message_write(&m, body, text, sizeof(text));
	if (n < 0) {
		errno = ENOSPC;
		return NULL;
	}
	q = calloc(1, sizeof(*q) + (size_t)n);
	if (!q)
		return NULL;
	memcpy(q->cookie, m.cookie, sizeof(q->cookie));
	memcpy(q->text, text, (size_t)n);
	q->bytes = (size_t)n;
	return q;
}

int peer_ng_ask(struct peer_ng *p, json_t *body, peer_ng_reply_fn *reply,
		void *arg)
{
	struct question *q;

	errno = ENOMEM;
	q = body ? make_question(p, body) : NULL;
	json_decref(body);
	if (!q)
		return -errno;
	q->reply = reply;
	q->arg = arg;
	*p->last = q;
	p->last = &q->next;
	p->pending++;
	send_waiting(p);
	return 0;
}

const char *peer_ng_tag(const struct peer_ng *p)
{
	return p->tag;
}

unsigned peer_ng_pending(const struct peer_ng *p)
{
	return p->pending;
}

/* --- answers --- */

static void on_ng_readable(evutil_socket_t fd, short what, void *arg)
{
	static char text[NG_BYTES_MAX + 1];
	struct peer_ng *p = arg;
	ssize_t n;

	(void)what;
	while ((n = recv((int)fd, text, sizeof(text), MSG_DONTWAIT)) >= 0) {
		struct question **link = &p->first;
		struct ng_message m;
		struct cr_err why = { "" };
		int rc = ng_message_read(&m, text, (size_t)n, &why);

		while (*link && strcmp((*link)->cookie, m.cookie))
			link = &(*link)->next;
		if (*link)
			end_question(p, link, rc ? NULL : m.body,
				     rc ? why.text : NULL);
		ng_message_free(&m);
	}
	if (errno == ECONNREFUSED) {
		/* nobody listens there: those who asked need not wait */
		while (p->first && p->first->asked)
			end_question(p, &p->first, NULL,
				     strerror(ECONNREFUSED));
	}
	send_waiting(p);
}

static void on_seen(void *arg, const json_t *answer, const char *why)
{
	struct peer_ng *p = arg;

	p->watch.asked = false;
	if (p->watch.reply)
		p->watch.reply(p->watch.arg, answer, why);
}

static void on_ng_tick(evutil_socket_t fd, short what, void *arg)
{
	struct peer_ng *p = arg;
	struct question **link = &p->first;
	cr_ns now = clock_now();

	(void)fd, (void)what;
	while (*link)
		if (!(*link)->asked ||
		    now - (*link)->asked < PEER_NG_PATIENCE) {
			link = &(*link)->next;
		} else {
			end_question(p, link, NULL, "no answer");
			link = &p->first; /* whose it was may have asked more */
		}
	for (struct question *q = p->first; q; q = q->next)
		if (q->asked && q->again <= now)
			ask_now(p, q, now);
	if (p->watch.reply && !p->watch.asked && now >= p->watch.due) {
		p->watch.due = now + p->watch.every;
		p->watch.asked = !peer_ng_ask(
			p, json_pack("{s:s}", "command", "ping"), on_seen, p);
	}
	send_waiting(p);
}

void peer_ng_watch(struct peer_ng *p, cr_ns every, peer_ng_reply_fn *reply,
		   void *arg)
{
	p->watch.reply = reply;
	p->watch.arg = arg;
	p->watch.every = every;
}

/* --- life --- */

static int connect_to(const struct sockaddr_storage *to, struct cr_err *e)
{
	char text[64];
	int fd = socket(to->ss_family,
			SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd >= 0 &&
	    !connect(fd, (const struct sockaddr *)to, address_length(to)))
		return fd;
	rc = -errno;
	if (fd >= 0)
		(void)close(fd);
	return cr_fail(e, rc, "%s: %s", address_text(to, text, sizeof(text)),
		       strerror(-rc));
}

int peer_ng_open(struct peer_ng **out, struct event_base *base,
		 const struct sockaddr_storage *to, struct cr_err *e)
{
	const struct timeval tick = { .tv_usec = TICK / CR_US };
	struct peer_ng *p;
	uint64_t tag;
	int fd = connect_to(to, e);

	if (fd < 0)
		return fd;
	p = calloc(1, sizeof(*p));
	if (!p) {
		(void)close(fd);
		return cr_fail(e, -ENOMEM, "out of memory");
	}
	p->fd = fd;
	p->last = &p->first;
	if (getrandom(&tag, sizeof(tag), 0) != (ssize_t)sizeof(tag)) {
		int rc = -errno;

		peer_ng_close(p);
		return cr_fail(e, rc, "random numbers: %s", strerror(-rc));
	}
	(void)snprintf(p->tag, sizeof(p->tag), "%016" PRIx64, tag);
	p->readable =
		event_new(base, fd, EV_READ | EV_PERSIST, on_ng_readable, p);
	p->tick = event_new(base, -1, EV_PERSIST, on_ng_tick, p);
	if (!p->readable || !p->tick || event_add(p->readable, NULL) ||
	    event_add(p->tick, &tick)) {
		peer_ng_close(p);
		return cr_fail(e, -ENOMEM, "out of memory for events");
	}
	*out = p;
	return 0;
}

struct waiting {
	json_t *answer;
	struct cr_err why;
	bool done;
};

static void on_awaited(void *arg, const json_t *answer, const char *why)
{
	struct waiting *w = arg;

	w->answer = answer ? json_deep_copy(answer) : NULL;
	(void)cr_fail(&w->why, 0, "%.400s", why ? why : "out of memory");
	w->done = true;
}

int peer_ng_wait(struct peer_ng *p, json_t *body, json_t **answer,
		 struct cr_err *e)
{
	struct event_base *base = event_get_base(p->tick);
	struct waiting w = { .done = false };
	int rc = peer_ng_ask(p, body, on_awaited, &w);

	if (rc)
		return cr_fail(e, rc, "%s", strerror(-rc));
	while (!w.done) /* patience has an end */
		(void)event_base_loop(base, EVLOOP_ONCE);
	if (!w.answer)
		return cr_fail(e, -ETIMEDOUT, "%s", w.why.text);
	*answer = w.answer;
	return 0;
}

void peer_ng_give_up(struct peer_ng *p)
{
	p->watch.reply = NULL;
	while (p->first)
		end_question(p, &p->first, NULL, "closed");
}

void peer_ng_settle(struct peer_ng *p, cr_ns patience)
{
	struct event_base *base = event_get_base(p->tick);
	cr_ns until = clock_now() + patience;

	while (p->pending && clock_now() < until) /* ticks wake it */
		(void)event_base_loop(base, EVLOOP_ONCE);
}

void peer_ng_close(struct peer_ng *p)
{
	if (!p)
		return;
	peer_ng_give_up(p);
	if (p->readable)
		event_free(p->readable);
	if (p->tick)
		event_free(p->tick);
	(void)close(p->fd);
	free(p);
}

/* --- descriptions --- */

#define DYNAMIC_PT 96u /* RFC 3551, 6: the first that is dynamic */

static unsigned party_clock(const struct codec_use *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

static const char *unsaid_of_endpoint(const struct codec_use *endpoint)
{
	if (endpoint->codec->declares_cost)
		return "this codec, which nobody else has,";
	if (endpoint->cfg.dtx)
		return "dtx";
	if (endpoint->cfg.complexity)
		return "complexity";
	if (endpoint->cfg.fec)
		return "fec";
	return NULL;
}

int peer_sdp_check(const struct campaign_flow *f, struct cr_err *e)
{
	const struct codec_use *endpoint = &f->in;
	const char *unsaid = unsaid_of_endpoint(endpoint);

	if (flow_is_two_way(f))
		return cr_fail(e, -ENOTSUP,
			       "%s is a two-way flow: by NG, flows with in and "
			       "out are played",
			       flow_title(f));
	if (!unsaid) {
		endpoint = &f->out;
		unsaid = unsaid_of_endpoint(endpoint);
	}
	if (!unsaid)
		return 0;
	return cr_fail(e, -ENOTSUP,
		       "flow %s: %s cannot be asked for by NG (%s)",
		       flow_title(f), unsaid, endpoint->codec->name);
}

unsigned peer_sdp_pt(const struct codec_use *endpoint)
{
	return endpoint->codec->static_pt < 0
		       ? DYNAMIC_PT
		       : (unsigned)endpoint->codec->static_pt;
}

/* --- ours --- */

/* RFC 4867, 8.1: the mode of @endpoint is the set's only one. */
static void write_parameters(char text[FMTP_BYTES],
			     const struct codec_use *endpoint)
{
	struct fmtp_amr amr = endpoint->amr;

	amr.mode_set = (uint16_t)(1u << endpoint->cfg.mode);
	fmtp_write(text, endpoint->codec->rtp_name, &amr,
		   endpoint->cfg.sample_rate);
}

int peer_sdp_write(char text[PEER_SDP_BYTES], const struct codec_use *endpoint,
		   unsigned pt, cr_ns ptime, const char *address)
{
	struct sockaddr_storage at;
	char host[64], fmtp[FMTP_BYTES], channels[8] = "", parameter[128] = "";
	int n;

	if (address_parse(address, &at))
		return -EINVAL;
	write_parameters(fmtp, endpoint);
	if (fmtp[0])
		(void)snprintf(parameter, sizeof(parameter), "a=fmtp:%u %s\r\n",
			       pt, fmtp);
	if (sdp_channels(endpoint->codec->rtp_name) > 1)
		(void)snprintf(channels, sizeof(channels), "/%u",
			       sdp_channels(endpoint->codec->rtp_name));
	(void)address_host_text(&at, host, sizeof(host));
	/* one port for RTP and RTCP: the next one may be another call's */
	n = snprintf(text, PEER_SDP_BYTES,
		     "v=0\r\no=- 1 1 IN IP%c %s\r\ns=-\r\nc=IN IP%c %s\r\n"
		     "t=0 0\r\nm=audio %u RTP/AVP %u\r\n"
		     "a=rtpmap:%u %s/%u%s\r\n%sa=ptime:%lld\r\na=rtcp-mux\r\n",
		     at.ss_family == AF_INET6 ? '6' : '4', host,
		     at.ss_family == AF_INET6 ? '6' : '4', host,
		     address_port(&at), pt, pt, endpoint->codec->rtp_name,
		     party_clock(endpoint), channels, parameter,
		     (long long)(ptime / CR_MS));
	return n < (int)PEER_SDP_BYTES ? 0 : -EINVAL;
}

/* A bit rate is said where there is a choice. */
void peer_sdp_codec(char *text, size_t size, const struct codec_use *endpoint)
{
	char fmtp[FMTP_BYTES], escaped[2 * FMTP_BYTES] = "", *to = escaped;
	char rate[16] = "";

	write_parameters(fmtp, endpoint);
	for (const char *p = fmtp; *p; p++)
		to = stpcpy(to, *p == '=' ? "--" : (char[]){ *p, '\0' });
	if (endpoint->codec->nmodes > 1)
		(void)snprintf(
			rate, sizeof(rate), "/%u",
			endpoint->codec->modes[endpoint->cfg.mode].bit_rate);
	if (fmtp[0] && !rate[0])
		(void)snprintf(rate, sizeof(rate), "/");
	(void)snprintf(text, size, "%s/%u/%u%s%s%s", endpoint->codec->rtp_name,
		       party_clock(endpoint),
		       sdp_channels(endpoint->codec->rtp_name), rate,
		       fmtp[0] ? "//" : "", escaped);
}

/* --- theirs --- */

int peer_sdp_read(const char *text, const struct codec_use *endpoint,
		  struct sockaddr_storage *at, unsigned *pt, struct cr_err *e)
{
	const struct sdp_format *f;
	struct cr_err why = { "" };
	struct sdp *sdp;
	int rc;

	if (sdp_read(&sdp, text, strlen(text), &why))
		return cr_fail(e, -EPROTO, "its description is none: %.400s",
			       why.text);
	rc = cr_fail(e, -EPROTO, "its description has no line of audio");
	for (unsigned i = 0; i < sdp_lines(sdp); i++) {
		const struct sdp_line *line = sdp_line(sdp, i);

		if (!line->audio || line->refused || !line->rtp.ss_family)
			continue;
		f = line->formats;
		if (!f || strcasecmp(f->name, endpoint->codec->rtp_name) ||
		    f->rate != party_clock(endpoint)) {
			rc = cr_fail(e, -EPROTO,
				     "it settles on %.40s/%u where %s/%u is "
				     "asked for: can it transcode that?",
				     f ? f->name : "nothing", f ? f->rate : 0,
				     endpoint->codec->rtp_name,
				     party_clock(endpoint));
		} else {
			*at = line->rtp;
			*pt = f->pt;
			rc = 0;
		}
		break;
	}
	sdp_free(sdp);
	return rc;
}
