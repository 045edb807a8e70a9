# SPDX-License-Identifier: Apache-2.0
"""What a call would sound like: R and MOS by the E-model, per call.

delay        from mouth to ear: a frame of speech, the look-ahead of both
             encoders, the network (--network, 0), the call's fastest frame
             through the machine, and the listener's play-out buffer
             (--playout): it plays a frame so much later than the fastest one
             would have been, and what comes later than that is lost to it.
loss         frames lost in the machine, lost in the network before it
             (withheld in streams.csv, taken as random) and too late for the
             play-out, of all frames. A frame that was shed in a pause is
             silence to the listener, not loss, as in the daemon's records: it
             has no content, or is 24 dB below the loudest sixteenth of its
             call, as for --shed quiet. Without the frames' loudness in the
             trace, as from AMR 4.75, all are speech. BurstR is the mean
             length of the runs of losses, over that of random losses of the
             same share; the model takes 1 to 8.
codecs       Ie of both codecs add up; Bpl is of the codec that the listener
             decodes. Sources, all ITU-T:
               pcmu, pcma  Ie 0, Bpl 25.1 with concealment, 4.3 without
                           (--no-plc): G.113 Appendix I
               gsm         Ie 20: GSM-FR in G.113 Appendix I; no Bpl
               g729        Ie 10: G.729 in G.113 Appendix I; no Bpl without
                           voice activity detection
               g726-32     Ie 7: G.113 Appendix I; no Bpl
               g723_1/6.3  Ie 15, Bpl 16.1: G.113 Appendix I
               amr/12.2    Ie 5, Bpl 10: GSM-EFR in G.113 Appendix I, which
                           this mode is (3GPP TS 26.071)
               amr/7.40    Ie 10: IS-641 in G.113 Appendix I, which this mode
                           is (3GPP TS 26.071); no Bpl
               amr-wb      6.60 56, 8.85 41, 12.65 20, 15.85 17, 23.05 8,
                           23.85 10; Bpl of 12.65 4.3, of 23.05 4.6, of 23.85
                           4.9: G.113 Appendix IV, both ears, on the scale of
                           the wideband model
               l16         Ie 0, it codes nothing; no Bpl
               opus, speex, speex-wb: not tabulated on either scale
               g722        not tabulated on that scale, as far as we know
             Where no value is published (other modes; losses of a codec
             without Bpl; amr-wb to or from a narrow-band codec) there is no
             MOS, shown as '-', and none for a group with such a call.
MOS          of G.107 Annex B, 1 to 4.5: what listeners are expected to say,
             talking to each other. Narrow-band and wideband scores are of two
             scales: groups that have both have no MOS. The interval is of
             the mean over calls: bootstrap, 2000 samples, fixed seed.

R is G.107 with its defaults (quiet rooms, handsets, talker echo loudness
rating 65 dB): 93.2 at best. Wideband is G.107.1 without echo: 129 at best.
"""
from dataclasses import dataclass, field

import numpy as np

from codec_report import bootstrap, g107
from codec_report.metric import Metric, median
from codec_report.trace import OUTCOMES

METRICS = [
    Metric("r_mean", "E-model R mean", "rate", 1),
    Metric("mos_mean", "E-model MOS mean", "score", 1),
    Metric("mos_mean_low", "  MOS 95 % from", "score"),
    Metric("mos_mean_high", "  MOS 95 % to", "score"),
    Metric("mos_median", "E-model MOS median", "score", 1),
    Metric("mos_min", "E-model MOS lowest", "score", 1),
    Metric("playout_loss_share", "too late for play-out", "share", -1)]


#: What makes no sense of frames of several phases.
SCORES = tuple(m.key for m in METRICS if m.key != "playout_loss_share")


@dataclass(frozen=True)
class Codec:
    """Planning values of a codec mode. ie, bpl: None where not published;
    ahead_ms: look-ahead of its encoder; band: "narrow", "wide" or "any"."""
    ie: float = None
    bpl: float = None
    ahead_ms: float = 0.0
    band: str = "narrow"


