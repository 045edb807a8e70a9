/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State memory: a memfd of slots, mapped once at its greatest size. It grows by
 * pages behind the mapping; only what was written is there.
 */
#define _GNU_SOURCE
#include "media/state_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"

/* Magic number; layout() follows. */
static const char STATE_MAGIC[16] = "codec-runner 04";

enum { STATE_HEAD = 4096, STATE_GROWTH = 64 };

struct state_memory {
	int fd;
	unsigned char *at;
	atomic_uint n; /* slots that the file has: control's; release, pairs
			* with state_slot_seen() */
	atomic_uchar holders[STATE_SLOTS]; /* 0: it is free */
	unsigned next;			   /* where to look for a free one */
};

#define MAP_BYTES (STATE_HEAD + (size_t)STATE_SLOTS * sizeof(struct state_slot))

/* Of those behind the magic: 0: layout(), 1: the run, 2: the ids. */
static uint64_t *state_word(const struct state_memory *m, unsigned i)
{
	return (void *)(m->at + sizeof(STATE_MAGIC) + i * sizeof(uint64_t));
}

static struct state_slot *slot_of(const struct state_memory *m, unsigned i)
{
	return (void *)(m->at + STATE_HEAD + i * sizeof(struct state_slot));
}

/* --- records --- */

/* The generation of the copy @from, of @n words, into @out; 0: it fails. */
static uint64_t read_copy(const _Atomic uint64_t *from, uint64_t *out,
			  unsigned n)
{
	uint64_t generation = from[0], check = state_mix(STATE_SEED, from[0]);

	for (unsigned i = 0; i < n; i++) {
		out[i] = from[2 + i];
		check = state_mix(check, out[i]);
	}
	return generation && check == from[1] ? generation : 0;
}

/* The newer of two copies, of @n words. */
static bool read_newer(const _Atomic uint64_t *a, const _Atomic uint64_t *b,
		       void *out, unsigned n)
{
	uint64_t x[STATE_HEARD_WORDS], y[STATE_HEARD_WORDS];
	uint64_t first = read_copy(a, x, n), second = read_copy(b, y, n);

	if (!first && !second)
		return false;
	memcpy(out, first > second ? x : y, n * sizeof(x[0]));
	return true;
}

const uint8_t *state_recent_payload(const struct state_recent *r, unsigned ago,
				    bool speech, size_t *bytes)
{
	const unsigned room = r->room, most = state_recent_most(room);
	unsigned at;

	if (ago >= (speech ? r->count : 1) || ago >= most || r->last >= most)
		return NULL;
	at = (r->last + most - ago) % most;
	*bytes = r->bytes[at] < room ? r->bytes[at] : room;
	return r->data + at * room;
}

bool state_get_sent(const struct state_stream *s, struct state_sent *out)
{
	return read_newer(&s->sent[0].generation, &s->sent[1].generation, out,
			  STATE_SENT_WORDS);
}

bool state_get_heard(const struct state_stream *s, struct state_heard *out)
{
	return read_newer(&s->heard[0].generation, &s->heard[1].generation, out,
			  STATE_HEARD_WORDS);
}

void state_put_heard(struct state_stream *s, const struct state_heard *heard)
{
	uint64_t a, b, next;

	if (!s)
		return;
	a = s->heard[0].generation;
	b = s->heard[1].generation;
	next = 1 + (a > b ? a : b);
	state_write(&s->heard[next % 2].generation, next, heard,
		    STATE_HEARD_WORDS);
}

/* --- text --- */

/* The words of a text; the last one is filled up with zeros. */
static unsigned text_words(uint64_t bytes)
{
	return (unsigned)((bytes + 7) / 8);
}

/* The generation of @half, and its text into @out[STATE_TEXT_MAX + 1]; 0: it
 * fails. */
static uint64_t read_half(const struct state_slot *slot, unsigned half,
			  char *out)
{
	const struct state_half *h = &slot->half[half];
	uint64_t generation = h->generation, bytes = h->bytes, word;
	uint64_t check = state_mix(state_mix(STATE_SEED, generation), bytes);

	if (!generation || bytes > STATE_TEXT_MAX)
		return 0;
	for (unsigned i = 0; i < text_words(bytes); i++) {
		word = atomic_load_explicit(&slot->word[i][half],
					    memory_order_relaxed);
		check = state_mix(check, word);
		memcpy(out + 8 * i, &word, 8);
	}
	out[bytes] = '\0';
	return check == h->check ? generation : 0;
}

