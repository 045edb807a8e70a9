/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session descriptions (SDP, RFC 8866): what a party says of itself read into
 * structs, and the same description written anew with our own addresses, ports
 * and codecs in it. What is none of our business passes through.
 *
 * Each line is checked against the grammar of RFC 8866, 9 first, and refused
 * with its number; then it is read.
 *
 * Thread rule: one thread at a time has a description.
 */
#ifndef SDP_SDP_H
#define SDP_SDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strings.h>
#include <sys/socket.h>

#include "cr/error.h"

/** Longer ones are refused, octets. */
#define SDP_BYTES_MAX 65535u
/** More lines of text than these, but for empty ones, are refused. */
#define SDP_TEXT_LINES_MAX 4096u
/** More media lines than these are refused. */
#define SDP_LINES_MAX 16u
/** More payload types of one line than these are refused. */
#define SDP_FORMATS_MAX 64u
/** Formats with longer parameters, in octets, are left out: those of speech are
 * far shorter, and to compare them takes long. */
#define SDP_FMTP_MAX 256u

/** Direction: does it send, and want to be sent to (RFC 3264, 5.1)? As bits. */
enum sdp_mode {
	SDP_INACTIVE = 0,
	SDP_SENDONLY = 1,
	SDP_RECVONLY = 2,
	SDP_SENDRECV = 3
};

/** One RTP payload type. Texts are the description's. */
struct sdp_format {
	uint8_t pt;
	const char *name; /**< encoding name, as rtpmap has it, or RFC 3551's;
			       "" for one that nobody named               */
	unsigned rate;	  /**< Hz, of RTP's clock                         */
	unsigned channels;
	const char *fmtp; /**< "" for none */
};

/** The channels that the rtpmap of @codec has. RFC 7587, 4.1: opus is always
 * said to have two; the speech is one's. */
static inline unsigned sdp_channels(const char *codec)
{
	return strcasecmp(codec, "opus") ? 1 : 2;
}

enum sdp_transport {
	SDP_RTP,    /**< RTP/AVP                                      */
	SDP_RTP_FB, /**< RTP/AVPF: feedback (RFC 4585)                */
	SDP_SECURE, /**< RTP/SAVP and such: keys that we have not     */
	SDP_FOREIGN /**< no RTP                                       */
};

/** A media line ("m=") and what belongs to it. */
struct sdp_line {
	const char *media; /**< "audio"   */
	const char *proto; /**< "RTP/AVP" */
	bool audio;
	bool refused;  /**< its port is 0 */
	bool held;     /**< its address is 0.0.0.0, as RFC 2543 put on hold */
	bool mux;      /**< RTCP may come where RTP does (RFC 5761) */
	bool mux_only; /**< and nowhere else (RFC 8858) */
	bool ice;      /**< it has candidates */
	enum sdp_transport transport;
	enum sdp_mode mode;
	/** Its addresses. No family: at a host that is no number, or none. */
	struct sockaddr_storage rtp, rtcp;
	bool rtcp_said; /**< by "a=rtcp"; else it is what that is without */
	unsigned ptime, maxptime;	  /**< ms; 0: unsaid           */
	const struct sdp_format *formats; /**< [nformats], best first  */
	unsigned nformats;
};

struct sdp;

/** Parse the @bytes at @text. 0 and *@sdp, or with @e: -EINVAL (no SDP, or more
 * of it than the bounds above), -ENOMEM.
 *
 * Lines may end with LF alone, may have blanks behind, or nothing at all; s=,
 * t= and c= may be missing; and of those before the first "m=", only "v=" has
 * its place. */
int sdp_read(struct sdp **sdp, const char *text, size_t bytes,
	     struct cr_err *e);
void sdp_free(struct sdp *sdp); /**< NULL is fine */

/** Its media lines, in order. */
unsigned sdp_lines(const struct sdp *sdp);
const struct sdp_line *sdp_line(const struct sdp *sdp, unsigned i);

/** The number of its line "o=" that rises with every change. */
uint64_t sdp_version(const struct sdp *sdp);

/** A line that is written in place of a media line of RTP. */
struct sdp_line_out {
	/** Port 0; of the rest only @rtp matters: see sdp_out. */
	bool refused;
	const char *proto;
	struct sockaddr_storage rtp; /**< our address towards the reader */
	unsigned rtcp_port;	     /**< of "a=rtcp"; 0: unsaid         */
	bool rtcp_host;		     /**< which has our address, too     */
	bool mux;
	enum sdp_mode mode;
	unsigned ptime, maxptime;	  /**< ms; 0: unsaid */
	const struct sdp_format *formats; /**< [nformats], best first */
	unsigned nformats;
};

struct sdp_out {
	const struct sdp_line_out *lines; /**< one for each */
	/** The address of the first line that is not refused goes to "o=", and
	 * to the session's "c=" if there is one, and to that of refused lines;
	 * where all are refused, that of one that has one, or 0.0.0.0. Always
	 * ours are a line's own "c=", and the session's where a line has none
	 * of its own. */
	bool origin, connection;
	bool own_version; /**< "o=" gets the version below */
	uint64_t version;
};

/** Write @sdp with @out in it to @text[@size], zero-terminated. Returns its
 * length, or with @e -ENOSPC (it is longer). */
long sdp_write(const struct sdp *sdp, const struct sdp_out *out, char *text,
	       size_t size, struct cr_err *e);

#endif
