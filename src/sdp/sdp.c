/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A description, read by the library behind the gate (sdp_screen.c), and
 * written.
 */
#include <errno.h>
#include <sofia-sip/sdp.h>
#include <sofia-sip/su_uniqueid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "base/assert.h"
#include "sdp/sdp_screen.h"

struct sdp {
	su_home_t home[1]; /* all its memory */
	sdp_session_t *session;
	struct sdp_line line[SDP_LINES_MAX];
	const sdp_media_t *media[SDP_LINES_MAX]; /* that it was read from */
	unsigned nlines;
	unsigned mistyped; /* lines, as bits; SDP_MISTYPED */
};

/* At exit, libsofia deletes its key of thread-specific data, made or not: then
 * it is key 0, which is somebody else's (with ThreadSanitizer its own, and the
 * program never ends). So it makes one. */
__attribute__((constructor)) static void make_own_key(void)
{
	(void)su_random64();
}

/* Milliseconds; longer packets than this nobody means. */
#define PTIME_MAX 1000u

static const char *attribute(const sdp_media_t *m, const char *name)
{
	const sdp_attribute_t *a = sdp_attribute_find(m->m_attributes, name);

	return a ? a->a_value : NULL;
}

static bool has_attribute(const sdp_media_t *m, const char *name)
{
	return sdp_attribute_find2(m->m_attributes,
				   m->m_session->sdp_attributes, name) != NULL;
}

/* 0: unsaid, or nonsense, which harms nobody. */
static unsigned milliseconds(const sdp_media_t *m, const char *name)
{
	const char *text = attribute(m, name);
	double ms = text ? strtod(text, NULL) : 0;

	return ms >= 1 && ms <= PTIME_MAX ? (unsigned)ms : 0;
}

static enum sdp_transport transport_of(const sdp_media_t *m)
{
	static const char *const secure[] = { "RTP/SAVPF", "UDP/TLS/RTP/SAVP",
					      "UDP/TLS/RTP/SAVPF" };

	if (m->m_proto == sdp_proto_rtp)
		return SDP_RTP;
	if (m->m_proto == sdp_proto_srtp)
		return SDP_SECURE;
	if (!m->m_proto_name)
		return SDP_FOREIGN;
	for (unsigned i = 0; i < sizeof(secure) / sizeof(*secure); i++)
		if (!strcasecmp(m->m_proto_name, secure[i]))
			return SDP_SECURE;
	return strcasecmp(m->m_proto_name, "RTP/AVPF") ? SDP_FOREIGN
						       : SDP_RTP_FB;
}

/* --- addresses --- */

static void set_host(struct sockaddr_storage *to, const char *host)
{
	if (!host || address_parse_host(host, to))
		to->ss_family = AF_UNSPEC; /* a name: packets will tell */
}

/* RFC 3605: "53020" or "53020 IN IP6 2001:db8::1". */
static void read_rtcp(struct sdp_line *line, const char *text)
{
	const char *host = strrchr(text, ' ');
	unsigned long port = strtoul(text, NULL, 10);

	if (host)
		set_host(&line->rtcp, host + 1);
	if (line->rtcp.ss_family == AF_UNSPEC || !port || port > UINT16_MAX)
		line->rtcp.ss_family = AF_UNSPEC;
	else
		address_set_port(&line->rtcp, (unsigned)port);
}

static void read_addresses(struct sdp_line *line, const sdp_media_t *m)
{
	const sdp_connection_t *c = sdp_media_connections(m);
	const char *rtcp = attribute(m, "rtcp");

	set_host(&line->rtp, c ? c->c_address : NULL);
	line->held = line->rtp.ss_family && address_any(&line->rtp);
	if (line->refused || line->held)
		line->rtp.ss_family = AF_UNSPEC;
	if (line->rtp.ss_family == AF_UNSPEC)
		return;
	address_set_port(&line->rtp, (unsigned)m->m_port);
	line->rtcp = line->rtp;
	line->rtcp_said = rtcp != NULL;
	if (rtcp)
		read_rtcp(line, rtcp);
	else if (line->mux)
		return;
	else if (m->m_port < UINT16_MAX)
		address_set_port(&line->rtcp, (unsigned)m->m_port + 1);
	else
		line->rtcp.ss_family = AF_UNSPEC;
}

/* --- formats --- */

static unsigned channels_of(const char *params)
{
	unsigned long n = params ? strtoul(params, NULL, 10) : 1;

	return n >= 1 && n <= 255 ? (unsigned)n : 1;
}

