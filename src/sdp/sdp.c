/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A description, read line by line behind the gate (sdp_screen.c), and written
 * with its lines in the order of RFC 8866, 9.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "sdp/sdp_screen.h"

/* In one piece of memory, with lines and formats behind it. */
struct sdp {
	struct sdp_line *line; /* [nlines] */
	unsigned nlines;
	uint64_t version;
	const char *text, *end; /* lines, each with a 0 at its end */
};

/* Milliseconds; longer packets than this nobody means. */
#define PTIME_MAX 1000u

/* --- lines of text --- */

static const char *next_text(const char *p)
{
	return p + strlen(p) + 1;
}

/* Return the value ("": none) of the line @text if it is the attribute @name,
 * else NULL. */
static const char *attribute(const char *text, const char *name)
{
	size_t n = strlen(name);

	if (*text != 'a' || strncasecmp(text + 2, name, n) != 0)
		return NULL;
	text += 2 + n;
	return *text == ':' ? text + 1 : *text ? NULL : text;
}

/* Return word @i of @text, *@bytes long; blanks are between words. */
static const char *sdp_word(const char *text, unsigned i, size_t *bytes)
{
	text += strspn(text, " ");
	for (; i > 0; i--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	*bytes = strcspn(text, " ");
	return text;
}

/* Is @text an attribute whose name is a word of @names? */
static bool is_one_of(const char *text, const char *names)
{
	size_t n, bytes = *text == 'a' ? strcspn(text + 2, ":") : 0;
	const char *p = sdp_word(names, 0, &n);

	while (n && (n != bytes || strncasecmp(p, text + 2, n) != 0))
		p = sdp_word(p, 1, &n);
	return n > 0;
}

/* --- reading --- */

/* RFC 3551, 6, and what was there before it. */
static const struct sdp_format well_known[] = {
	{ 0, "PCMU", 8000, 1, "" },   { 1, "1016", 8000, 1, "" },
	{ 2, "G721", 8000, 1, "" },   { 3, "GSM", 8000, 1, "" },
	{ 4, "G723", 8000, 1, "" },   { 5, "DVI4", 8000, 1, "" },
	{ 6, "DVI4", 16000, 1, "" },  { 7, "LPC", 8000, 1, "" },
	{ 8, "PCMA", 8000, 1, "" },   { 9, "G722", 8000, 1, "" },
	{ 10, "L16", 44100, 2, "" },  { 11, "L16", 44100, 1, "" },
	{ 12, "QCELP", 8000, 1, "" }, { 13, "CN", 8000, 1, "" },
	{ 14, "MPA", 90000, 1, "" },  { 15, "G728", 8000, 1, "" },
	{ 16, "DVI4", 11025, 1, "" }, { 17, "DVI4", 22050, 1, "" },
	{ 18, "G729", 8000, 1, "" },  { 19, "CN", 8000, 1, "" },
	{ 25, "CelB", 90000, 1, "" }, { 26, "JPEG", 90000, 1, "" },
	{ 28, "nv", 90000, 1, "" },   { 31, "H261", 90000, 1, "" },
	{ 32, "MPV", 90000, 1, "" },  { 33, "MP2T", 90000, 1, "" },
	{ 34, "H263", 90000, 1, "" },
};

/* Properties of the line that is read, or of all (the session). */
struct section {
	const char *host; /* of "c="; NULL: none */
	const char *rtcp; /* NULL: not said */
	enum sdp_mode mode;
	bool mux, mux_only, ice;
};

struct reader {
	struct sdp *sdp;
	struct sdp_format *formats; /* room for more */
	char *words;		    /* the same, for what is cut out */
	struct section session, here;
};

/* Return the @bytes at @p as a text. */
static const char *cut_out(struct reader *r, const char *p, size_t bytes)
{
	char *to = r->words;

	memcpy(to, p, bytes);
	to[bytes] = '\0';
	r->words += bytes + 1;
	return to;
}

/* Return the transport of @proto, which gets its usual name. */
static enum sdp_transport transport_of(const char **proto)
{
	static const struct {
		const char *name, *proto;
		enum sdp_transport is;
	} row[] = {
		{ "RTP", "RTP/AVP", SDP_RTP },
		{ "RTP/AVP", "RTP/AVP", SDP_RTP },
		{ "RTP/AVPF", "RTP/AVPF", SDP_RTP_FB },
		{ "RTP/SAVP", "RTP/SAVP", SDP_SECURE },
		{ "RTP/SAVPF", "RTP/SAVPF", SDP_SECURE },
		{ "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVP", SDP_SECURE },
		{ "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVPF", SDP_SECURE },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (!strcasecmp(*proto, row[i].name)) {
			*proto = row[i].proto;
			return row[i].is;
		}
	return SDP_FOREIGN;
}

static struct sdp_format format_unmapped(unsigned pt)
{
	for (size_t i = 0; i < sizeof(well_known) / sizeof(*well_known); i++)
		if (well_known[i].pt == pt)
			return well_known[i];
	return (struct sdp_format){
		.pt = (uint8_t)pt, .name = "", .channels = 1, .fmtp = ""
	};
}

/* "audio 49170/2 RTP/AVP 0 96" */
static void read_media(struct reader *r, const char *text)
{
	struct sdp_line *l = &r->sdp->line[r->sdp->nlines++];
	size_t n;
	const char *p = sdp_word(text, 0, &n);

	l->media = cut_out(r, p, n);
	l->audio = !strcasecmp(l->media, "audio");
	p = sdp_word(p, 1, &n);
	l->refused = !strtoul(p, NULL, 10);
	p = sdp_word(p, 1, &n);
	l->proto = cut_out(r, p, n);
	l->transport = transport_of(&l->proto);
	l->formats = r->formats;
	while (l->transport != SDP_FOREIGN && *(p = sdp_word(p, 1, &n))) {
		char *end;
		unsigned long pt = strtoul(p, &end, 10);

		/* a line that is refused may have any */
		if (end != p + n || pt > 127)
			l->transport = SDP_FOREIGN;
		else
			r->formats[l->nformats++] =
				format_unmapped((unsigned)pt);
	}
	if (l->transport == SDP_FOREIGN)
		l->nformats = 0;
	r->formats += l->nformats;
	r->here = (struct section){ .mode = r->session.mode };
}

/* Return the first format of the line that *@value ("97 ...") is about, or
 * NULL;
 * *@value becomes the rest of it. */
static struct sdp_format *format_of(struct reader *r, const char **value)
{
	struct sdp_line *l = &r->sdp->line[r->sdp->nlines - 1];
	struct sdp_format *f = r->formats - l->nformats;
	char *rest;
	unsigned long pt = strtoul(*value, &rest, 10);

	*value = rest + strspn(rest, " ");
	for (; f < r->formats; f++)
		if (f->pt == pt)
			return f;
	return NULL;
}

/* "97 AMR/8000/1" */
static void read_rtpmap(struct reader *r, const char *value)
{
	struct sdp_format *f = format_of(r, &value);
	size_t n = strcspn(value, "/");
	char *end;
	unsigned long channels;

	if (!f)
		return;
	f->name = cut_out(r, value, n);
	f->rate = (unsigned)strtoul(value + n + 1, &end, 10);
	channels = *end == '/' ? strtoul(end + 1, NULL, 10) : 1;
	f->channels = channels ? (unsigned)channels : 1;
}

/* Return milliseconds; 0: nonsense, which harms nobody. */
static unsigned milliseconds(const char *value)
{
	double ms = strtod(value, NULL);

	return ms >= 1 && ms <= PTIME_MAX ? (unsigned)ms : 0;
}

static void read_media_attribute(struct reader *r, const char *text)
{
	struct sdp_line *l = &r->sdp->line[r->sdp->nlines - 1];
	struct sdp_format *f;
	const char *v;

	if ((v = attribute(text, "rtpmap")))
		read_rtpmap(r, v);
	else if ((v = attribute(text, "fmtp")) && (f = format_of(r, &v)))
		f->fmtp = v;
	else if ((v = attribute(text, "ptime")) && !l->ptime)
		l->ptime = milliseconds(v);
	else if ((v = attribute(text, "maxptime")) && !l->maxptime)
		l->maxptime = milliseconds(v);
	else if ((v = attribute(text, "rtcp")) && !r->here.rtcp)
		r->here.rtcp = v;
}

static const char *const modes[] = {
	[SDP_INACTIVE] = "inactive",
	[SDP_SENDONLY] = "sendonly",
	[SDP_RECVONLY] = "recvonly",
	[SDP_SENDRECV] = "sendrecv",
	NULL,
};

/* Attributes of the session and of lines. */
static void read_attribute(struct section *s, const char *text)
{
	for (unsigned i = 0; modes[i]; i++)
		if (attribute(text, modes[i]))
			s->mode = (enum sdp_mode)i;
	s->mux |= attribute(text, "rtcp-mux") != NULL;
	s->mux_only |= attribute(text, "rtcp-mux-only") != NULL;
	s->ice |= attribute(text, "candidate") || attribute(text, "ice-ufrag");
}

/* "IN IP4 192.0.2.1/127", or a name: packets will tell. */
static void set_host(struct sockaddr_storage *to, const char *connection)
{
	size_t n;
	const char *p = sdp_word(connection, 2, &n);
	char host[64];

	n = strcspn(p, "/");
	to->ss_family = AF_UNSPEC;
	if (n >= sizeof(host))
		return;
	memcpy(host, p, n);
	host[n] = '\0';
	if (address_parse_host(host, to))
		to->ss_family = AF_UNSPEC;
}

/* RFC 3605: "53020" or "53020 IN IP6 2001:db8::1". */
static void read_rtcp(struct sdp_line *l, const char *text)
{
	unsigned long port = strtoul(text, NULL, 10);

	if (strchr(text, ' '))
		set_host(&l->rtcp, strchr(text, ' '));
	if (l->rtcp.ss_family == AF_UNSPEC || !port)
		l->rtcp.ss_family = AF_UNSPEC;
	else
		address_set_port(&l->rtcp, (unsigned)port);
}

static void read_addresses(struct sdp_line *l, const char *host,
			   const char *rtcp, unsigned port)
{
	if (host)
		set_host(&l->rtp, host);
	l->held = l->rtp.ss_family && address_any(&l->rtp);
	if (l->refused || l->held)
		l->rtp.ss_family = AF_UNSPEC;
	if (l->rtp.ss_family == AF_UNSPEC)
		return;
	address_set_port(&l->rtp, port);
	l->rtcp = l->rtp;
	l->rtcp_said = rtcp != NULL;
	if (rtcp)
		read_rtcp(l, rtcp);
	else if (l->mux)
		return;
	else if (port < UINT16_MAX)
		address_set_port(&l->rtcp, port + 1);
	else
		l->rtcp.ss_family = AF_UNSPEC;
}

/* Complete the line @media, which has been read. */
static void end_line(struct reader *r, const char *media)
{
	struct sdp_line *l = &r->sdp->line[r->sdp->nlines - 1];
	const struct section *all = &r->session, *here = &r->here;
	struct sdp_format *f = r->formats - l->nformats;
	unsigned kept = 0;
	size_t n;

	for (unsigned i = 0; i < l->nformats; i++)
		if (strlen(f[i].fmtp) <= SDP_FMTP_MAX)
			f[kept++] = f[i];
	l->nformats = kept;
	l->mux = all->mux || here->mux;
	l->mux_only = all->mux_only || here->mux_only;
	l->ice = all->ice || here->ice;
	l->mode = here->mode;
	read_addresses(l, here->host ? here->host : all->host, here->rtcp,
		       (unsigned)strtoul(sdp_word(media, 1, &n), NULL, 10));
}

static void read_lines(struct reader *r)
{
	struct section *at = &r->session;
	const char *media = NULL;
	size_t n;

	for (const char *p = r->sdp->text; p < r->sdp->end; p = next_text(p)) {
		const char *value = p + 2;

		if (*p == 'm' && media)
			end_line(r, media);
		if (*p == 'm') {
			media = value;
			at = &r->here;
			read_media(r, value);
		} else if (*p == 'o') {
			r->sdp->version =
				strtoull(sdp_word(value, 2, &n), NULL, 10);
		} else if (*p == 'c' && !at->host) {
			at->host = value;
		} else if (*p == 'a') {
			read_attribute(at, p);
			if (media)
				read_media_attribute(r, p);
		}
	}
	if (media)
		end_line(r, media);
}

/* Return the screened description at @text. NULL: out of memory. */
static struct sdp *make_sdp(const char *text, const struct sdp_screened *is)
{
	struct sdp *s =
		calloc(1, sizeof(*s) + is->media * sizeof(*s->line) +
				  is->formats * sizeof(struct sdp_format) +
				  2 * is->bytes);
	struct reader r = { .sdp = s, .session.mode = SDP_SENDRECV };
	char *copy;

	if (!s)
		return NULL;
	s->line = (struct sdp_line *)(s + 1);
	r.formats = (struct sdp_format *)(s->line + is->media);
	copy = (char *)(r.formats + is->formats);
	memcpy(copy, text, is->bytes);
	s->text = copy;
	s->end = copy + is->bytes;
	r.words = copy + is->bytes;
	read_lines(&r);
	return s;
}

int sdp_read(struct sdp **sdp, const char *text, size_t bytes, struct cr_err *e)
{
	struct sdp_screened screened;
	char *lines;
	int err;

	if (bytes > SDP_BYTES_MAX)
		return cr_fail(e, -EINVAL,
			       "an SDP of %zu octets; %u are the most that "
			       "are read",
			       bytes, SDP_BYTES_MAX);
	lines = malloc(bytes + 1);
	err = lines ? sdp_screen(lines, text, bytes, &screened, e) : -ENOMEM;
	*sdp = err ? NULL : make_sdp(lines, &screened);
	free(lines);
	if (err == -ENOMEM || (!err && !*sdp))
		return cr_fail(e, -ENOMEM, "out of memory for an SDP");
	return err;
}

void sdp_free(struct sdp *sdp)
{
	free(sdp);
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
	return sdp->version;
}

/* --- writing --- */

/* Attributes that describe the other end: ports, keys, candidates, SSRCs,
 * groups. Payload types and the mode are written from the arguments. */
static const char of_others[] =
	"rtpmap fmtp rtcp rtcp-mux rtcp-mux-only rtcp-fb rtcp-rsize "
	"rtcp-xr ptime maxptime candidate alt altc source-filter "
	"remote-candidates end-of-candidates ice-ufrag ice-pwd "
	"ice-options ice-lite ice-mismatch ice-pacing crypto key-mgmt "
	"fingerprint setup connection tls-id ssrc ssrc-group msid "
	"bundle-only sendrecv sendonly recvonly inactive group "
	"msid-semantic";

/* The attributes that a refused line keeps. */
static const char of_refused[] = "rtpmap fmtp";

struct writer {
	const struct sdp_out *out;
	char *text;
	size_t size, at; /* at: where it has come to, beyond size if too long */
};

__attribute__((format(printf, 2, 3))) static void print_part(struct writer *w,
							     const char *fmt,
							     ...)
{
	bool fits = w->at < w->size;
	va_list ap;

	va_start(ap, fmt);
	w->at += (size_t)vsnprintf(fits ? w->text + w->at : NULL,
				   fits ? w->size - w->at : 0, fmt, ap);
	va_end(ap);
}

/* Print "IN IP4 192.0.2.1" between @before and @after. */
static void print_host(struct writer *w, const char *before,
		       const struct sockaddr_storage *at, const char *after)
{
	char host[64];

	print_part(w, "%sIN IP%c %s%s", before,
		   at->ss_family == AF_INET6 ? '6' : '4',
		   address_host_text(at, host, sizeof(host)), after);
}

/* Print words @from to @to (excluded) of @text, each behind a blank. */
static void print_words(struct writer *w, const char *text, unsigned from,
			unsigned to)
{
	size_t n;
	const char *p = sdp_word(text, from, &n);

	for (unsigned i = from; i < to && n; i++, p = sdp_word(p, 1, &n))
		print_part(w, " %.*s", (int)n, p);
}

/* Print the address that is word @i and two more of @text, as a whole line. */
static void print_address(struct writer *w, const char *before,
			  const char *text, unsigned i)
{
	size_t n;
	const char *family = sdp_word(text, i + 1, &n);
	const char *host = sdp_word(family, 1, &n);

	print_part(w, "%sIN IP%c %.*s\r\n", before, family[2], (int)n, host);
}

/* Return the end of the section that begins at @p: the next "m=", or @end. */
static const char *section_end(const char *p, const char *end)
{
	do
		p = next_text(p);
	while (p < end && *p != 'm');
	return p;
}

/* Print lines from @p to @end with one of @letters as they are, but for
 * attributes in @but (or NULL). */
static void print_lines(struct writer *w, const char *p, const char *end,
			const char *letters, const char *but)
{
	for (; p < end; p = next_text(p))
		if (strchr(letters, *p) && !(but && is_one_of(p, but)))
			print_part(w, "%s\r\n", p);
}

static void print_connections(struct writer *w, const char *p, const char *end)
{
	for (; p < end; p = next_text(p))
		if (*p == 'c')
			print_address(w, "c=", p + 2, 0);
}

/* Is there a line "c=" from @p to @end? */
static bool has_connection(const char *p, const char *end)
{
	while (p < end && *p != 'c')
		p = next_text(p);
	return p < end;
}

/* Return the address of the first line that is not refused; of a refused one
 * where all are; none, where not even that has one. */
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

/* Print the session; @connection: its "c=" is to be @at. */
static void print_session(struct writer *w, const struct sdp *sdp,
			  const char *end, bool connection,
			  const struct sockaddr_storage *at)
{
	const char *p = sdp->text, *o = p;
	size_t n;

	while (*o != 'o')
		o = next_text(o);
	print_lines(w, p, end, "v", NULL);
	o = sdp_word(o + 2, 0, &n);
	print_part(w, "o=%.*s", (int)n, o);
	print_words(w, o, 1, 2);
	print_part(w, " %" PRIu64,
		   w->out->own_version ? w->out->version : sdp->version);
	if (w->out->origin)
		print_host(w, " ", at, "\r\n");
	else
		print_address(w, " ", o, 3);
	for (; p < end; p = next_text(p))
		if (*p == 's') /* a blank was stripped */
			print_part(w, "s=%s\r\n", p[2] ? p + 2 : "-");
	p = sdp->text;
	print_lines(w, p, end, "i", NULL);
	print_lines(w, p, end, "u", NULL);
	print_lines(w, p, end, "e", NULL);
	print_lines(w, p, end, "p", NULL);
	if (connection)
		print_host(w, "c=", at, "\r\n");
	else
		print_connections(w, p, end);
	print_lines(w, p, end, "b", NULL);
	print_lines(w, p, end, "trz", NULL);
	print_lines(w, p, end, "k", NULL);
	print_lines(w, p, end, "a", of_others);
}

/* Print the line at @p as refused. @ours: its own "c=" is to be ours, too;
 * @inherits: the session's is. */
static void print_refused(struct writer *w, const struct sdp_line *l,
			  const char *p, const char *end,
			  const struct sockaddr_storage *ours, bool inherits)
{
	size_t n;

	print_part(w, "m=%s 0 %s", l->media, l->proto);
	(void)sdp_word(p + 2, 3, &n);
	if (!n) /* there must be one; this one is reserved */
		print_part(w, " 19");
	print_words(w, p + 2, 3, UINT_MAX);
	print_part(w, "\r\n");
	print_lines(w, p, end, "i", NULL);
	if (!ours)
		print_connections(w, p, end);
	else if (has_connection(p, end) && !inherits)
		print_host(w, "c=", ours, "\r\n");
	print_lines(w, p, end, "k", NULL);
	for (; p < end && l->transport == SDP_RTP; p = next_text(p))
		if (is_one_of(p, of_refused))
			print_part(w, "%s\r\n", p);
}

static void print_formats(struct writer *w, const struct sdp_line_out *out)
{
	for (unsigned i = 0; i < out->nformats; i++) {
		const struct sdp_format *f = &out->formats[i];

		/* one that nobody named stays so */
		if (*f->name)
			print_part(w,
				   f->channels > 1 ? "a=rtpmap:%u %s/%u/%u\r\n"
						   : "a=rtpmap:%u %s/%u\r\n",
				   f->pt, f->name, f->rate, f->channels);
		if (*f->fmtp)
			print_part(w, "a=fmtp:%u %s\r\n", f->pt, f->fmtp);
	}
}

/* Print @out in place of the line at @p. @inherits: the session's "c=" is ours.
 */
static void print_carried(struct writer *w, const struct sdp_line *l,
			  const char *p, const char *end,
			  const struct sdp_line_out *out,
			  const struct sockaddr_storage *inherits)
{
	print_part(w, "m=%s %u %s", l->media, address_port(&out->rtp),
		   out->proto);
	for (unsigned i = 0; i < out->nformats; i++)
		print_part(w, " %u", out->formats[i].pt);
	print_part(w, "\r\n");
	print_lines(w, p, end, "i", NULL);
	if (!inherits || !address_same_host(inherits, &out->rtp))
		print_host(w, "c=", &out->rtp, "\r\n");
	print_lines(w, p, end, "b", NULL);
	print_lines(w, p, end, "k", NULL);
	print_formats(w, out);
	print_part(w, "a=%s\r\n", modes[out->mode & 3u]);
	print_lines(w, p, end, "a", of_others);
	if (out->rtcp_port)
		print_part(w, "a=rtcp:%u", out->rtcp_port);
	if (out->rtcp_port && out->rtcp_host)
		print_host(w, " ", &out->rtp, "");
	if (out->rtcp_port)
		print_part(w, "\r\n");
	if (out->mux)
		print_part(w, "a=rtcp-mux\r\n");
	if (out->ptime)
		print_part(w, "a=ptime:%u\r\n", out->ptime);
	if (out->maxptime)
		print_part(w, "a=maxptime:%u\r\n", out->maxptime);
}

/* Is the session's "c=" to be ours? Where a line has none of its own, it would
 * say that the speaker is there. */
static bool is_session_ours(const struct sdp *sdp, const struct sdp_out *out)
{
	const char *p = sdp->text, *end = section_end(p, sdp->end);
	bool ours = out->connection;

	if (!has_connection(p, end))
		return false;
	for (p = end; p < sdp->end; p = end) {
		end = section_end(p, sdp->end);
		ours |= !has_connection(p, end);
	}
	return ours;
}

long sdp_write(const struct sdp *sdp, const struct sdp_out *out, char *text,
	       size_t size, struct cr_err *e)
{
	const struct sockaddr_storage *at = our_address(sdp, out);
	const char *p = sdp->text, *end = section_end(p, sdp->end);
	bool inherits = is_session_ours(sdp, out);
	struct writer w = { .out = out, .text = text, .size = size };

	print_session(&w, sdp, end, inherits, at);
	for (unsigned i = 0; i < sdp->nlines; i++) {
		p = end;
		end = section_end(p, sdp->end);
		if (out->lines[i].refused)
			print_refused(&w, &sdp->line[i], p, end,
				      out->connection ? at : NULL, inherits);
		else
			print_carried(&w, &sdp->line[i], p, end, &out->lines[i],
				      inherits ? at : NULL);
	}
	if (w.at >= size)
		return cr_fail(e, -ENOSPC,
			       "the SDP becomes longer than %zu octets", size);
	return (long)w.at;
}
