/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State memory: what a new process needs to go on with the calls of one that
 * has died. A memfd, which something that does not crash holds
 * (observe/store.h), of slots: one a call.
 *
 *   text       what the call is, as control has written it. Two halves: a text
 *              goes to the one that is not in use, so a torn one leaves the
 *              former.
 *   sent       of each stream, its last packet: of the thread that sends
 *   heard      of each stream, who its party is: of its receiver
 *   working    of each stream, a worker is in a frame of it
 *   recent     of each stream, that frame's payload and those of speech before
 *              it: codecs of an upgraded process are run over them
 *   account    of each stream, what it has counted, and
 *   learned,   of the endpoint that hears it, what that has counted, and its
 *   rtcp       RTCP: of the same threads
 *
 * The text and each record have two copies, a generation and a checksum, and
 * are written without a lock or a system call. What does not check is not used:
 * a slot without a text that checks is free, a record that does not check was
 * never written. Counts have no checksum: they are where the threads count, a
 * copy of none. Any value of theirs is one that may be.
 *
 * Text: control. Records and counts: one thread each. Reading the text and
 * records: any thread; what is being written meanwhile is read as it was
 * before, or not at all.
 */
#ifndef MEDIA_STATE_MEMORY_H
#define MEDIA_STATE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cache.h"
#include "cr/error.h"
#include "cr/time.h"
#include "media/counters.h"
#include "observe/histogram.h"
#include "rtp/learn.h"
#include "rtp/rtcp_session.h"
#include "rtp/rtp.h"

/** The most slots. */
enum { STATE_SLOTS = 32768 };

/** The most of a payload that is kept, octets. */
#define STATE_PAYLOAD_MAX 2048u
/** The most payloads that are kept of a stream. */
enum { STATE_RECENT = 10 };
/** The longest text of a slot, octets. */
#define STATE_TEXT_MAX 7936u

/** The last packet that a stream has sent, and where its numbers are from. */
struct state_sent {
	uint32_t ssrc, ts;
	uint32_t in_ts;		/**< of the frame it was made of, as the party
				   has it: the next process has not filled
				   time before */
	uint32_t ts_more;	/**< relay: what is added to timestamps ... */
	uint16_t seq, seq_more; /**< ... and to numbers */
	uint16_t in_seq;
	uint16_t renumbers; /**< relay: these are added */
	int64_t at;	    /**< arrival; 0: nothing was sent */
};

/** The party that a stream receives from. */
struct state_heard {
	unsigned char address[32]; /**< head of a sockaddr; family 0: nobody */
	uint32_t ssrc;
	uint16_t seq;
	uint16_t unused; /**< 0 */
	uint32_t terms;	 /**< how often its terms had changed by then */
	uint32_t more;	 /**< 0 */
};

enum { STATE_SENT_WORDS = 4, STATE_HEARD_WORDS = 6 };
_Static_assert(sizeof(struct state_sent) == STATE_SENT_WORDS * 8 &&
		       sizeof(struct state_heard) == STATE_HEARD_WORDS * 8,
	       "records are whole words");

struct state_sent_copy {
	_Atomic uint64_t generation, check, word[STATE_SENT_WORDS];
};

struct state_heard_copy {
	_Atomic uint64_t generation, check, word[STATE_HEARD_WORDS];
};

struct stream_counters {
#define STREAM_MEMBER(name, ...) atomic_ullong name;
	_Alignas(CACHE_LINE) struct {
		STREAM_RX_COUNTERS(STREAM_MEMBER)
	};
	_Alignas(CACHE_LINE) struct {
		STREAM_WORKER_COUNTERS(STREAM_MEMBER)
	};
#undef STREAM_MEMBER
};

/** Counters of a stream, which outlive the process. */
struct stream_account {
	_Alignas(CACHE_LINE) struct rtp_source seen; /**< rx */
	struct stream_counters count;
	struct sketch delay; /**< worker: arrival to sending, of frames done */
};

/** The last source of RTCP of a party. */
struct state_rtcp_peer {
	struct sockaddr_storage from; /**< no family: from nowhere */
	bool mux;
};

/** RTCP of an endpoint (media/endpoint.h). */
struct state_rtcp {
	/** Its pointers are of the process that has written it. */
	_Alignas(CACHE_LINE) struct rtcp_session session;
	uint64_t foreign, sent, unsent;
	struct state_rtcp_peer peer[2]; /**< the party, and the listener */
	char cname[RTCP_CNAME_BYTES];	/**< "": it never began */
	_Alignas(CACHE_LINE) struct rtcp_sent stream; /**< of who sends */
};