static struct sdp_format format_of(const sdp_rtpmap_t *r)
{
	return (struct sdp_format){
		.pt = (uint8_t)r->rm_pt,
		.name = r->rm_encoding ? r->rm_encoding : "",
		.rate = r->rm_rate <= UINT32_MAX ? (unsigned)r->rm_rate : 0,
		.channels = channels_of(r->rm_params),
		.fmtp = r->rm_fmtp ? r->rm_fmtp : "",
	};
}

/* "AMR/8000/1" */
static void read_rtpmap(su_home_t *home, struct sdp_format *f, const char *map)
{
	size_t bytes = strcspn(map, "/");
	char *name = su_strndup(home, map, (isize_t)bytes);
	char *end = NULL;

	if (!name || !map[bytes])
		return;
	f->name = name;
	f->rate = (unsigned)strtoul(map + bytes + 1, &end, 10);
	f->channels = channels_of(*end == '/' ? end + 1 : NULL);
}

static struct sdp_format *format_at(struct sdp_format *f, unsigned n,
				    unsigned long pt)
{
	for (unsigned i = 0; i < n; i++)
		if (f[i].pt == pt)
			return &f[i];
	return NULL;
}

/* Of a transport that the library does not know to be RTP: as it does where it
 * knows, the last of several wins. Once along the list: it can be long. */
static void read_mapped(su_home_t *home, struct sdp_format *f, unsigned n,
			const sdp_media_t *m)
{
	for (const sdp_attribute_t *a = m->m_attributes; a; a = a->a_next) {
		bool rtpmap = !strcasecmp(a->a_name, "rtpmap");
		struct sdp_format *at;
		char *text;

		if (!a->a_value || (!rtpmap && strcasecmp(a->a_name, "fmtp")))
			continue;
		at = format_at(f, n, strtoul(a->a_value, &text, 10));
		text += strspn(text, " ");
		if (at && rtpmap)
			read_rtpmap(home, at, text);
		else if (at)
			at->fmtp = text;
	}
}

static struct sdp_format format_unmapped(unsigned pt)
{
	const sdp_rtpmap_t *known = sdp_rtpmap_well_known[pt];

	return known ? format_of(known)
		     : (struct sdp_format){ .pt = (uint8_t)pt,
					    .name = "",
					    .channels = 1,
					    .fmtp = "" };
}

static unsigned count_formats(const sdp_media_t *m)
{
	unsigned n = 0;

	if (m->m_rtpmaps)
		for (const sdp_rtpmap_t *r = m->m_rtpmaps; r; r = r->rm_next)
			n++;
	else
		for (const sdp_list_t *l = m->m_format; l; l = l->l_next)
			n++;
	return n;
}

static int read_formats(struct sdp *s, struct sdp_line *line,
			const sdp_media_t *m, struct cr_err *e)
{
	struct sdp_format *f = su_zalloc(
		s->home, (isize_t)(count_formats(m) * sizeof(*f)) + 1);
	unsigned kept = 0;

	if (!f)
		return cr_fail(e, -ENOMEM, "out of memory for an SDP");
	line->formats = f;
	for (const sdp_rtpmap_t *r = m->m_rtpmaps; r; r = r->rm_next)
		f[line->nformats++] = format_of(r);
	for (const sdp_list_t *l = m->m_rtpmaps ? NULL : m->m_format; l;
	     l = l->l_next)
		f[line->nformats++] = format_unmapped(
			(unsigned)strtoul(l->l_text, NULL, 10) & 127u);
	if (!m->m_rtpmaps)
		read_mapped(s->home, f, line->nformats, m);
	for (unsigned i = 0; i < line->nformats; i++)
		if (strlen(f[i].fmtp) <= SDP_FMTP_MAX)
			f[kept++] = f[i];
	line->nformats = kept;
	return 0;
}

/* --- lines --- */

