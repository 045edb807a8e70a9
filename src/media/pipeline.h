/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transcoding of one stream: payload in, payloads out.
 *
 * unpack -> decode -> resample -> cut into the output codec's frames -> encode
 * -> pack. It knows RTP timestamps (they say where speech belongs) but neither
 * sockets nor headers, threads nor clocks. One input packet gives no, one or
 * several output packets; nothing is delayed but what the length of the
 * output's frames and packets demands: a packet has as many frames as its side
 * says, but ends sooner where a gap or silence follows. A gap in the input's
 * timestamps stays a gap in the output; where they go back, or overlap, the
 * output's go on: they never go back.
 *
 * What comes may be of several codecs, by turns (inputs). What goes may change
 * its codec between two packets (the output). Timestamps go on meanwhile, also
 * where the clock is another one then (RFC 7160).
 *
 * Thread rule: one thread at a time runs it (the worker that runs the
 * stream's job). Another one, control, may add inputs and change the output
 * meanwhile.
 */
#ifndef MEDIA_PIPELINE_H
#define MEDIA_PIPELINE_H

#include "cr/codec.h"
#include "cr/error.h"
#include "media/frame_ring.h"
#include "media/payload.h"
#include "rtp/rtp.h"

struct pipeline;

struct pipeline_cfg {
	struct codec_use in, out;
	/** Silence leaves as comfort noise (RFC 3389) of this payload type, and
	 * not as frames, if the output has no silence of its own; 0: never. */
	uint8_t pt_noise;
};

/** Working memory that calls on one worker share; about 61 KiB. */
struct pipeline_scratch {
	int16_t decoded[CR_FRAME_SAMPLES_MAX];
	/** at the output's rate, behind what an earlier packet left over */
	int16_t resampled[2 * CR_FRAME_SAMPLES_MAX];
	struct cr_frame frame;
	/** of an output packet of several frames */
	struct cr_frame packed[PAYLOAD_FRAMES_MAX];
	uint8_t packet[2048 - RTP_HEADER_BYTES]; /**< payload of the output */
};

/** An output packet. */
struct pipeline_packet {
	const uint8_t *payload;
	size_t bytes;
	uint32_t ts; /**< timestamp units of the output's clock, counted from
			  the call's first input packet                     */
	uint8_t pt;  /**< of the output's side, or of comfort noise         */
	bool noise;  /**< it is that                                        */
	bool silent; /**< NO_DATA: need not be sent                         */
	bool marker; /**< RTP's marker: a talk spurt begins                  */
};

/** The use of a packet of speech. */
enum pipeline_use {
	PIPELINE_SPEECH,
	PIPELINE_PAUSE, /**< silence, coded as speech: leaves as such */
	/** It came too late to be worth transcoding: NO_DATA where the output
	 * codec has it, else the decoder's concealment, encoded. */
	PIPELINE_CONCEAL,
	/** Its time has been filled already: the decoder learns of it, and
	 * nothing is emitted. */
	PIPELINE_LEARN
};

/** A frame that comes in. */
struct pipeline_input {
	/** Used of it: rtp_ts, marker, bytes, codec (pipeline_add_input()'s
	 * number), rtp_ticks of what was made, and arrival: where timestamps
	 * say nothing, that does. */
	struct cr_frame_meta meta;
	const uint8_t *payload;
	uint8_t use; /**< enum pipeline_use, for pipeline_run() */
	bool apart;  /**< its timestamp may be of another clock than speech has
		      */
};

typedef void pipeline_emit(void *arg, const struct pipeline_packet *packet);

/** Returns 0 and sets *@p, or -EINVAL or -ENOMEM with @e. @cfg is copied. */
int pipeline_open(struct pipeline **p, const struct pipeline_cfg *cfg,
		  struct cr_err *e);
void pipeline_close(struct pipeline *p); /**< NULL is fine */

/** Bytes it takes beside the codecs' own states. */
size_t pipeline_bytes(const struct pipeline *p);

/** Fetch into the cache what pipeline_run() begins with. */
void pipeline_fetch(const struct pipeline *p);

/** The input timestamp that counts as zero; otherwise the first run's. Before
 * the first run. */
void pipeline_first_ts(struct pipeline *p, uint32_t ts);

/** Inputs of a pipeline. Number 0 is what it was opened with. */
#define PIPELINE_INPUTS 16u

/** The number of the input whose frames are those of @side, a new one if there
 * is none. Packets that are received from now on may have it. Its codec is
 * opened when it is first used. -EINVAL (it cannot be decoded here), -ENOSPC
 * (it would be one too many), -ENOMEM with @e. Control. */
int pipeline_add_input(struct pipeline *p, const struct codec_use *side,
		       struct cr_err *e);

/** How many there are. Control. */
unsigned pipeline_inputs(const struct pipeline *p);
/** Forget those from number @n on: no packet has had one of them. Control. */
void pipeline_forget_inputs(struct pipeline *p, unsigned n);

struct pipeline_output;

/** An output to change to; @follows: always. 0, or -EINVAL, -ENOMEM with @e.
 * Control. */
int pipeline_output_new(struct pipeline_output **o,
			const struct codec_use *side, bool follows,
			struct cr_err *e);
void pipeline_output_free(struct pipeline_output *o); /**< NULL is fine */

/** Encode by @o, which is the pipeline's then, from the next packet on. The
 * speech of all packets before is encoded as it was. Where only the length of
 * packets changes, or their type, the encoder stays, with what it remembers.
 * Control. */
void pipeline_change(struct pipeline *p, struct pipeline_output *o);

/** From now on frames are another sender's, whose timestamps begin anew: it
 * follows as far behind the beginning of the packet before as it has arrived
 * behind that, or at that one's end if that is later. The thread that runs it.
 */
void pipeline_restart(struct pipeline *p);

/** Silence leaves as comfort noise of type @pt (pipeline_cfg.pt_noise) from the
 * next packet on. Any thread. */
void pipeline_set_noise(struct pipeline *p, uint8_t pt);

/** The next speech begins a talk spurt: the listener has been sent nothing for
 * a while. The thread that runs it. */
void pipeline_begin_spurt(struct pipeline *p);

/** Do frames wait for their packet to be full? The thread that runs it. */
bool pipeline_holds(const struct pipeline *p);
/** The clock of the output in use, Hz. The thread that runs it. */
unsigned pipeline_output_clock(const struct pipeline *p);
/** How long a packet of the output in use is. The thread that runs it. */
cr_ns pipeline_output_packet(const struct pipeline *p);
/** How long the last packet run was, or what stood for one, in units of its
 * input's clock. The thread that runs it. */
uint32_t pipeline_input_length(const struct pipeline *p);
/** The clock of input @number, Hz. */
unsigned pipeline_input_clock(const struct pipeline *p, unsigned number);
/** The side of input @number; constant as long as @p. Any thread. */
const struct codec_use *pipeline_input_side(const struct pipeline *p,
					    unsigned number);

/**
 * Use one input payload, see enum pipeline_use. Returns 0, or a negative enum
 * payload_reason when it is malformed (nothing was emitted then).
 * PAYLOAD_BAD_TYPE is also for one whose codec cannot be opened for want of
 * memory.
 */
int pipeline_run(struct pipeline *p, struct pipeline_scratch *s,
		 const struct pipeline_input *in, pipeline_emit *emit,
		 void *arg);

/** Before the first run: go on from where another pipeline was that has had
 * this payload of input 0. Of several in their order, those whose speech is
 * also
 * @encode d come last. Nothing is emitted, and no time passes. */
void pipeline_warm(struct pipeline *p, struct pipeline_scratch *s,
		   const uint8_t *payload, size_t bytes, bool encode);

/** In place of packets that never came, @lost (how long they are, and which
 * input it would have been): the decoder's concealment, or what the packet
 * behind, @next, says of them (FEC), encoded. It is to be run next; NULL: it
 * has not come. */
void pipeline_lost(struct pipeline *p, struct pipeline_scratch *s,
		   const struct pipeline_input *lost,
		   const struct pipeline_input *next, pipeline_emit *emit,
		   void *arg);

/** The party is silent for the time of @in, which has no payload: the noise
 * behind it, by its last SID or comfort noise, encoded or described. */
void pipeline_silence(struct pipeline *p, struct pipeline_scratch *s,
		      const struct pipeline_input *in, pipeline_emit *emit,
		      void *arg);

/** A packet of comfort noise has come: silence sounds like it from now on; its
 * rtp_ticks are the first of it. It is passed on, if that is so and these are
 * 0.
 * @emit NULL: it came late, and is only learned. 0; -EINVAL when it is
 * malformed; PAYLOAD_BAD_TYPE as pipeline_run(). */
int pipeline_noise(struct pipeline *p, struct pipeline_scratch *s,
		   const struct pipeline_input *in, pipeline_emit *emit,
		   void *arg);

/** Something that is not speech is to be sent: the frames that wait for their
 * packet to be full go before it. */
void pipeline_flush(struct pipeline *p, struct pipeline_scratch *s,
		    pipeline_emit *emit, void *arg);

/** The output's timestamp of @in, which is nothing to be transcoded. The time
 * of another sender may begin with it. If @in->apart, its timestamp is believed
 * as far as its arrival agrees. */
uint32_t pipeline_time(struct pipeline *p, const struct pipeline_input *in);

/** How many packets of the output @rtp_ticks of the input's RTP clock make; a
 * part of one counts. */
unsigned pipeline_packets(const struct pipeline *p, uint32_t rtp_ticks);

/** Ask the encoder for another mode from the next frame on; one that the
 * codec or the payload's mode_set does not have is ignored. Any thread. */
void pipeline_set_mode(struct pipeline *p, unsigned mode);
/** The same by a CMR that came in packets of @kind: ignored unless the output
 * is of that kind. Any thread. */
void pipeline_ask_mode(struct pipeline *p, enum payload_kind kind,
		       unsigned mode);
/** The mode last requested of the encoder. Any thread. */
unsigned pipeline_mode(const struct pipeline *p);

/** The format of the last packet run or concealed. The thread that runs it. */
enum payload_kind pipeline_kind(const struct pipeline *p);
/** The mode that the last packet run or concealed asked of its receiver, or
 * PAYLOAD_NO_CMR. The thread that runs it. */
uint8_t pipeline_cmr(const struct pipeline *p);

#endif
