/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A media proxy as a session's peer, by the NG protocol. Main thread only.
 */
#ifndef FEEDER_SESSION_NG_H
#define FEEDER_SESSION_NG_H

#include "feeder/session_impl.h"

extern const struct session_peer session_ng;

/** Can @cfg be played by NG? 0, or -ENOTSUP with @e: what cannot. */
int session_ng_check(const struct session_cfg *cfg, struct cr_err *e);

#endif
