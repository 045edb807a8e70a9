/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what is asked for to a call's configuration: names become codecs, what
 * was left open is settled, and what contradicts itself is refused with the
 * member's name and the way out ("ptime: amr comes in frames of 20 ms").
 *
 * Packet time is how much speech the packets have that we send (SDP's ptime).
 * Frames of one codec have one length, and a packet has several; PCM has any;
 * of Opus and its like a packet is one frame, of the lengths that it knows.
 *
 * Pure: any thread.
 */
#ifndef NODE_CALL_CHECK_H
#define NODE_CALL_CHECK_H

#include "cr/error.h"
#include "media/rtp_stream.h"
#include "media/pipeline.h"
#include "node/requests.h"

/** Find in @u what it asks for, and fill in what it leaves open, but for what
 * follows from the other end and from the packets' length. A checked one may be
 * checked again. 0, or -EINVAL with @e; @path is what stands before a member.
 */
int codec_use_check(struct codec_use *u, const char *path, struct cr_err *e);

/** Index of the mode of @codec called @name (NULL: its default) into *@mode.
 * 0, or -EINVAL with @e; @path is what stands before the member "mode". */
int call_check_mode(unsigned *mode, const struct cr_codec *codec,
		    const char *name, const char *path, struct cr_err *e);

/** Let packets of the output @s last @time. 0, or -EINVAL with @e and @s as it
 * was: it cannot, and @e says what it can. @path is what stands before the
 * member "ptime". */
int packet_time_set(struct codec_use *s, cr_ns time, const char *path,
		    struct cr_err *e);

/** Nothing is asked of the output @s, and packets of the input last @time:
 * those of the output last as long if it can have such frames, else a frame.
 * @time: the codec may have it. */
void packet_time_follow(struct codec_use *s, cr_ns time);

/** The configuration of the one stream that @r asks for. 0, or -EINVAL with @e
 * and @out as it was. */
int call_check(struct stream_cfg *out, const struct call_spec *r,
	       struct cr_err *e);
/** Does @r ask for more than what is done without it? */
bool call_says_reception(const struct reception_spec *r);

/** The same of the stream from end @i, which may be one of two: without what
 * only one by itself has to have. @names: of both ends. */
int call_check_stream(struct stream_cfg *out, const struct call_spec *r,
		      unsigned i, const struct end_names names[2],
		      struct cr_err *e);

/** Put what the change @r asks for into @cfg, whose mode is the one in use. 0,
 * or -EINVAL with @e and @cfg as it was. */
int call_check_change(struct stream_cfg *cfg, const struct call_spec *r,
		      struct cr_err *e);

#endif
