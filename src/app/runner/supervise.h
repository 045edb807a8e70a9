/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner --supervise: a parent that holds the daemon's descriptors.
 */
#ifndef APP_RUNNER_SUPERVISE_H
#define APP_RUNNER_SUPERVISE_H

/**
 * Run the daemon with the options of @argv, and start it again each time that a
 * signal ends it or it misses its watchdog. Returns the exit code of the
 * daemon, 128 + the number of the signal that ended it while it was to end, or
 * 1 after a message. The daemon may name a program of its own path, or one that
 * fnmatch(3) finds in @upgrade_to (NULL: none), to be the next one. First thing
 * in main().
 */
int supervise(char **argv, const char *upgrade_to);

#endif