static int read_media_line(struct sdp *s, sdp_media_t *m, struct cr_err *e)
{
	struct sdp_line *line = &s->line[s->nlines];
	enum sdp_transport transport = transport_of(m);

	if (s->mistyped & (1u << s->nlines))
		m->m_proto_name += sizeof(SDP_MISTYPED) - 1;
	*line = (struct sdp_line){
		.media = m->m_type_name ? m->m_type_name : "",
		.proto = m->m_proto_name ? m->m_proto_name : "",
		.audio = m->m_type == sdp_media_audio,
		.refused = m->m_rejected || !m->m_port,
		.mux = has_attribute(m, "rtcp-mux"),
		.mux_only = has_attribute(m, "rtcp-mux-only"),
		.ice = has_attribute(m, "candidate") ||
		       has_attribute(m, "ice-ufrag"),
		.transport = transport,
		.mode = (enum sdp_mode)m->m_mode,
		.ptime = milliseconds(m, "ptime"),
		.maxptime = milliseconds(m, "maxptime"),
	};
	s->media[s->nlines++] = m;
	read_addresses(line, m);
	if (line->transport == SDP_FOREIGN)
		return 0;
	return read_formats(s, line, m, e);
}

/* --- what the library loses --- */

/* The name of a bandwidth that it does not know, and "i=" of a media line; and
 * it finds a key where "k=prompt" has none. */
static bool restore(struct sdp *s, const struct sdp_screened *from)
{
	sdp_bandwidth_t *b = s->session->sdp_bandwidths;
	sdp_key_t *key = s->session->sdp_key;
	sdp_media_t *m = NULL;
	const char *p = from->text, *end = p + from->bytes, *lf;
	bool ok = true;

	for (; p < end && ok; p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (*p == 'm') {
			m = m ? m->m_next : s->session->sdp_media;
			CR_ASSERT(m);
			b = m->m_bandwidths;
			key = m->m_key;
		} else if (*p == 'b' && b) {
			b->b_modifier = sdp_bw_x;
			b->b_modifier_name = su_strndup(
				s->home, p + 2, (isize_t)strcspn(p + 2, ":"));
			ok = b->b_modifier_name;
			b = b->b_next;
		} else if (*p == 'i' && m) {
			m->m_information = su_strndup(s->home, p + 2,
						      (isize_t)(lf - p - 2));
			ok = m->m_information;
		} else if (*p == 'k' && key &&
			   !memchr(p, ':', (size_t)(lf - p))) {
			key->k_material = NULL;
		}
	}
	return ok;
}

static int parse_session(struct sdp *s, const char *text, size_t bytes,
			 struct cr_err *e)
{
	struct sdp_screened screened;
	int err = sdp_screen(s->home, text, bytes, &screened, e);
	sdp_parser_t *p;

	if (err)
		return err;
	p = sdp_parse(s->home, screened.text, (issize_t)screened.bytes,
		      sdp_f_c_missing);
	s->session = sdp_session(p); /* has the home's life */
	if (!s->session)
		return cr_fail(e, -EINVAL, SDP_LIBRARY_REFUSES "%s",
			       sdp_parsing_error(p));
	if (!restore(s, &screened))
		return cr_fail(e, -ENOMEM, "out of memory for an SDP");
	s->mistyped = screened.mistyped;
	su_free(s->home, screened.text);
	return 0;
}

int sdp_read(struct sdp **sdp, const char *text, size_t bytes, struct cr_err *e)
{
	sdp_media_t *m;
	struct sdp *s;
	int err;

	if (bytes > SDP_BYTES_MAX)
		return cr_fail(e, -EINVAL,
			       "an SDP of %zu octets; %u are the most that "
			       "are read",
			       bytes, SDP_BYTES_MAX);
	s = su_home_new(sizeof(*s));
	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory for an SDP");
	err = parse_session(s, text, bytes, e);
	for (m = err ? NULL : s->session->sdp_media; m && !err; m = m->m_next) {
		CR_ASSERT(s->nlines < SDP_LINES_MAX);
		err = read_media_line(s, m, e);
	}
	if (err)
		sdp_free(s);
	else
		*sdp = s;
	return err;
}

void sdp_free(struct sdp *sdp)
{
	if (sdp)
		su_home_unref(sdp->home);
}

unsigned sdp_lines(const struct sdp *sdp)
{
	return sdp->nlines;
}

const struct sdp_line *sdp_line(const struct sdp *sdp, unsigned i)
{
	return &sdp->line[i];
}

uint64_t sdp_version(const struct sdp *sdp)
{
	return sdp->session->sdp_origin->o_version;
}

/* Attributes that say what the other end of this line is, which we are then:
 * ports, keys, candidates, SSRCs. Payload types and the mode
 * are written from what is told. */