int state_put_text(struct state_slot *slot, const char *text, size_t bytes)
{
	char was[STATE_TEXT_MAX + 8];
	uint64_t first = read_half(slot, 0, was),
		 second = read_half(slot, 1, was);
	const unsigned half = first > second;
	struct state_half *to = &slot->half[half];
	uint64_t next = 1 + (first > second ? first : second), word;
	uint64_t check = state_mix(state_mix(STATE_SEED, next), bytes);

	if (bytes > STATE_TEXT_MAX)
		return -EMSGSIZE;
	/* first, and seen first: a process killed on the way leaves the other
	 * half */
	atomic_store_explicit(&to->generation, 0, memory_order_seq_cst);
	to->bytes = bytes;
	for (unsigned i = 0; i < text_words(bytes); i++) {
		size_t left = bytes - 8 * (size_t)i;

		word = 0;
		memcpy(&word, text + 8 * (size_t)i, left < 8 ? left : 8);
		check = state_mix(check, word);
		atomic_store_explicit(&slot->word[i][half], word,
				      memory_order_relaxed);
	}
	to->check = check;
	atomic_store_explicit(&to->generation, next, memory_order_release);
	return 0;
}

bool state_get_text(const struct state_slot *slot, char *out)
{
	char other[STATE_TEXT_MAX + 8], text[STATE_TEXT_MAX + 8];
	uint64_t first = read_half(slot, 0, text),
		 second = read_half(slot, 1, other);

	if (first || second)
		memcpy(out, first > second ? text : other, STATE_TEXT_MAX + 1);
	return first || second;
}

static bool has_text(const struct state_slot *slot)
{
	return slot->half[0].generation || slot->half[1].generation;
}

bool state_slot_is_damaged(const struct state_slot *slot)
{
	char text[STATE_TEXT_MAX + 1];

	return has_text(slot) && !state_get_text(slot, text);
}

/* --- for another machine --- */

struct state_version state_version(const struct state_slot *slot)
{
	const struct state_half *h = &slot->half[slot->half[1].generation >
						 slot->half[0].generation];
	struct state_version v = { 0 };

	/* a slot that is another call's by now has another check */
	if (h->generation)
		v.text = h->check ^ h->generation;
	for (unsigned i = 0; i < 4; i++) {
		const struct state_stream *s = &slot->stream[i / 2];

		v.records += s->sent[i % 2].generation;
		v.records += s->heard[i % 2].generation << 32;
	}
	return v;
}

void state_memory_taken_over(struct state_memory *m)
{
	for (unsigned i = 0; state_slot_seen(m, i); i++)
		slot_of(m, i)->taken_over = has_text(slot_of(m, i));
}

bool state_slot_taken_over(const struct state_slot *slot)
{
	return slot->taken_over && has_text(slot);
}

/* Of the text: which records there are, the records, a check. In this order, in
 * hexadecimal digits. */
struct records {
	uint64_t has;
	struct {
		struct state_sent sent;
		struct state_heard heard;
	} stream[2];
	uint64_t check;
};

enum { RECORDS_WORDS = sizeof(struct records) / 8 };
_Static_assert(16 * RECORDS_WORDS + 1 <= STATE_RECORDS_TEXT,
	       "the text has room for all words");

static uint64_t check_records(const uint64_t word[RECORDS_WORDS])
{
	uint64_t check = STATE_SEED;

	for (unsigned i = 0; i < RECORDS_WORDS - 1; i++)
		check = state_mix(check, word[i]);
	return check;
}

