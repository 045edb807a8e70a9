/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "ng/message.h"
#include "ng/service_impl.h"

void ng_warn(struct cr_err *warning, const char *fmt, ...)
{
	size_t n = strlen(warning->text);
	va_list ap;

	if (n && n + 3 < sizeof(warning->text))
		n += (size_t)snprintf(warning->text + n,
				      sizeof(warning->text) - n, "; ");
	va_start(ap, fmt);
	(void)vsnprintf(warning->text + n, sizeof(warning->text) - n, fmt, ap);
	va_end(ap);
}

bool ng_line_is_carried(const struct sdp_line *l, unsigned i,
			struct cr_err *warning)
{
	if (l->refused)
		return false;
	if (!l->audio)
		ng_warn(warning, "line %u: %.20s: this node has audio only",
			i + 1, l->media);
	else if (l->transport > SDP_RTP_FB)
		ng_warn(warning, "line %u: %.20s: this node has no %s", i + 1,
			l->proto,
			l->transport == SDP_SECURE ? "SRTP" : "such transport");
	else
		return true;
	return false;
}

void ng_line_report_rtcp(struct sdp_line_out *out, const struct ng_request *r,
			 bool mux)
{
	if (!r->no_rtcp)
		out->rtcp_port = address_port(&out->rtp) + !mux;
	out->rtcp_host = r->full_rtcp;
}

/* A description is kept as it came, as it was passed on, and as a tree. */
enum { COPIES = 4 };

int ng_take_room(struct ng_service *sv, struct ng_dialog *d, unsigned lines,
		 unsigned what, size_t bytes, struct cr_err *e)
{
	size_t octets = COPIES * bytes, other = d->kept[!what];
	int err;

	if (!what)
		octets += sizeof(*d) + 2 * sizeof(struct ng_side);
	if (lines < d->due.lines) /* their endpoints may be open */
		lines = d->due.lines;
	err = ng_due_change(&sv->shares, &d->due, lines, octets + other, e);
	if (!err)
		d->kept[what] = octets;
	return err;
}

/* Its version rises when it is not what @to was told last; with @rises always.
 */
static int write_as(const struct sdp *sdp, struct sdp_out *out, bool rises,
		    const struct ng_side *to, char text[NG_BYTES_MAX],
		    struct cr_err *e)
{
	const size_t size = NG_BYTES_MAX;
	long n;

	out->version = to->version ? to->version : sdp_version(sdp);
	n = sdp_write(sdp, out, text, size, e);
	if (n >= 0 && out->own_version && to->told &&
	    (rises || strcmp(to->told, text) != 0)) {
		out->version++;
		n = sdp_write(sdp, out, text, size, e);
	}
	return n < 0 ? (int)n : 0;
}

void ng_draft_drop(struct ng_draft *d)
{
	free(d->text);
	free(d->told);
	*d = (struct ng_draft){ 0 };
}

char *ng_draft_report(struct ng_draft *d, struct ng_side *to)
{
	char *text = d->text;

	to->version = d->version;
	if (d->told) {
		free(to->told);
		to->told = d->told;
	}
	*d = (struct ng_draft){ 0 };
	return text;
}

/* As @at, with its own port. */
static void show_as(struct sockaddr_storage *rtp,
		    const struct sockaddr_storage *at)
{
	unsigned port = address_port(rtp);

	*rtp = *at;
	address_set_port(rtp, port);
}

void ng_text_place(struct ng_text *t, struct node *n, const struct ng_side *to,
		   const struct ng_request *r)
{
	struct sockaddr_storage at = { 0 };
	struct node_interface_info first;

	for (unsigned i = 0; i < SDP_LINES_MAX && !at.ss_family; i++)
		if (!to->endpoint[i].id ||
		    !ng_endpoint_local(n, &to->endpoint[i], &at))
			at.ss_family = AF_UNSPEC;
	if (!at.ss_family && node_interface(n, 0, &first) &&
	    address_parse_host(first.advertised, &at))
		at.ss_family = AF_UNSPEC;
	for (unsigned i = 0; i < SDP_LINES_MAX; i++)
		if (t->line[i].refused)
			t->line[i].rtp = at;
	for (unsigned i = 0; i < SDP_LINES_MAX && r->shown.ss_family; i++)
		if (t->line[i].rtp.ss_family)
			show_as(&t->line[i].rtp, &r->shown);
}

int ng_draft_write(const struct sdp *sdp, const struct ng_text *t,
		   const struct ng_request *r, const struct ng_side *to,
		   struct ng_draft *d, struct cr_err *e)
{
	char buf[NG_BYTES_MAX];
	struct sdp_out out = {
		.lines = t->line,
		.origin = r->origin,
		.connection = r->connection,
		.own_version = r->version,
	};
	int err = write_as(sdp, &out, r->version_rises, to, buf, e);

	if (err)
		return err == -ENOSPC ? -EMSGSIZE : err;
	d->version = out.version;
	d->text = strdup(buf);
	d->told = r->version ? strdup(buf) : NULL;
	if (d->text && (d->told || !r->version))
		return 0;
	ng_draft_drop(d);
	return cr_fail(e, -ENOMEM, "out of memory for an SDP");
}