G711, G711_BARE = Codec(0.0, 25.1), Codec(0.0, 4.3)
L16 = Codec(0.0, None, 0.0, "any")
OTHERS = {"gsm": Codec(20.0), "g726-32": Codec(7.0),
          "g729": Codec(10.0, None, 5.0)}
G723_AHEAD, AMR_AHEAD, AMR_WB_AHEAD = 7.5, 5.0, 5.0
BURST_RATIO_MAX = 8.0  # G.107, Table 2
#: Of the trace's importance (cr/sched.h): steps of 0.75 dB from QUIETEST on.
UNKNOWN, NOTHING, QUIETEST = 0, 1, 2
PAUSE = 4 * 8        # steps below the loudest, as engine/shed.h has it
LOUDEST = 1 / 16     # of the frames: a click is no talker
AMR = {"12.2": (5.0, 10.0), "7.40": (10.0, None)}
AMR_WB = {"6.60": (56.0, None), "8.85": (41.0, None), "12.65": (20.0, 4.3),
          "15.85": (17.0, None), "23.05": (8.0, 4.6), "23.85": (10.0, 4.9)}


@dataclass(frozen=True)
class Assumptions:
    """Parameters that the trace does not have. Times in ms; withheld: {call:
    frames lost before the machine}."""
    playout_ms: float = 60.0
    network_ms: float = 0.0
    plc: bool = True
    withheld: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    """What the trace says of a call: codecs and modes as texts."""
    codec_in: str = ""
    mode_in: str = ""
    codec_out: str = ""
    mode_out: str = ""

    @property
    def label(self):
        """"pcmu/64 -> amr/12.2"."""
        return " -> ".join("/".join(filter(None, side)) for side in (
            (self.codec_in, self.mode_in), (self.codec_out, self.mode_out)))


def codec_of(name, mode, plc=True):
    """The Codec of a mode, None when the E-model knows nothing of it."""
    if name in ("pcmu", "pcma"):
        return G711 if plc else G711_BARE
    if name == "l16":
        return L16
    if name in OTHERS:
        return OTHERS[name]
    if name == "g723_1" and mode == "6.3":
        return Codec(15.0, 16.1, G723_AHEAD)
    if name == "amr" and mode in AMR:
        return Codec(*AMR[mode], AMR_AHEAD)
    if name == "amr-wb" and mode in AMR_WB:
        return Codec(*AMR_WB[mode], AMR_WB_AHEAD, "wide")
    return None


@dataclass
class Rating:
    """One call. r, mos: None when no published value covers it."""
    stream: int
    description: Description
    delay_ms: float
    loss: float
    burst_ratio: float
    frames: int
    late: int  # of them, too late for the play-out
    wide: bool = False
    r: float = None
    mos: float = None


def burst_ratio(runs, lost, frames):
    """BurstR of G.107: mean run of losses over 1 / (1 - loss), 1 to 8.

    runs: of losses that follow each other; lost, frames: counts.
    """
    if not runs:
        return 1.0
    ratio = lost / runs * (1 - lost / frames)
    return min(max(ratio, 1.0), BURST_RATIO_MAX)


def _tandem(description, plc):
    """(first codec, second codec, wideband), None when not rated."""
    one = codec_of(description.codec_in, description.mode_in, plc)
    two = codec_of(description.codec_out, description.mode_out, plc)
    if not one or not two or {one.band, two.band} >= {"narrow", "wide"}:
        return None
    return one, two, "wide" in (one.band, two.band)


def rate(rating, plc):
    """Fill in r, mos and wide of a Rating."""
    pair = _tandem(rating.description, plc)
    if pair is None:
        return rating
    one, two, rating.wide = pair
    rating.delay_ms += one.ahead_ms + two.ahead_ms
    if rating.loss and two.bpl is None:
        return rating
    ie_eff = g107.equipment(one.ie + two.ie, two.bpl, rating.loss,
                            rating.burst_ratio)
    if rating.wide:
        rating.r = max(g107.wideband_rating(rating.delay_ms, ie_eff), 0.0)
        rating.mos = g107.wideband_mos(rating.r)
    else:
        rating.r = max(g107.rating(rating.delay_ms, ie_eff), 0.0)
        rating.mos = g107.mos(rating.r)
    return rating


