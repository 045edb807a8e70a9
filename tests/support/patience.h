/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests wait for states. This ends one that hangs, and is far beyond what a
 * busy machine or a sanitizer makes of any step; ctest's limit is beyond it.
 */
#ifndef TESTS_PATIENCE_H
#define TESTS_PATIENCE_H

enum { PATIENCE_S = 200 };

/** As a duration; of what includes cr/time.h. */
#define PATIENCE (PATIENCE_S * CR_SEC)

#endif
