/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitter buffer: packets go in as they arrive, and come out in the order of
 * their timestamps, each when its time to be played has come. A pure state
 * machine over memory of its own: no clock, no timer, no allocation after
 * jitter_open().
 *
 *   jitter_put() --> waits --> jitter_next(): play, conceal, pause
 *        |             |
 *        |             +--> overflow: the oldest went for a newer one
 *        |             +--> discarded: the source began again
 *        +--> late, duplicate, out of range, too big: refused
 *
 * Every packet that was put is counted once:
 *
 *   put = out + waiting + late + duplicates + overflow + discarded
 *         + out_of_range + too_big
 *
 * *The delay.* A packet's transit is its arrival less its timestamp, so only
 * differences of transits mean anything (RFC 3550, 6.4.1). The fastest transit
 * of the latest packets is the floor. Packets are played at their timestamp
 * plus the floor plus the delay: one that was as fast as the floor waits for
 * just the delay, a slower one for less, and none for more. Fixed: the delay is
 * `most`. Adaptive: play-out is at mean + 4 sigma of the latest 64 transits,
 * and the delay that follows from this is kept between `least` and `most`.
 *
 * Mean plus four times the variation is Ramjee, Kurose, Towsley, Schulzrinne,
 * "Adaptive playout mechanisms for packetized audio applications in wide-area
 * networks", INFOCOM 1994, algorithm 1. They take exponential averages, which
 * remember some 500 packets. We take exact values of a window, as Moon, Kurose,
 * Towsley, "Packet audio playout delay adjustment", Multimedia Systems 6 (1998)
 * do with quantiles: the average would lag by 100 ms behind a clock that runs
 * 1 % too slow, the mean of the window lags by 6 ms.
 *
 * The floor is of the packets of 25 times `most`, 64 at most, so that behind a
 * clock that is 1 % too slow it lags by no more than a quarter of `most`.
 *
 * The delay grows at once: a packet that comes after its time moves the
 * play-out of those behind it. It shrinks at once only in a pause, by a quarter
 * of the time that passes while silence is sent, and otherwise slowly: in 10 s
 * to 1/e of what is too much.
 *
 * *Pauses and losses.* When nothing waits for the time that is to be played,
 * it is concealed, for at most 60 ms in a row; then play-out pauses. It pauses
 * at once behind silence (jitter_input.silent), where sequence numbers show
 * that nothing was lost: that is a sender that saves packets (DTX), and before
 * two packets in sequence, or one that says it, show how long they are.
 * Play-out goes on with the next packet, however late: if it is beyond `most`,
 * the transits have changed for good, and the floor is found anew. So nothing
 * starves.
 *
 * *Beside speech* a source may send what is not part of its time, such as
 * telephone events (jitter_input.beside), in the same sequence. That comes out
 * where its number stands: behind what is before it, never in front of speech
 * that may yet come, and not later than the speech behind it. Where nothing
 * like that shows, it is due as speech of its timestamp would be. Its
 * timestamps need not rise, and nothing is learned from them. When its turn is
 * over it comes out at once, and is late only where the buffer has no place for
 * it. Behind it nothing is concealed.
 *
 * Packets that were held up and come all at once are not played all at once:
 * those older than `most` go (overflow), and the rest is played twice as fast
 * as it was spoken until it is in time again.
 *
 * *Short packets* may be more than the slots have room for: the oldest of a
 * buffer that is all but full is played at once, to make room.
 *
 * A driver puts packets as they come. When it is awake anyway, and at
 * jitter_due(), it calls jitter_next() until JITTER_NOTHING. So a timer of any
 * coarseness serves any number of buffers, and a packet needs no wake-up of its
 * own; what the timer adds is part of the wait.
 *
 * A buffer that is off keeps nothing and plays nothing: it finds duplicates and
 * late packets (behind a newer one), and the caller passes on the others.
 *
 * Thread rule: one thread at a time. Counters may be read by any.
 */
#ifndef RTP_JITTER_H
#define RTP_JITTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"
#include "rtp/rtp.h"

enum jitter_kind {
	JITTER_OFF,
	JITTER_FIXED,	/**< the delay is `most`                       */
	JITTER_ADAPTIVE /**< the delay is between `least` and `most`   */
};

/** Names of these for people; ends with NULL. */
extern const char *const jitter_kinds[];

/** Bounds of a configuration. */
#define JITTER_MOST_MIN (10 * CR_MS)
#define JITTER_MOST_MAX CR_SEC
#define JITTER_SLOTS_MAX 64u
#define JITTER_SLOT_BYTES_MAX 65535u
#define JITTER_CLOCK_MIN 1000u
#define JITTER_CLOCK_MAX 384000u

/** So much is concealed in a row. */
#define JITTER_CONCEAL_MAX (60 * CR_MS)

struct jitter_output;

struct jitter_cfg {
	enum jitter_kind kind;
	cr_ns least, most;   /**< of the delay: 0 <= least <= most        */
	uint32_t clock;	     /**< of the RTP timestamps, Hz                 */
	unsigned slots;	     /**< packets that may wait, 2..JITTER_SLOTS_MAX;
				  rounded up to a power of two              */
	unsigned slot_bytes; /**< the largest payload                       */
	/** A packet that was taken will not be played: for overflow, or
	 * discarded. Within jitter_put() and jitter_reset(), oldest first.
	 * Those beside speech may be passed on; they count as if they were
	 * played. NULL: nobody asks. */
	void (*gone)(void *arg, const struct jitter_output *packet);
	void *arg; /**< of gone()                                           */
};