/** The last payloads of a stream, each in a room of its own; the newest at
 * @last, which is that of the frame in work. What a dead process has left of it
 * may be anything: state_recent_payload() looks. */
struct state_recent {
	uint16_t room;	/**< octets for each */
	uint16_t count; /**< of speech, one behind the other, with the newest */
	uint16_t last;
	uint16_t bytes[STATE_RECENT];
	uint8_t data[STATE_PAYLOAD_MAX];
};

/** The hot part of a stream, and of the endpoint that it is heard at. Members
 * of two writing threads share no cache line. */
struct state_stream {
	_Alignas(CACHE_LINE) struct state_sent_copy sent[2];
	atomic_uint working; /**< 1: a worker is in a frame of it */
	_Alignas(CACHE_LINE) struct state_heard_copy heard[2];
	atomic_ullong learned[LEARN_NCOUNTERS]; /**< see learn_counts() */
	struct stream_account account;
	struct state_rtcp rtcp;
	struct state_recent recent; /**< the worker's */
};

struct state_half {
	_Atomic uint64_t generation, check, bytes;
};

/** Most texts are short. Their halves take turns, word by word, so the end of a
 * slot is never touched, and has no memory. */
struct state_slot {
	struct state_stream stream[2];
	_Atomic uint64_t taken_over; /**< 1: another node has the call */
	struct state_half half[2];
	_Atomic uint64_t word[STATE_TEXT_MAX / 8][2];
};

/** 0 is what memory has that was never written: no record checks with it. */
#define STATE_SEED UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t state_mix(uint64_t check, uint64_t word)
{
	return ((check << 7 | check >> 57) ^ word) * STATE_SEED;
}

/** Write a record of @n words over the older of its two copies, at @to. */
static inline void state_write(_Atomic uint64_t *to, uint64_t generation,
			       const void *from, unsigned n)
{
	uint64_t check = state_mix(STATE_SEED, generation), word;

	/* release: what was killed on the way leaves a copy that fails */
	atomic_store_explicit(&to[0], generation, memory_order_release);
	for (unsigned i = 0; i < n; i++) {
		__builtin_memcpy(&word, (const char *)from + 8 * i, 8);
		check = state_mix(check, word);
		atomic_store_explicit(&to[2 + i], word, memory_order_relaxed);
	}
	atomic_store_explicit(&to[1], check, memory_order_release);
}

/** A packet was sent. The thread that sends; NULL is fine. */
static inline void state_put_sent(struct state_stream *s,
				  const struct state_sent *sent)
{
	uint64_t next;

	if (__builtin_expect(!s, 1))
		return;
	next = 1 + (atomic_load_explicit(&s->sent[0].generation,
					 memory_order_relaxed) >
				    atomic_load_explicit(&s->sent[1].generation,
							 memory_order_relaxed)
			    ? s->sent[0].generation
			    : s->sent[1].generation);
	state_write(&s->sent[next % 2].generation, next, sent,
		    STATE_SENT_WORDS);
}

/** A party was learned. The receiver; NULL is fine. */
void state_put_heard(struct state_stream *s, const struct state_heard *heard);

/** The payloads of recent speech in rooms of @room octets. */
static inline unsigned state_recent_most(unsigned room)
{
	const unsigned fit = room ? STATE_PAYLOAD_MAX / room : 0;

	return fit < STATE_RECENT ? fit : STATE_RECENT;
}

/** A worker begins a frame of it, of the @bytes at @payload. @speech: of the
 * stream's main codec, which goes on from the frame before. NULL is fine. */
static inline void state_begin_frame(struct state_stream *s,
				     const uint8_t *payload, size_t bytes,
				     bool speech)
{
	/* 20 ms of G.711 or below, ten times; of L16, three times; or one */
	const uint16_t room = bytes <= STATE_PAYLOAD_MAX / STATE_RECENT
				      ? STATE_PAYLOAD_MAX / STATE_RECENT
			      : bytes <= 640 ? 640
					     : STATE_PAYLOAD_MAX;
	struct state_recent *r;

	if (__builtin_expect(!s, 1))
		return;
	r = &s->recent;
	if (room != r->room) {
		r->room = room;
		r->count = 0;
	}
	if (++r->last >= state_recent_most(room))
		r->last = 0;
	r->bytes[r->last] =
		(uint16_t)(bytes < STATE_PAYLOAD_MAX ? bytes
						     : STATE_PAYLOAD_MAX);
	__builtin_memcpy(r->data + (size_t)r->last * room, payload,
			 r->bytes[r->last]);
	if (!speech)
		r->count = 0;
	else if (r->count < state_recent_most(room))
		r->count++;
	/* release: what is found at work has its payload */
	atomic_store_explicit(&s->working, 1, memory_order_release);
}

