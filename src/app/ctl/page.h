/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that replace each other on a terminal, and follow each other in a
 * file or pipe.
 */
#ifndef APP_CTL_PAGE_H
#define APP_CTL_PAGE_H

#include <stdbool.h>

/** What a line may begin with, where it matters how it looks; on terminals
 * only, unless NO_COLOR is set, it is seen. */
enum ctl_mark { CTL_HEAD = 1, CTL_BAD, CTL_WARN };

/** Lines and columns that there are for pages; false: no terminal. */
bool ctl_page_size(unsigned *lines, unsigned *columns);

/** Show @text (lines) on standard output, in place of the page before where
 * that is a terminal; @first: there is none. 0, or -errno when it cannot be
 * written. */
int ctl_page(const char *text, bool first);

#endif
