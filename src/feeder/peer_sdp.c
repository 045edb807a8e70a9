/* SPDX-License-Identifier: Apache-2.0 */
#include "feeder/peer_sdp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "sdp/sdp.h"

#define DYNAMIC_PT 96u /* RFC 3551, 6: the first that is dynamic */

static bool is_codec(const struct campaign_endpoint *endpoint, const char *name)
{
	return !strcasecmp(endpoint->codec->rtp_name, name);
}

static unsigned clock_of(const struct campaign_endpoint *endpoint)
{
	return cr_codec_clock(endpoint->codec, endpoint->cfg.sample_rate);
}

/* --- what can be said --- */

static const char *unsaid_of_endpoint(const struct campaign_endpoint *endpoint)
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
	const struct campaign_endpoint *endpoint = &f->in;
	const char *unsaid = unsaid_of_endpoint(endpoint);

	if (campaign_converses(f))
		return cr_fail(e, -ENOTSUP,
			       "%s is a conversation: by NG, flows with in and "
			       "out are played",
			       campaign_title(f));
	if (!unsaid) {
		endpoint = &f->out;
		unsaid = unsaid_of_endpoint(endpoint);
	}
	if (!unsaid)
		return 0;
	return cr_fail(e, -ENOTSUP,
		       "flow %s: %s cannot be asked for by NG (%s)",
		       campaign_title(f), unsaid, endpoint->codec->name);
}

unsigned peer_sdp_pt(const struct campaign_endpoint *endpoint)
{
	return endpoint->codec->static_pt < 0
		       ? DYNAMIC_PT
		       : (unsigned)endpoint->codec->static_pt;
}

/* --- ours --- */

/* Format parameters by the RFC of the codec, "" for none; @is between a name
 * and its value. */
static void write_parameters(char *text, size_t size,
			     const struct campaign_endpoint *endpoint,
			     const char *is_sign)
{
	text[0] = '\0';
	/* RFC 4867, 8.1: the mode is the set's only one */
	if (is_codec(endpoint, "AMR") || is_codec(endpoint, "AMR-WB"))
		(void)snprintf(text, size, "mode-set%s%u%s%s%s", is_sign,
			       endpoint->cfg.mode,
			       endpoint->octet_align ? ";octet-align" : "",
			       endpoint->octet_align ? is_sign : "",
			       endpoint->octet_align ? "1" : "");
	else if (is_codec(endpoint, "opus") &&
		 endpoint->cfg.sample_rate) /* RFC 7587, 6.1 */
		(void)snprintf(text, size, "maxplaybackrate%s%u", is_sign,
			       endpoint->cfg.sample_rate);
	else if (is_codec(endpoint, "G729")) /* RFC 4856, 2.1.9 */
		(void)snprintf(text, size, "annexb%sno", is_sign);
}

int peer_sdp_write(char text[PEER_SDP_BYTES],
		   const struct campaign_endpoint *endpoint, unsigned pt,
		   cr_ns ptime, const char *address)
{
	struct sockaddr_storage at;
	char host[64], fmtp[96], channels[8] = "", parameter[128] = "";
	int n;

	if (address_parse(address, &at))
		return -EINVAL;
	write_parameters(fmtp, sizeof(fmtp), endpoint, "=");
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
		     clock_of(endpoint), channels, parameter,
		     (long long)(ptime / CR_MS));
	return n < (int)PEER_SDP_BYTES ? 0 : -EINVAL;
}

/* A bit rate is said where there is a choice. */
void peer_sdp_codec(char *text, size_t size,
		    const struct campaign_endpoint *endpoint)
{
	char fmtp[96], rate[16] = "";

	write_parameters(fmtp, sizeof(fmtp), endpoint, "--");
	if (endpoint->codec->nmodes > 1)
		(void)snprintf(
			rate, sizeof(rate), "/%u",
			endpoint->codec->modes[endpoint->cfg.mode].bit_rate);
	if (fmtp[0] && !rate[0])
		(void)snprintf(rate, sizeof(rate), "/");
	(void)snprintf(text, size, "%s/%u/%u%s%s%s", endpoint->codec->rtp_name,
		       clock_of(endpoint),
		       sdp_channels(endpoint->codec->rtp_name), rate,
		       fmtp[0] ? "//" : "", fmtp);
}

/* --- theirs --- */

static int read_sdp_line(const struct sdp_line *line,
			 const struct campaign_endpoint *endpoint,
			 struct sockaddr_storage *at, unsigned *pt,
			 struct cr_err *e)
{
	const struct sdp_format *f = line->formats;

	if (!f || strcasecmp(f->name, endpoint->codec->rtp_name) ||
	    f->rate != clock_of(endpoint))
		return cr_fail(e, -EPROTO,
			       "it settles on %.40s/%u where %s/%u is asked "
			       "for: can it transcode that?",
			       f ? f->name : "nothing", f ? f->rate : 0,
			       endpoint->codec->rtp_name, clock_of(endpoint));
	*at = line->rtp;
	*pt = f->pt;
	return 0;
}

int peer_sdp_read(const char *text, const struct campaign_endpoint *endpoint,
		  struct sockaddr_storage *at, unsigned *pt, struct cr_err *e)
{
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
		rc = read_sdp_line(line, endpoint, at, pt, e);
		break;
	}
	sdp_free(sdp);
	return rc;
}
