/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State memory: a memfd of slots, mapped once at its greatest size. It grows by
 * pages behind the mapping; only what was written is there.
 */
#define _GNU_SOURCE
#include "media/state_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whose memory it is; behind it is layout(). */
static const char STATE_MAGIC[16] = "codec-runner 02";

enum { STATE_SLOTS = 32768, STATE_HEAD = 4096, STATE_GROWTH = 64 };

struct state_memory {
	int fd;
	unsigned char *at;
	unsigned n;			   /* slots that the file has */
	atomic_uchar holders[STATE_SLOTS]; /* 0: it is free */
	unsigned next;			   /* where to look for a free one */
};

#define MAP_BYTES (STATE_HEAD + (size_t)STATE_SLOTS * sizeof(struct state_slot))

static struct state_slot *slot_of(struct state_memory *m, unsigned i)
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

static uint64_t check_text(uint64_t generation, const char *text, size_t bytes)
{
	uint64_t check = state_mix(state_mix(STATE_SEED, generation), bytes);

	for (size_t i = 0; i < bytes; i++)
		check = state_mix(check, (unsigned char)text[i]);
	return check;
}

static bool text_checks(const struct state_half *h)
{
	return h->generation && h->bytes <= STATE_TEXT_MAX &&
	       h->check == check_text(h->generation, h->text, h->bytes);
}

static const struct state_half *newer_text(const struct state_slot *slot)
{
	const struct state_half *a = &slot->half[0], *b = &slot->half[1];
	bool first = text_checks(a), second = text_checks(b);

	if (first && second)
		return a->generation > b->generation ? a : b;
	return first ? a : second ? b : NULL;
}

int state_put_text(struct state_slot *slot, const char *text, size_t bytes)
{
	const struct state_half *now = newer_text(slot);
	struct state_half *to = &slot->half[now == &slot->half[0]];
	uint64_t next = now ? now->generation + 1 : 1;

	if (bytes > STATE_TEXT_MAX)
		return -EMSGSIZE;
	/* release: what was killed on the way leaves the other half */
	atomic_store_explicit(&to->generation, 0, memory_order_seq_cst);
	to->bytes = bytes;
	memcpy(to->text, text, bytes);
	to->check = check_text(next, text, bytes);
	atomic_store_explicit(&to->generation, next, memory_order_release);
	return 0;
}

bool state_get_text(const struct state_slot *slot, char *out)
{
	const struct state_half *h = newer_text(slot);

	if (!h)
		return false;
	memcpy(out, h->text, h->bytes);
	out[h->bytes] = '\0';
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

	return check_text(sizeof(struct state_slot), names, sizeof(names));
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
	m->n = n;
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
		*(uint64_t *)(void *)(m->at + sizeof(STATE_MAGIC)) = layout();
	}
	return m;
}

struct state_memory *state_memory_adopt(int fd, struct cr_err *e)
{
	struct state_memory *m;
	struct stat st;
	size_t bytes;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < STATE_HEAD ||
	    (uint64_t)st.st_size > MAP_BYTES) {
		(void)cr_fail(e, -EINVAL,
			      "what was held as state is no state memory");
		(void)close(fd);
		return NULL;
	}
	bytes = (size_t)st.st_size - STATE_HEAD;
	m = map_memory(fd, (unsigned)(bytes / sizeof(struct state_slot)), e);
	if (!m ||
	    (!memcmp(m->at, STATE_MAGIC, sizeof(STATE_MAGIC)) &&
	     *(uint64_t *)(void *)(m->at + sizeof(STATE_MAGIC)) == layout()))
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

static atomic_uchar *holders_of(struct state_memory *m, const void *at)
{
	return &m->holders[(size_t)((const unsigned char *)at - m->at -
				    STATE_HEAD) /
			   sizeof(struct state_slot)];
}

/* What is left of a former one is not seen. */
static struct state_slot *hold_free(struct state_memory *m, unsigned at)
{
	struct state_slot *slot = slot_of(m, at);

	m->next = at + 1;
	memset((void *)slot, 0, sizeof(*slot));
	atomic_store_explicit(&m->holders[at], 1, memory_order_relaxed);
	return slot;
}

struct state_slot *state_slot_take(struct state_memory *m)
{
	unsigned more = m->n + STATE_GROWTH;

	for (unsigned i = 0; i < m->n; i++) {
		unsigned at = (m->next + i) % m->n;

		/* acquire, pairs with state_slot_give() */
		if (!atomic_load_explicit(&m->holders[at],
					  memory_order_acquire))
			return hold_free(m, at);
	}
	if (more > STATE_SLOTS ||
	    ftruncate(m->fd,
		      (off_t)(STATE_HEAD + more * sizeof(struct state_slot))))
		return NULL;
	m->n = more;
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

struct state_slot *state_slot_at(struct state_memory *m, unsigned i)
{
	if (i >= m->n)
		return NULL;
	atomic_store_explicit(&m->holders[i], 1, memory_order_relaxed);
	return slot_of(m, i);
}
