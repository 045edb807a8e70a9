/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of a node's endpoints: what is told of it.
 */
#include <string.h>

#include "node/node_impl.h"

/* What a stream's listener reports is heard by the endpoint that it is sent
 * from. */
static void take_far(struct endpoint_rtcp_info *to,
		     const struct endpoint_rtcp_info *far)
{
	to->reports = far->reports;
	to->lost_share = far->lost_share;
	to->lost_mean = far->lost_mean;
	to->lost_total = far->lost_total;
	to->far_jitter = far->far_jitter;
	to->round_trips = far->round_trips;
	to->rtt = far->rtt;
	to->rtt_mean = far->rtt_mean;
	to->rtt_min = far->rtt_min;
	to->rtt_max = far->rtt_max;
}

void node_rtcp_report(struct endpoint *in_endpoint,
		      struct endpoint *out_endpoint, bool last,
		      struct node_rtcp_info *out)
{
	struct endpoint_rtcp_info far = { 0 };

	*out = (struct node_rtcp_info){ 0 };
	if (in_endpoint && in_endpoint->rtcp)
		endpoint_rtcp_report(in_endpoint, last, &out->leads);
	if (out_endpoint && out_endpoint->rtcp)
		endpoint_rtcp_report(out_endpoint, last, &far);
	take_far(&out->leads, &far);
	if ((in_endpoint && in_endpoint->rtcp) ||
	    (out_endpoint && out_endpoint->rtcp))
		out->is = &out->leads;
}

void node_call_rtcp(const struct node_call *nc, bool last,
		    struct node_rtcp_info *out)
{
	struct endpoint *endpoint[2] = { NULL, NULL };

	if (nc->conversation)
		conversation_rtcp(nc->conversation, nc, endpoint);
	else if (nc->in_endpoint)
		endpoint[0] = endpoint[1] = nc->in_endpoint->endpoint;
	node_rtcp_report(endpoint[0], endpoint[1], last, out);
}

void node_rtcp_histograms(const struct node *n, struct histogram *round_trip,
			  struct histogram *jitter)
{
	memset(round_trip, 0, sizeof(*round_trip));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < receivers_count(n->receivers); i++) {
		const struct endpoint_rtcp_sums *s =
			rx_rtcp(receivers_at(n->receivers, i));

		histogram_merge(round_trip, &s->round_trip);
		histogram_merge(jitter, &s->jitter);
	}
}

void node_rtcp_stats(const struct node *n, struct node_rtcp_stats *out)
{
	static struct histogram round_trip, jitter; /* 15 KiB each */

	*out = (struct node_rtcp_stats){ 0 };
	for (unsigned i = 0; i < receivers_count(n->receivers); i++) {
		const struct endpoint_rtcp_sums *s =
			rx_rtcp(receivers_at(n->receivers, i));

		out->sent +=
			atomic_load_explicit(&s->sent, memory_order_relaxed);
		out->reports +=
			atomic_load_explicit(&s->reports, memory_order_relaxed);
		out->lost += (double)atomic_load_explicit(
				     &s->lost_256, memory_order_relaxed) /
			     256;
	}
	node_rtcp_histograms(n, &round_trip, &jitter);
	histogram_summarise(&round_trip, &out->round_trip);
	histogram_summarise(&jitter, &out->jitter);
}
