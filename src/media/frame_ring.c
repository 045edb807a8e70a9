/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drop-oldest frame ring of media/frame_ring.h. It moves buffers, not
 * bytes, and knows nothing of RTP or of what the frames hold.
 *
 * A slot is one atomic word: sequence << 16 | full << 15 | buffer index. Every
 * buffer index is at any time in exactly one place: a slot, the producer's
 * spare, or the consumer's held. A sequence never comes twice, so a word never
 * comes twice, and compare-and-swap has no ABA.
 *
 *   producer   fill spare; head++; word = exchange(slot, mine)
 *                 word full:  its frame is dropped  } its buffer is the
 *                 word empty: nothing lost          } new spare
 *   consumer   word = load(slot[tail])
 *                 empty:               nothing waits
 *                 full, seq == tail:   the oldest; CAS (seq, empty, held)
 *                 full, seq >  tail:   lapped; tail = head - slots, again
 *
 * No fences (ThreadSanitizer does not model them); the pairs are:
 *  A  exchange in push() releases bytes and metadata; the CAS in claim() and
 *     the load in oldest() acquire them.
 *  B  the CAS in claim() releases the consumer's reads of the buffer that it
 *     hands back; a later exchange in push() acquires it as the new spare.
 *  C  metadata is stored with release and loaded with acquire: a reader that
 *     sees one word of a recycled buffer sees, when it looks at the slot
 *     again, the exchange that recycled it.
 *  D  head is stored before the exchange: who sees a word sees its head.
 */
#include "media/frame_ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cache.h"

/* Of a claimed frame: 20 ms of G.711, the largest that is common, and its
 * metadata. */
#define FETCH_BYTES 192u
#define MIN_SLOTS 2u
#define MAX_SLOTS 4096u

#define SEQ_SHIFT 16
#define FULL (UINT64_C(1) << 15)
#define INDEX (FULL - 1)

/* A frame's metadata but for its sequence, at the head of its buffer. Atomic
 * because peek() may read it while the producer refills the buffer; peek() then
 * notices and does not use it. */
#define META_BYTES                                                             \
	(sizeof(struct cr_frame_meta) - offsetof(struct cr_frame_meta, arrival))
#define META_WORDS (META_BYTES / sizeof(uint64_t))
struct meta {
	_Atomic uint64_t word[META_WORDS];
};

_Static_assert(sizeof(struct meta) == META_BYTES && META_BYTES == 32,
	       "with 20 ms of G.711 it fills FETCH_BYTES");

struct frame_ring {
	/* constant */
	unsigned slots;
	size_t frame_bytes;
	size_t stride; /* of one buffer */
	uint8_t *buffers;
	_Atomic uint64_t *slot;
	size_t total;

	/* the producer's; the two counters are read by any thread */
	_Alignas(CACHE_LINE) _Atomic uint64_t head; /* frames ever pushed */
	_Atomic uint64_t dropped;
	unsigned head_slot; /* head % slots */
	unsigned spare;

	/* the consumer's; claimed is read by any thread */
	_Alignas(CACHE_LINE) _Atomic uint64_t claimed;
	uint64_t tail;	    /* oldest frame that may wait */
	unsigned tail_slot; /* tail % slots */
	unsigned held;
};

static uint64_t word_seq(uint64_t word)
{
	return word >> SEQ_SHIFT;
}

static uint64_t word_make(uint64_t seq, uint64_t full, unsigned index)
{
	return seq << SEQ_SHIFT | full | index;
}

static unsigned word_index(uint64_t word)
{
	return (unsigned)(word & INDEX);
}

static struct meta *meta_of(const struct frame_ring *r, unsigned index)
{
	return (struct meta *)(void *)(r->buffers + index * r->stride);
}

static uint8_t *bytes_of(const struct frame_ring *r, unsigned index)
{
	return r->buffers + index * r->stride + sizeof(struct meta);
}

/* Word by word: words that are copied by halves or in pairs wait until they are
 * in the cache. */
static void meta_store(struct meta *m, const struct cr_frame_meta *from)
{
	const uint8_t *p = (const uint8_t *)from + sizeof(from->seq);
	uint64_t word;

	for (unsigned i = 0; i < META_WORDS; i++, p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		atomic_store_explicit(&m->word[i], word,
				      memory_order_release); /* C */
	}
}

static void meta_load(struct meta *m, uint64_t seq, struct cr_frame_meta *to)
{
	uint8_t *p = (uint8_t *)to + sizeof(to->seq);
	uint64_t word;

	to->seq = seq;
	for (unsigned i = 0; i < META_WORDS; i++, p += sizeof(word)) {
		word = atomic_load_explicit(&m->word[i],
					    memory_order_acquire); /* C */
		memcpy(p, &word, sizeof(word));
	}
}

static size_t round_up_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

struct frame_ring *frame_ring_new(unsigned slots, size_t frame_bytes)
{
	size_t words = round_up_lines(slots * sizeof(_Atomic uint64_t));
	size_t stride = round_up_lines(sizeof(struct meta) + frame_bytes);
	size_t total = sizeof(struct frame_ring) + words + (slots + 2) * stride;
	struct frame_ring *r;

