/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A description written anew: a copy of what was read, with ours in it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "sdp/sdp_impl.h"

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

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcasecmp(name, *names))
			return true;
	return false;
}

/* Once along the list: it can be long. */
static void strip(sdp_attribute_t **list, const char *const *names)
{
	while (*list)
		if (is_one_of((*list)->a_name, names))
			*list = (*list)->a_next;
		else
			list = &(*list)->a_next;
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

/* Where RTCP comes (RFC 3605): "53020", or "53020 IN IP4 192.0.2.1". */
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
static void refuse(struct writer *w, sdp_media_t *m,
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

/* Is the session's "c=" to be ours? Where a line has none of its own, it would
 * be told who speaks is there. */
static bool replaces_connection(const sdp_session_t *s,
				const struct sdp_out *out)
{
	bool replaces = out->connection;

	for (const sdp_media_t *m = s->sdp_media; m; m = m->m_next)
		replaces |= !m->m_connections;
	return replaces && s->sdp_connection;
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
		inherits = replaces_connection(s, out);
		set_session(&w, s, out, inherits, at);
		m = s->sdp_media;
		for (unsigned i = 0; m; m = m->m_next, i++)
			if (out->lines[i].refused)
				refuse(&w, m, out->connection ? at : NULL,
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