/** It has ended it. NULL is fine. */
static inline void state_end_frame(struct state_stream *s)
{
	if (__builtin_expect(s != NULL, 0))
		atomic_store_explicit(&s->working, 0, memory_order_relaxed);
}

/** The payload that came @ago before the newest, which is 0: its *@bytes; NULL:
 * there is none. @speech: only one of those that are so. */
const uint8_t *state_recent_payload(const struct state_recent *r, unsigned ago,
				    bool speech, size_t *bytes);

/** The newer record that checks, or false. */
bool state_get_sent(const struct state_stream *s, struct state_sent *out);
bool state_get_heard(const struct state_stream *s, struct state_heard *out);

/** Write the text of a slot. 0; -EMSGSIZE, and the former stays. */
int state_put_text(struct state_slot *slot, const char *text, size_t bytes);
/** The newer text that checks, into @out[STATE_TEXT_MAX + 1]. False: none does.
 */
bool state_get_text(const struct state_slot *slot, char *out);
/** It had a text that does not check any more: state_get_text() is false. */
bool state_slot_is_damaged(const struct state_slot *slot);

/* --- for another machine --- */

/** What tells whether a slot has changed: of its text, 0: it has none; and of
 * its records. */
struct state_version {
	uint64_t text, records;
};

struct state_version state_version(const struct state_slot *slot);

/** Has another node taken over the call, which runs here all the same? */
bool state_slot_taken_over(const struct state_slot *slot);

/** The records of a slot as a text, with the NUL: its length is always the
 * same. */
#define STATE_RECORDS_TEXT 353u

/** Write the records of @slot that check, with @shift added to their times. */
void state_records_write(const struct state_slot *slot, cr_ns shift,
			 char out[STATE_RECORDS_TEXT]);
/** Read them back into @slot, which nobody writes to, with @shift added. False:
 * @text is something else, and nothing is read. */
bool state_records_read(struct state_slot *slot, const char *text, cr_ns shift);

/* --- the memory --- */

struct state_memory;

/** New memory, in a memfd. NULL with @e. */
struct state_memory *state_memory_new(struct cr_err *e);
/** Adopt the state memory of a dead process; it owns @fd. NULL with @e: not a
 * state memory, or another version; @fd is closed. */
struct state_memory *state_memory_adopt(int fd, struct cr_err *e);
/** NULL is fine. */
void state_memory_free(struct state_memory *m);
int state_memory_fd(const struct state_memory *m);
/** A random number of the process that began it, and of those that adopted it;
 * or a new one from now on. One thread. */
uint64_t state_memory_run(const struct state_memory *m);
uint64_t state_memory_new_run(struct state_memory *m);

/** Another node has taken over all calls that have a text now. Any thread; a
 * call that begins meanwhile may count as one of them. */
void state_memory_taken_over(struct state_memory *m);
/** The ids that were given last, by any of its processes: clients may have them
 * although their calls have ended. One thread. */
struct state_ids {
	uint32_t stream, endpoint;
};
struct state_ids *state_memory_ids(const struct state_memory *m);

/** Is there a slot @i that another process has made? Then it is seen from now
 * on. One thread. */
void state_memory_look(struct state_memory *m, unsigned i);
/** A free slot, empty, with one holder; NULL: no memory, or STATE_SLOTS are in
 * use. */
struct state_slot *state_slot_take(struct state_memory *m);
/** The slot that @at is in has one holder more. NULL is fine, as for the next
 * two. */
void state_slot_hold(struct state_memory *m, const void *at);
/** Nobody goes on with it: it has no text any more, but is not free. */
void state_slot_end(struct state_slot *slot);
/** A holder of the slot that @at is in does not write to it any more: without
 * holders it is free. Any thread. */
void state_slot_give(struct state_memory *m, const void *at);

/** The number of @slot, for state_slot_at(). */
unsigned state_slot_number(const struct state_memory *m,
			   const struct state_slot *slot);
/** Slot @i, whatever is in it, with one holder then; NULL: there are fewer. */
struct state_slot *state_slot_at(struct state_memory *m, unsigned i);
/** The same, to read only: it stays free if it is. Any thread. */
const struct state_slot *state_slot_seen(const struct state_memory *m,
					 unsigned i);
/** Have the pages of @slot that are in use mapped. */
void state_slot_touch(const struct state_slot *slot);

#endif