static const char *const of_line[] = { "rtpmap",
				       "fmtp",
				       "rtcp",
				       "rtcp-mux",
				       "rtcp-mux-only",
				       "rtcp-fb",
				       "rtcp-rsize",
				       "rtcp-xr",
				       "ptime",
				       "maxptime",
				       "candidate",
				       "alt",
				       "altc",
				       "source-filter",
				       "remote-candidates",
				       "end-of-candidates",
				       "ice-ufrag",
				       "ice-pwd",
				       "ice-options",
				       "ice-lite",
				       "ice-mismatch",
				       "ice-pacing",
				       "crypto",
				       "key-mgmt",
				       "fingerprint",
				       "setup",
				       "connection",
				       "tls-id",
				       "ssrc",
				       "ssrc-group",
				       "msid",
				       "bundle-only",
				       "sendrecv",
				       "sendonly",
				       "recvonly",
				       "inactive",
				       NULL };

/* And of all lines at once, where some also write those above. */
static const char *const of_session[] = { "group", "msid-semantic", NULL };

struct writer {
	su_home_t *home;
	bool no_memory;
};

static void *get(struct writer *w, size_t bytes)
{
	void *p = su_zalloc(w->home, (isize_t)bytes);

	w->no_memory |= !p;
	return p;
}

/* Once along the list: it can be long. */
static void strip(sdp_attribute_t **list, const char *const *names)
{
	while (*list) {
		const char *const *name = names;

		while (*name && strcasecmp((*list)->a_name, *name))
			name++;
		if (*name)
			*list = (*list)->a_next;
		else
			list = &(*list)->a_next;
	}
}

static sdp_connection_t *connection_to(struct writer *w,
				       const struct sockaddr_storage *at)
{
	sdp_connection_t *c = get(w, sizeof(*c));
	char *host = get(w, 64);

	if (!c || !host)
		return NULL;
	(void)address_host_text(at, host, 64);
	c->c_size = sizeof(*c);
	c->c_nettype = sdp_net_in;
	c->c_addrtype = at->ss_family == AF_INET6 ? sdp_addr_ip6 : sdp_addr_ip4;
	c->c_address = host;
	return c;
}

static void add_attribute(struct writer *w, sdp_media_t *m, const char *name,
			  const char *value)
{
	sdp_attribute_t *a = get(w, sizeof(*a));

	if (!a)
		return;
	a->a_size = sizeof(*a);
	a->a_name = name;
	a->a_value = value;
	sdp_attribute_append(&m->m_attributes, a);
}

static void add_number(struct writer *w, sdp_media_t *m, const char *name,
		       unsigned n)
{
	char *text = get(w, 12);

	if (!text || !n)
		return;
	(void)snprintf(text, 12, "%u", n);
	add_attribute(w, m, name, text);
}

/* Add where RTCP comes (RFC 3605): "53020", or "53020 IN IP4 192.0.2.1". */
static void add_rtcp(struct writer *w, sdp_media_t *m,
		     const struct sdp_line_out *out)
{
	enum { BYTES = 96 };
	char *text = get(w, BYTES), host[64];

	if (!text || !out->rtcp_port)
		return;
	(void)address_host_text(&out->rtp, host, sizeof(host));
	(void)snprintf(text, BYTES, out->rtcp_host ? "%u IN IP%c %s" : "%u",
		       out->rtcp_port,
		       out->rtp.ss_family == AF_INET6 ? '6' : '4', host);
	add_attribute(w, m, "rtcp", text);
}

static sdp_rtpmap_t *rtpmap_of(struct writer *w, const struct sdp_format *f)
{
	sdp_rtpmap_t *r = get(w, sizeof(*r));
	char *channels = f->channels > 1 ? get(w, 12) : NULL;

	if (!r)
		return NULL;
	r->rm_size = sizeof(*r);
	/* one that nobody named stays so */
	r->rm_predef = !*f->name;
	r->rm_encoding = *f->name ? f->name : "-";
	r->rm_rate = f->rate;
	r->rm_fmtp = *f->fmtp ? f->fmtp : NULL;
	r->rm_pt = f->pt & 127u;
	if (channels)
		(void)snprintf(channels, 12, "%u", f->channels);
	r->rm_params = channels;
	return r;
}

static void set_formats(struct writer *w, sdp_media_t *m,
			const struct sdp_line_out *out)
{
	sdp_rtpmap_t **next = &m->m_rtpmaps;

	m->m_format = NULL;
	for (unsigned i = 0; i < out->nformats; i++) {
		*next = rtpmap_of(w, &out->formats[i]);
		if (!*next)
			return;
		next = &(*next)->rm_next;
	}
	*next = NULL;
}