def is_pause(importance):
    """Return a mask of the frames that are pauses, by the importance of all
    frames of a call."""
    known = importance[importance != UNKNOWN].astype(int)
    if not len(known):
        return np.zeros(len(importance), bool)
    quiet = np.quantile(known, 1 - LOUDEST) - PAUSE
    return (importance == NOTHING) | (importance >= QUIETEST) & (
        importance < quiet)


def pauses(jobs, starts):
    """Return a mask of the jobs that are pauses of their call. jobs: columns
    sorted by call; starts: each call's first job."""
    out = np.zeros(len(jobs["task"]), bool)
    if jobs["importance"].any():
        for begin, end in zip(starts, [*starts[1:], len(out)]):
            out[begin:end] = is_pause(jobs["importance"][begin:end])
    return out


def _columns(jobs, lost, starts, playout_ns):
    """Per call: frames that count, lost ones, runs of them, too late ones,
    ns of the fastest."""
    sent = (jobs["outcome"] == 0) & (jobs["sent"] > 0)
    delay = np.where(sent, jobs["sent"] - jobs["arrival"],
                     np.iinfo(np.int64).max)
    fastest = np.minimum.reduceat(delay, starts)
    length = np.diff(np.append(starts, len(delay)))
    late = sent & (delay - np.repeat(fastest, length) > playout_ns)
    shed = jobs["outcome"] == OUTCOMES.index("shed")
    missing = lost & ~(shed & jobs["pause"]) | late
    begins = missing & ~np.concatenate(([False], missing[:-1]))
    begins[starts] = missing[starts]
    counts = [np.add.reduceat(mask.astype(np.int64), starts)
              for mask in (sent | lost, missing, begins, late)]
    # in a jitter buffer the packet that was fastest waited longest
    waited = np.maximum.reduceat(jobs["buffered"].astype(np.int64), starts)
    return counts + [fastest + waited]


def ratings(jobs, lost, starts, descriptions, assumed):
    """A Rating per call in the order of starts, but for those without frames
    that count and those of unknown frame duration (files).

    jobs: columns sorted by call and frame, with "frame" (ns) and "pause", of
    pauses(); lost: mask of jobs; starts: each call's first job; descriptions: {call: Description}.
    """
    out = []
    if not len(starts):
        return out
    columns = _columns(jobs, lost, starts, assumed.playout_ms * 1e6)
    for at, frames, missing, runs, late, fastest in zip(
            starts.tolist(), *(c.tolist() for c in columns)):
        call = int(jobs["task"][at])
        if missing >= frames and not late:
            fastest = 0  # nothing was sent: the loss says it all
        before = assumed.withheld.get(call, 0)
        if not frames + before or not jobs["frame"][at]:
            continue
        delay = (int(jobs["frame"][at]) + max(fastest, 0)) / 1e6 \
            + assumed.network_ms + assumed.playout_ms
        out.append(rate(
            Rating(call, descriptions.get(call, Description()), delay,
                   (missing + before) / (frames + before),
                   burst_ratio(runs, missing, frames), frames, late),
            assumed.plc))
    return out


def measure(found):
    """The ratings of a group of calls as of METRICS."""
    frames = sum(r.frames for r in found)
    out = {"playout_loss_share": sum(r.late for r in found) / frames
           if frames else None}
    if not found or any(r.mos is None for r in found) \
            or len({r.wide for r in found}) > 1:
        return out
    scores = [r.mos for r in found]
    return {**out, "r_mean": float(np.mean([r.r for r in found])),
            "mos_median": median(scores),
            **bootstrap.described("mos", scores)}