void state_records_write(const struct state_slot *slot, cr_ns shift,
			 char out[STATE_RECORDS_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	struct records r = { 0 };
	uint64_t word[RECORDS_WORDS];

	for (unsigned i = 0; i < 2; i++) {
		struct state_sent *sent = &r.stream[i].sent;

		if (state_get_sent(&slot->stream[i], sent) && sent->at) {
			sent->at += shift;
			r.has |= 1u << 2 * i;
		}
		if (state_get_heard(&slot->stream[i], &r.stream[i].heard))
			r.has |= 2u << 2 * i;
	}
	memcpy(word, &r, sizeof(r));
	word[RECORDS_WORDS - 1] = check_records(word);
	/* of each call, ten times a second: no printf() */
	for (unsigned i = 0; i < 16 * RECORDS_WORDS; i++)
		out[i] = digits[word[i / 16] >> (60 - 4 * (i % 16)) & 15];
	out[16 * RECORDS_WORDS] = '\0';
}

bool state_records_read(struct state_slot *slot, const char *text, cr_ns shift)
{
	struct records r;
	uint64_t word[RECORDS_WORDS];

	if (strlen(text) != 16 * RECORDS_WORDS ||
	    strspn(text, "0123456789abcdef") != 16 * RECORDS_WORDS)
		return false;
	for (unsigned i = 0; i < RECORDS_WORDS; i++) {
		char one[17];

		(void)snprintf(one, sizeof(one), "%s", text + 16 * (size_t)i);
		word[i] = strtoull(one, NULL, 16);
	}
	if (word[RECORDS_WORDS - 1] != check_records(word))
		return false;
	memcpy(&r, word, sizeof(r));
	for (unsigned i = 0; i < 2; i++) {
		if (r.has & 1u << 2 * i) {
			int64_t *at = &r.stream[i].sent.at;

			/* of another clock: any value may be there */
			if (__builtin_add_overflow(*at, shift, at) || *at <= 0)
				*at = 1;
			state_put_sent(&slot->stream[i], &r.stream[i].sent);
		}
		if (r.has & 2u << 2 * i)
			state_put_heard(&slot->stream[i], &r.stream[i].heard);
	}
	return true;
}

/* --- the memory --- */

/* Of what is in a slot: another program may count other things. */
static uint64_t layout(void)
{
#define COUNTER_NAME(name, ...) #name " "
	static const char names[] =
		STREAM_COUNTERS(COUNTER_NAME) LEARN_COUNTERS(COUNTER_NAME);
#undef COUNTER_NAME

	uint64_t check = state_mix(STATE_SEED, sizeof(struct state_slot));

	for (size_t i = 0; i < sizeof(names); i++)
		check = state_mix(check, (unsigned char)names[i]);
	return check;
}

/* How many slots a file of @bytes has. */
static unsigned slots_in(off_t bytes)
{
	if (bytes < STATE_HEAD)
		return 0;
	if ((uint64_t)bytes > MAP_BYTES)
		return STATE_SLOTS;
	return (unsigned)(((size_t)bytes - STATE_HEAD) /
			  sizeof(struct state_slot));
}

static struct state_memory *map_memory(int fd, unsigned n, struct cr_err *e)
{
	struct state_memory *m = calloc(1, sizeof(*m));

	if (m)
		m->at = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (!m || m->at == MAP_FAILED) {
		(void)cr_fail(e, -ENOMEM, "out of memory for calls' state");
		(void)close(fd);
		free(m);
		return NULL;
	}
	m->fd = fd;
	atomic_init(&m->n, n);
	return m;
}

struct state_memory *state_memory_new(struct cr_err *e)
{
	int fd = memfd_create("codec-runner-state", MFD_CLOEXEC);
	struct state_memory *m;

	if (fd < 0 || ftruncate(fd, STATE_HEAD)) {
		(void)cr_fail(e, -errno, "memory for calls' state: %s",
			      strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return NULL;
	}
	m = map_memory(fd, 0, e);
	if (m) {
		memcpy(m->at, STATE_MAGIC, sizeof(STATE_MAGIC));
		*state_word(m, 0) = layout();
		(void)state_memory_new_run(m);
	}
	return m;
}

struct state_memory *state_memory_adopt(int fd, struct cr_err *e)
{
	struct state_memory *m;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < STATE_HEAD ||
	    (uint64_t)st.st_size > MAP_BYTES) {
		(void)cr_fail(e, -EINVAL,
			      "what was held as state is no state memory");
		(void)close(fd);
		return NULL;
	}
	m = map_memory(fd, slots_in(st.st_size), e);
	if (!m || (!memcmp(m->at, STATE_MAGIC, sizeof(STATE_MAGIC)) &&
		   *state_word(m, 0) == layout()))
		return m;
	(void)cr_fail(e, -EINVAL,
		      "the state of calls is of another version of "
		      "codec-runner");
	state_memory_free(m);
	return NULL;
}

void state_memory_free(struct state_memory *m)
{
	if (!m)
		return;
	(void)munmap(m->at, MAP_BYTES);
	(void)close(m->fd);
	free(m);
}

int state_memory_fd(const struct state_memory *m)
{
	return m->fd;
}

uint64_t state_memory_run(const struct state_memory *m)
{
	return *state_word(m, 1);
}

uint64_t state_memory_new_run(struct state_memory *m)
{
	random_fill(state_word(m, 1), sizeof(uint64_t));
	return *state_word(m, 1);
}

struct state_ids *state_memory_ids(const struct state_memory *m)
{
	return (void *)state_word(m, 2);
}

static atomic_uchar *holders_of(struct state_memory *m, const void *at)
{
	return &m->holders[(size_t)((const unsigned char *)at - m->at -
				    STATE_HEAD) /
			   sizeof(struct state_slot)];
}

/* Of @slot from its beginning: behind them nothing was written. */
static size_t bytes_in_use(const struct state_slot *slot)
{
	uint64_t text = slot->half[0].bytes > slot->half[1].bytes
				? slot->half[0].bytes
				: slot->half[1].bytes;

	return offsetof(struct state_slot, word) +
	       text_words(text < STATE_TEXT_MAX ? text : STATE_TEXT_MAX) *
		       sizeof(slot->word[0]);
}

/* Hold a free slot; remains of a former call are cleared, and no more: memory
 * that nobody has written costs nothing. */
static struct state_slot *hold_free(struct state_memory *m, unsigned at)
{
	struct state_slot *slot = slot_of(m, at);
	_Atomic uint64_t *word = (void *)slot;

	m->next = at + 1;
	for (size_t i = 0; i < bytes_in_use(slot) / sizeof(*word); i++)
		atomic_store_explicit(&word[i], 0, memory_order_relaxed);
	atomic_store_explicit(&m->holders[at], 1, memory_order_relaxed);
	return slot;
}

void state_memory_look(struct state_memory *m, unsigned i)
{
	struct stat st;

	if (i >= m->n && !fstat(m->fd, &st))
		atomic_store_explicit(&m->n, slots_in(st.st_size),
				      memory_order_release);
}

struct state_slot *state_slot_take(struct state_memory *m)
{
	const unsigned n = m->n;
	unsigned more;

	for (unsigned i = 0; i < n; i++) {
		unsigned at = (m->next + i) % n;

		/* acquire, pairs with state_slot_give() */
		if (!atomic_load_explicit(&m->holders[at],
					  memory_order_acquire))
			return hold_free(m, at);
	}
	state_memory_look(m, n);
	more = m->n + STATE_GROWTH;
	if (more > STATE_SLOTS ||
	    ftruncate(m->fd,
		      (off_t)(STATE_HEAD + more * sizeof(struct state_slot))))
		return NULL;
	atomic_store_explicit(&m->n, more, memory_order_release);
	return hold_free(m, more - STATE_GROWTH);
}

void state_slot_hold(struct state_memory *m, const void *at)
{
	if (at)
		atomic_fetch_add_explicit(holders_of(m, at), 1,
					  memory_order_relaxed);
}

void state_slot_end(struct state_slot *slot)
{
	for (unsigned i = 0; slot && i < 2; i++)
		atomic_store_explicit(&slot->half[i].generation, 0,
				      memory_order_seq_cst);
}

void state_slot_give(struct state_memory *m, const void *at)
{
	if (at) /* release, pairs with state_slot_take() */
		atomic_fetch_sub_explicit(holders_of(m, at), 1,
					  memory_order_release);
}

unsigned state_slot_number(const struct state_memory *m,
			   const struct state_slot *slot)
{
	return (unsigned)((size_t)((const unsigned char *)slot - m->at -
				   STATE_HEAD) /
			  sizeof(*slot));
}

struct state_slot *state_slot_at(struct state_memory *m, unsigned i)
{
	state_memory_look(m, i);
	if (i >= m->n)
		return NULL;
	atomic_store_explicit(&m->holders[i], 1, memory_order_relaxed);
	return slot_of(m, i);
}

void state_slot_touch(const struct state_slot *slot)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t at = (uintptr_t)slot & ~(page - 1);

	/* a kernel that does not know it maps them as they are used */
	(void)madvise((void *)at, (uintptr_t)slot + bytes_in_use(slot) - at,
		      MADV_POPULATE_WRITE);
}

const struct state_slot *state_slot_seen(const struct state_memory *m,
					 unsigned i)
{
	/* acquire, pairs with state_slot_take() */
	return i < atomic_load_explicit(&m->n, memory_order_acquire)
		       ? slot_of(m, i)
		       : NULL;
}
