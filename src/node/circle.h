/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Circles: packets that come back to where they were heard, by whatever calls
 * of this node they pass through. One call may send to another's port, as where
 * a telephone system sends a call through the node twice; a circle is refused
 * when the address that closes it is named. What is learned, or passes through
 * other nodes, ends by ENDPOINT_RATE (media/endpoint.h), and with a codec in it
 * by the quota of what is sent (struct quota).
 *
 * Control thread.
 */
#ifndef NODE_CIRCLE_H
#define NODE_CIRCLE_H

#include "media/transcoder.h"
#include "node/party.h"

/** Do packets that go from @p to @signalled come back to @p's endpoint, or to
 * @other's, which it sends for (NULL: nobody's)? 0, or -EINVAL with @e. */
int circle_check_party(const struct party *p, const struct party *other,
		       const struct sockaddr_storage *signalled,
		       const struct end_names *names, struct cr_err *e);

/** Do packets of the call @cfg come back to where it is heard: at @in_endpoint,
 * or (NULL) at the shared port? 0, or -EINVAL with @e. */
int circle_check_call(struct node *n, const struct call_cfg *cfg,
		      const struct node_endpoint *in_endpoint,
		      struct cr_err *e);

#endif
