# SPDX-License-Identifier: Apache-2.0
"""Where the time of a frame goes.

network      sending at the feeder to arrival at the machine, and from the
             socket's acceptance of the output to its receiving: of the frames
             that came back, from frames.bin (codec-feeder --frames, which
             campaigns/run asks for). Without it, only the mean: the feeder's
             mean delay less ours, from streams.csv, when it received as many
             frames as were done. On the loopback interface it can be a few us
             below 0: there a packet is received before the socket's call
             returns.
playout      in a jitter buffer, before the arrival: what the network had made
             uneven is made even.
buffer       arrival to release: behind earlier frames of its call, or held
             back by the release model.
queue        release to the start of the work, and interruptions of it: other
             calls have the workers.
codec        from start to end, on the CPU: parsing, decoding, encoding,
             packing.
send         end to the socket's acceptance: output waits to be sent together
             with that of other frames.

playout + buffer + queue + codec + send is the delay of each frame, to the nanosecond:
of jobs done, those whose output was sent. With network it is the one-way delay
that the feeder sees.
"""
import numpy as np

from codec_report.metric import Metric, nearest_rank

PARTS = ("buffer", "queue", "codec", "send", "playout")
METRICS = (
    [Metric("delay_mean_ms", "delay mean, ms", "ms", -1),
     Metric("delay_network_mean_ms", "delay in network mean, ms", "ms", -1),
     Metric("delay_network_p99_ms", "delay in network p99, ms", "ms", -1)]
    + [Metric(f"delay_{part}_{q}_ms", f"delay in {part} {q}, ms", "ms", -1,
              optional=part == "playout")
       for part in PARTS for q in ("mean", "p99")])


def came(jobs):
    """When each frame came, ns: before its time in a jitter buffer."""
    return jobs["arrival"] - jobs["buffered"].astype(np.int64)


def whole(jobs, sent):
    """The delay of each sent job, ns; sent: a mask."""
    return (jobs["sent"] - came(jobs))[sent]


def parts(jobs, sent):
    """{part: int64 ns of each sent job}; the sum is the delay.

    jobs: columns of the trace; sent: which of them count (mask). Times out of
    order (a damaged record) are moved to the nearest one in order.
    """
    arrival, release, start, end, left = (
        jobs[name][sent] for name in ("arrival", "release", "start", "end",
                                      "sent"))
    started = np.clip(start, arrival, np.maximum(left, arrival))
    ended = np.clip(end, started, np.maximum(left, started))
    released = np.clip(release, arrival, started)
    codec = ended - started
    codec -= np.clip(jobs["away"][sent], 0, codec)
    out = {"buffer": released - arrival, "codec": codec,
           "send": left - ended,
           "playout": jobs["buffered"][sent].astype(np.int64)}
    out["queue"] = (left - arrival) - out["buffer"] - codec - out["send"]
    return out


def network_ns(jobs, sent):
    """int64 ns of the frames that came back; of the others nobody knows.

    jobs: with "feeder_sent" and "feeder_received", 0 where not known.
    """
    known = sent & (jobs["feeder_sent"] > 0) & (jobs["feeder_received"] > 0)
    there = came(jobs) - jobs["feeder_sent"]
    back = jobs["feeder_received"] - jobs["sent"]
    return (there + back)[known]


def measure(jobs, sent):
    """Mean and p99 of the parts, as of METRICS; {} without a sent job."""
    if not sent.any():
        return {}
    out = {"delay_mean_ms": float(whole(jobs, sent).mean()) / 1e6}
    for part, values in parts(jobs, sent).items():
        out[f"delay_{part}_mean_ms"] = float(values.mean()) / 1e6
        out[f"delay_{part}_p99_ms"] = nearest_rank(values, [0.99])[0] / 1e6
    values = network_ns(jobs, sent) if "feeder_sent" in jobs else ()
    if len(values):
        out["delay_network_mean_ms"] = float(values.mean()) / 1e6
        out["delay_network_p99_ms"] = nearest_rank(values, [0.99])[0] / 1e6
    return out


def network(values):
    """Set delay_network_mean_ms of a group that has the feeder's numbers but
    not of each frame."""
    if values["delay_network_mean_ms"] is None and values["done"] and values["done"] == values["feeder_received"] and \
            values["delay_mean_ms"] is not None and \
            values["feeder_delay_mean_ms"] is not None:
        values["delay_network_mean_ms"] = \
            values["feeder_delay_mean_ms"] - values["delay_mean_ms"]