/* @ours: its own "c=" is to be ours, too; @inherits: the session's is. */
static void refuse_sdp(struct writer *w, sdp_media_t *m,
		       const struct sockaddr_storage *ours, bool inherits)
{
	if (ours && m->m_connections)
		m->m_connections = inherits ? NULL : connection_to(w, ours);
	m->m_port = 0;
	m->m_number_of_ports = 0;
	m->m_rejected = 1;
	m->m_attributes = NULL;
	m->m_bandwidths = NULL;
}

/* @inherits: the session's "c=" is ours. */
static void set_line(struct writer *w, sdp_media_t *m,
		     const struct sdp_line_out *out,
		     const struct sockaddr_storage *inherits)
{
	m->m_rejected = 0;
	m->m_port = address_port(&out->rtp);
	m->m_number_of_ports = 0;
	sdp_media_transport(m, out->proto);
	m->m_mode = (unsigned)out->mode & 3u;
	m->m_connections = inherits && address_same_host(inherits, &out->rtp)
				   ? NULL
				   : connection_to(w, &out->rtp);
	strip(&m->m_attributes, of_line);
	set_formats(w, m, out);
	add_rtcp(w, m, out);
	if (out->mux)
		add_attribute(w, m, "rtcp-mux", NULL);
	add_number(w, m, "ptime", out->ptime);
	add_number(w, m, "maxptime", out->maxptime);
}

/* Of the first line that is not refused; of a refused one where all are; none,
 * where not even that has one. */
static const struct sockaddr_storage *our_address(const struct sdp *sdp,
						  const struct sdp_out *out)
{
	static const struct sockaddr_storage none = { .ss_family = AF_INET };

	for (unsigned i = 0; i < sdp->nlines; i++)
		if (!out->lines[i].refused)
			return &out->lines[i].rtp;
	for (unsigned i = 0; i < sdp->nlines; i++)
		if (out->lines[i].rtp.ss_family)
			return &out->lines[i].rtp;
	return &none;
}

static void set_session(struct writer *w, sdp_session_t *s,
			const struct sdp_out *out, bool connection,
			const struct sockaddr_storage *at)
{
	strip(&s->sdp_attributes, of_session);
	strip(&s->sdp_attributes, of_line);
	if (s->sdp_subject && !*s->sdp_subject)
		s->sdp_subject = "-"; /* a blank, which was stripped */
	if (out->own_version)
		s->sdp_origin->o_version = out->version;
	if (out->origin)
		s->sdp_origin->o_address = connection_to(w, at);
	if (connection)
		s->sdp_connection = connection_to(w, at);
}

static long print(struct writer *w, const sdp_session_t *s, char *text,
		  size_t size, struct cr_err *e)
{
	sdp_printer_t *p =
		sdp_print(w->home, s, text, (isize_t)size, sdp_f_mode_always);
	long bytes = sdp_message(p) ? (long)sdp_message_size(p) : -ENOSPC;

	if (bytes < 0)
		(void)cr_fail(e, -ENOSPC,
			      "the SDP becomes longer than %zu octets", size);
	sdp_printer_free(p);
	return bytes;
}

long sdp_write(const struct sdp *sdp, const struct sdp_out *out, char *text,
	       size_t size, struct cr_err *e)
{
	const struct sockaddr_storage *at = our_address(sdp, out);
	bool inherits;
	struct writer w = { .home = su_home_new(sizeof(su_home_t)) };
	sdp_session_t *s;
	sdp_media_t *m;
	long bytes;

	if (!w.home)
		return cr_fail(e, -ENOMEM, "out of memory for an SDP");
	s = sdp_session_dup(w.home, sdp->session);
	w.no_memory = !s;
	if (s) {
		/* Is the session's "c=" to be ours? Where a line has none of
		 * its own, it would say that the speaker is there. */
		inherits = out->connection;
		for (m = s->sdp_media; m; m = m->m_next)
			inherits |= !m->m_connections;
		inherits = inherits && s->sdp_connection;
		set_session(&w, s, out, inherits, at);
		m = s->sdp_media;
		for (unsigned i = 0; m; m = m->m_next, i++)
			if (out->lines[i].refused)
				refuse_sdp(&w, m, out->connection ? at : NULL,
					   inherits);
			else
				set_line(&w, m, &out->lines[i],
					 inherits ? at : NULL);
	}
	bytes = w.no_memory ? cr_fail(e, -ENOMEM, "out of memory for an SDP")
			    : print(&w, s, text, size, e);
	su_home_unref(w.home);
	return bytes;
}
