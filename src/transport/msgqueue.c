/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a stream, reassembly and send queues of whole messages. Sets no
 * policy: what happens to a peer that does not read is its owner's matter.
 */
#include "transport/msgqueue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool lines_next(bool *begun, const char **at, size_t *left,
		struct line_part *part)
{
	const char *feed;

	while (!*begun && *left && **at == '\n') {
		++*at;
		--*left;
	}
	if (!*left)
		return false;
	feed = memchr(*at, '\n', *left);
	part->data = *at;
	part->bytes = feed ? (size_t)(feed - *at) : *left;
	part->end = feed;
	*begun = !feed;
	*at += part->bytes + (feed ? 1 : 0);
	*left -= part->bytes + (feed ? 1 : 0);
	return true;
}

/* Grow by doubling, never beyond what a message may have. */
static int reserve(struct inbox *in, size_t need)
{
	size_t size = in->size ? in->size : 4096;
	char *data;

	if (need <= in->size)
		return 0;
	while (size < need)
		size *= 2;
	data = realloc(in->data, size);
	if (!data)
		return -ENOMEM;
	in->data = data;
	in->size = size;
	return 0;
}

int inbox_add(struct inbox *in, const struct transport_event *ev, size_t max,
	      const char **text, size_t *bytes)
{
	size_t total = in->bytes + ev->bytes;
	bool whole = ev->end && !in->bytes && !in->too_long;

	if (in->too_long || total > max || (!whole && reserve(in, total))) {
		in->too_long = !ev->end;
		in->bytes = 0;
		return ev->end ? -EMSGSIZE : 0;
	}
	if (whole) {
		*text = ev->data;
		*bytes = ev->bytes;
		return 1;
	}
	memcpy(in->data + in->bytes, ev->data, ev->bytes);
	in->bytes = total;
	if (!ev->end)
		return 0;
	*text = in->data;
	*bytes = total;
	in->bytes = 0;
	return 1;
}

void inbox_free(struct inbox *in)
{
	free(in->data);
	*in = (struct inbox){ 0 };
}

void outbox_init(struct outbox *out)
{
	STAILQ_INIT(&out->waiting);
	out->bytes = 0;
}

static void drop_first(struct outbox *out)
{
	struct outmsg *m = STAILQ_FIRST(&out->waiting);

	STAILQ_REMOVE_HEAD(&out->waiting, next);
	out->bytes -= m->bytes;
	free(m);
}

void outbox_free(struct outbox *out)
{
	while (!outbox_empty(out))
		drop_first(out);
}

bool outbox_empty(const struct outbox *out)
{
	return STAILQ_EMPTY(&out->waiting);
}

int outbox_keep(struct outbox *out, const char *text, size_t bytes)
{
	struct outmsg *m = malloc(sizeof(*m) + bytes);

	if (!m)
		return -ENOMEM;
	m->bytes = bytes;
	memcpy(m->data, text, bytes);
	STAILQ_INSERT_TAIL(&out->waiting, m, next);
	out->bytes += bytes;
	return 0;
}

int outbox_send(struct outbox *out, struct transport *t, uint32_t assoc,
		const char *text, size_t bytes)
{
	int rc = outbox_empty(out) ? transport_send(t, assoc, text, bytes)
				   : -EAGAIN;

	return rc == -EAGAIN ? outbox_keep(out, text, bytes) : rc;
}

int outbox_flush(struct outbox *out, struct transport *t, uint32_t assoc)
{
	while (!outbox_empty(out)) {
		const struct outmsg *m = STAILQ_FIRST(&out->waiting);
		int rc = transport_send(t, assoc, m->data, m->bytes);

		if (rc == -EAGAIN)
			return rc;
		if (rc && rc != -EMSGSIZE) {
			outbox_free(out);
			return rc;
		}
		drop_first(out);
	}
	return 0;
}