/** The counters: names, heads of columns (NULL: in no table), help. */
#define JITTER_COUNTERS(X)                                                     \
	X(put, NULL, "packets put into the jitter buffer")                     \
	X(out, NULL, "packets played from the jitter buffer")                  \
	X(late, "LATE_IN", "packets that came when their turn was over")       \
	X(duplicates, NULL, "packets that had come before")                    \
	X(overflow, NULL,                                                      \
	  "packets dropped, oldest first, for the jitter buffer was full")     \
	X(discarded, NULL, "packets that waited when their source restarted")  \
	X(out_of_range, NULL,                                                  \
	  "packets far from the source's sequence or time")                    \
	X(too_big, NULL, "packets larger than the jitter buffer's slots")      \
	X(concealed, "CONCEALED", "packets' times to be concealed")            \
	X(pauses, NULL, "times that play-out paused")                          \
	X(restarts, NULL, "times that the source began again")                 \
	X(wait_ns, NULL, "time that played packets waited, all together")

struct jitter_counts {
#define JITTER_MEMBER(name, label, help) atomic_ullong name;
	JITTER_COUNTERS(JITTER_MEMBER)
#undef JITTER_MEMBER
};

/** A packet as it arrives. */
struct jitter_input {
	const struct rtp_packet *rtp; /**< its payload is copied            */
	cr_ns arrival;		      /**< the clock of jitter_next()       */
	uint32_t duration; /**< of its speech, units of the clock; 0, or more
				than a second: as far as the next timestamp,
				which is learned                            */
	bool silent; /**< silence, such as SID or comfort noise: what does not
			  come behind it was not sent                       */
	bool aux;    /**< no speech: it stands among speech by its number   */
	uint8_t tag; /**< the caller's                                      */
	/** Its place in the buffer's time, less its timestamp: for packets
	 * beside speech, and where clocks differ. */
	uint32_t shift;
};

/** The result for a packet; negative: refused. */
enum jitter_put {
	JITTER_TOO_BIG = -4,
	JITTER_OUT_OF_RANGE = -3, /**< far off; two in sequence are a restart */
	JITTER_DUPLICATE = -2,
	JITTER_LATE = -1, /**< its turn is over                             */
	JITTER_TAKEN = 0,
	JITTER_OVERFLOW, /**< taken; older ones went, see the counter       */
	JITTER_RESTART	 /**< taken; the source has begun again, and what
			      waited is discarded                           */
};

/** The next step. */
enum jitter_next {
	JITTER_NOTHING,
	JITTER_PLAY,	/**< a packet                                       */
	JITTER_CONCEAL, /**< a packet's time of which nothing came          */
	JITTER_PAUSE	/**< there is nothing from `ts` on until the next
			     JITTER_PLAY: conceal no more                   */
};

struct jitter_output {
	uint32_t ts; /**< all: where the packet is, or what is missing; in the
			  buffer's time                                     */
	uint32_t duration; /**< play, conceal: units of the clock            */
	cr_ns due;	   /**< all: when it was to be done                  */
	/* play; and conceal, of the packet behind, if that waits: it may know
	 * of what is missing (FEC). NULL: it has not come */
	const uint8_t *payload; /**< until the next put, next, reset or close */
	unsigned bytes;
	uint8_t pt, tag;
	uint16_t seq;
	/* play */
	uint32_t shift; /**< jitter_input's                                 */
	bool marker, silent, aux;
	bool restart; /**< the first of a source: forget its timestamps     */
	unsigned missing; /**< packets in front of it that have not come    */
	cr_ns arrival;
	cr_ns wait; /**< since its arrival, >= 0                            */
};

struct jitter;

/** Make a buffer. 0 and *@j (jitter_close()); -EINVAL with @e, which names
 * what of @cfg is out of its bounds; -ENOMEM with @e. */
int jitter_open(struct jitter **j, const struct jitter_cfg *cfg,
		struct cr_err *e);

/** Free it. NULL is fine. */
void jitter_close(struct jitter *j);

/**
 * Packet @in has arrived. A packet of another SSRC than the last one's is a
 * restart: which one is heard is the caller's choice. Arrivals may go back.
 * If off: what is not refused is the caller's to pass on, and counts as out.
 */
enum jitter_put jitter_put(struct jitter *j, const struct jitter_input *in);

/**
 * The next step at @now, oldest first: call until JITTER_NOTHING. *@out is
 * written otherwise. A caller that comes late gets the same, and longer waits.
 */
enum jitter_next jitter_next(struct jitter *j, cr_ns now,
			     struct jitter_output *out);

/** When jitter_next() will next have something to do, unless packets come
 * before: one timer serves any number of buffers. CR_NEVER: it depends on
 * packets. */
cr_ns jitter_due(const struct jitter *j);

/** Forget the source; what waits is discarded and counted. The delay that was
 * found for this network stays. */
void jitter_reset(struct jitter *j);

/** The number of packets that wait. */
unsigned jitter_waiting(const struct jitter *j);

/** The delay at present, between the bounds; 0 before the first packet. */
cr_ns jitter_delay(const struct jitter *j);

/** The counters. Any thread, while @j is open. */
const struct jitter_counts *jitter_counts(const struct jitter *j);

#endif