	CR_ASSERT(slots >= MIN_SLOTS && slots <= MAX_SLOTS);
	CR_ASSERT(frame_bytes <= UINT16_MAX);
	r = aligned_alloc(CACHE_LINE, total);
	if (!r)
		return NULL;
	memset(r, 0, total); /* also: no page fault on the data path */
	r->slots = slots;
	r->frame_bytes = frame_bytes;
	r->stride = stride;
	r->total = total;
	r->slot = (_Atomic uint64_t *)(void *)(r + 1);
	r->buffers = (uint8_t *)(r + 1) + words;
	/* Buffers 0..slots-1 start in the slots, then the spare, then the held
	 * one. */
	for (unsigned i = 0; i < r->slots; i++)
		atomic_init(&r->slot[i], word_make(0, 0, i));
	r->spare = r->slots;
	r->held = r->slots + 1;
	return r;
}

void frame_ring_free(struct frame_ring *r)
{
	free(r);
}

size_t frame_ring_bytes(const struct frame_ring *r)
{
	return r->total;
}

uint8_t *frame_ring_reserve(struct frame_ring *r)
{
	return bytes_of(r, r->spare);
}

bool frame_ring_push(struct frame_ring *r, struct cr_frame_meta *meta,
		     struct cr_frame_meta *dropped)
{
	uint64_t seq = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t lost, old;

	CR_DEBUG_ASSERT(meta->bytes <= r->frame_bytes);
	meta->seq = seq;
	meta_store(meta_of(r, r->spare), meta);
	/* D: release, pairs with oldest() and frame_ring_waiting(). */
	atomic_store_explicit(&r->head, seq + 1, memory_order_release);
	/* A: release the frame; B: acquire the buffer that comes back. */
	old = atomic_exchange_explicit(&r->slot[r->head_slot],
				       word_make(seq, FULL, r->spare),
				       memory_order_acq_rel);
	r->head_slot = r->head_slot + 1 < r->slots ? r->head_slot + 1 : 0;
	r->spare = word_index(old);
	if (!(old & FULL))
		return false;
	meta_load(meta_of(r, r->spare), word_seq(old), dropped);
	lost = atomic_load_explicit(&r->dropped, memory_order_relaxed);
	/* Release, pairs with frame_ring_waiting(). */
	atomic_store_explicit(&r->dropped, lost + 1, memory_order_release);
	return true;
}

/* The word of the oldest waiting frame, which is then at tail; 0: empty. */
static uint64_t oldest(struct frame_ring *r)
{
	for (;;) {
		uint64_t word = atomic_load_explicit(
			&r->slot[r->tail_slot], memory_order_acquire); /* A */
		uint64_t head;

		if (!(word & FULL))
			return 0;
		if (word_seq(word) == r->tail)
			return word;
		/* The producer overwrote tail: what may still wait is the last
		 * @slots. */
		head = atomic_load_explicit(&r->head, memory_order_acquire);
		r->tail = head - r->slots;
		r->tail_slot = (unsigned)(r->tail % r->slots);
	}
}

void frame_ring_fetch_producer(const struct frame_ring *r)
{
	cache_fetch(&r->slots, offsetof(struct frame_ring, total));
	cache_fetch(&r->head, 1);
}

void frame_ring_fetch(const struct frame_ring *r)
{
	cache_fetch(&r->claimed, 1);
}

bool frame_ring_peek(struct frame_ring *r, struct cr_frame_meta *meta)
{
	struct cr_frame_meta seen;
	uint64_t word, again;

	do {
		word = oldest(r);
		if (!word)
			return false;
		meta_load(meta_of(r, word_index(word)), r->tail, &seen);
		/* C: the same word still: nothing was recycled meanwhile. */
		again = atomic_load_explicit(&r->slot[r->tail_slot],
					     memory_order_relaxed);
	} while (again != word);
	*meta = seen;
	return true;
}

const uint8_t *frame_ring_claim(struct frame_ring *r, uint64_t seq,
				struct cr_frame_meta *meta)
{
	uint64_t word = oldest(r);
	uint64_t claimed;

	if (!word || seq != r->tail)
		return NULL;
	/* A: acquire the frame; B: release the buffer held so far. */
	if (!atomic_compare_exchange_strong_explicit(
		    &r->slot[r->tail_slot], &word, word_make(seq, 0, r->held),
		    memory_order_acq_rel, memory_order_relaxed))
		return NULL;
	r->held = word_index(word);
	cache_fetch(meta_of(r, r->held),
		    r->stride < FETCH_BYTES ? r->stride : FETCH_BYTES);
	r->tail++;
	r->tail_slot = r->tail_slot + 1 < r->slots ? r->tail_slot + 1 : 0;
	claimed = atomic_load_explicit(&r->claimed, memory_order_relaxed);
	/* Release, pairs with frame_ring_waiting(). */
	atomic_store_explicit(&r->claimed, claimed + 1, memory_order_release);
	meta_load(meta_of(r, r->held), seq, meta);
	return bytes_of(r, r->held);
}

unsigned frame_ring_waiting(const struct frame_ring *r)
{
	/* head last: every frame that was claimed or dropped is in it. */
	uint64_t claimed =
		atomic_load_explicit(&r->claimed, memory_order_acquire);
	uint64_t dropped =
		atomic_load_explicit(&r->dropped, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	uint64_t waiting = head - claimed - dropped;

	/* More only between two steps of the producer. */
	return waiting < r->slots ? (unsigned)waiting : r->slots;
}

uint64_t frame_ring_dropped(const struct frame_ring *r)
{
	return atomic_load_explicit(&r->dropped, memory_order_relaxed);
}
