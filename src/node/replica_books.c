/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of a store. A slot is in a batch when its version is another one
 * than that which the store has.
 */
#include "node/replica_books.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool replica_books_found(struct replica_books *b, unsigned slot)
{
	if (slot >= STATE_SLOTS)
		return false;
	/* no version of anything */
	b->calls += !b->has[slot].text;
	b->has[slot] = (struct state_version){ 1, UINT64_MAX };
	if (slot >= b->end)
		b->end = slot + 1;
	return true;
}

static void note_change(struct replica_books *b, unsigned i,
			const struct state_slot *slot, cr_ns shift,
			struct replica_batch *out)
{
	const struct state_version *has = &b->has[i];
	struct replica_change *c = &out->change[out->n];

	c->text = NULL;
	c->is = slot && !state_slot_taken_over(slot)
			? state_version(slot)
			: (struct state_version){ 0 };
	if (!c->is.text)
		c->is.records = 0;
	if (c->is.text == has->text && c->is.records == has->records)
		return;
	if (c->is.text && c->is.text != has->text) {
		char text[STATE_TEXT_MAX + 1];

		/* no text: it is being written */
		if (state_get_text(slot, text))
			c->text = b->text_of(text);
		if (!c->text)
			return;
	}
	if (c->is.text)
		state_records_write(slot, shift, c->records);
	c->slot = i;
	(void)snprintf(c->number, sizeof(c->number), "%u", i);
	out->n++;
}

bool replica_batch_next(struct replica_books *b, const struct state_memory *m,
			cr_ns shift, struct replica_batch *out)
{
	out->n = 0;
	for (; b->next < STATE_SLOTS && out->n < REPLICA_BATCH; b->next++) {
		const struct state_slot *slot = state_slot_seen(m, b->next);

		if (!slot && b->next >= b->end)
			break;
		b->seen_taken_over += slot && state_slot_taken_over(slot);
		note_change(b, b->next, slot, shift, out);
	}
	if (out->n == REPLICA_BATCH)
		return false;
	b->ntaken_over = b->seen_taken_over;
	b->next = b->seen_taken_over = 0;
	return true;
}

void replica_batch_done(struct replica_books *b,
			const struct replica_batch *out)
{
	for (unsigned i = 0; i < out->n; i++) {
		const struct replica_change *c = &out->change[i];
		struct state_version *has = &b->has[c->slot];

		b->calls += c->is.text != 0;
		b->calls -= has->text != 0;
		*has = c->is;
		if (c->is.text && c->slot >= b->end)
			b->end = c->slot + 1;
	}
}

void replica_books_clear(struct replica_books *b)
{
	memset(b->has, 0, sizeof(b->has));
	b->end = b->next = b->calls = b->seen_taken_over = 0;
}

void replica_batch_free(struct replica_batch *out)
{
	for (unsigned i = 0; i < out->n; i++)
		free(out->change[i].text);
	out->n = 0;
}
