/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digits of a call.
 */
#include "media/digits.h"

#include <string.h>

/* Speech further before an event's end than twice the longest duration of a
 * packet is not of its time: timestamps have leapt. */
#define BEHIND_MAX (2u * UINT16_MAX)

int digits_init(struct digits *d, const struct digits_clocks *clocks)
{
	const struct telephone_event_cfg cfg =
		telephone_event_defaults(clocks->in, clocks->out);

	memset(d, 0, sizeof(*d));
	d->speech = clocks->speech;
	return telephone_event_relay_init(&d->relay, &cfg);
}

void digits_set_clocks(struct digits *d, const struct digits_clocks *clocks)
{
	d->relay.cfg.clock_in = clocks->in;
	d->relay.cfg.clock_out = clocks->out;
	d->speech = clocks->speech;
}

/* Speech belongs behind the event's last packet. */
static void note_event_end(struct digits *d,
			   const struct telephone_event_burst *out)
{
	const struct telephone_event_relay *r = &d->relay;
	const struct telephone_event_packet *last;
	struct telephone_event event;
	uint64_t length;

	if (!out->n)
		return;
	last = &out->packets[out->n - 1];
	if (telephone_event_parse(last->payload, sizeof(last->payload), &event))
		return;
	length = r->before_out + event.duration;
	d->end = last->ts - (uint32_t)r->before_out +
		 (uint32_t)(length * d->speech / r->clock_out);
	d->over = true;
}

void digits_packet(struct digits *d, cr_ns now,
		   const struct telephone_event_arrival *in,
		   struct telephone_event_burst *out)
{
	telephone_event_relay_packet(&d->relay, now, in, out);
	note_event_end(d, out);
}

void digits_restart(struct digits *d, struct telephone_event_burst *out)
{
	telephone_event_relay_restart(&d->relay, out);
	note_event_end(d, out);
}

void digits_tick(struct digits *d, cr_ns now, struct telephone_event_burst *out)
{
	telephone_event_relay_poll(&d->relay, now, out);
	note_event_end(d, out);
}

bool digits_go_on(const struct digits *d)
{
	return telephone_event_relay_due(&d->relay) != CR_NEVER;
}

bool digits_mute(struct digits *d, uint32_t ts)
{
	if (telephone_event_relay_active(&d->relay))
		return true;
	if (!d->over)
		return false;
	if (d->end - ts - 1 < BEHIND_MAX)
		return true;
	d->over = false; /* or a wrap would bring it back */
	return false;
}
