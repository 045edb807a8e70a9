# SPDX-License-Identifier: Apache-2.0
"""What happens in calls of SIPp through Kamailio to a node of NG: both parties
hang up, hold and come back, change the codec, give up, offer late, speak early
and are two at once; the frames that each hears are the other's."""
import pytest

from conftest import free_port
from kamailio import Routes, version
from ng_rig import SPURT, rig  # noqa: F401
from sipp import (
    AMR, OWN_PORT, PCMA, PCMU, Caller, asked, cancelled, got, maybe, media,
    pause, plays, replied, sdp, taken, turned)

URI = "sip:callee@127.0.0.1:{}"
SPEAK_MS = SPURT * 20 + 700  # and the answers are there
PHONE = "[field0]"
# A phone rings for a while: replies that are sent at once may overtake each
# other in the proxy.
RINGS = [asked("INVITE"), replied("180 Ringing", first=True), pause(300)]


GIVES_UP = [taken("CANCEL"), replied("200 OK", first=True), cancelled(),
            taken("ACK")]


def answers(*more, version=1, first=True):
    return replied("200 OK", sdp(media(PHONE, AMR, *more), version=version),
                   first=first, again=True)


def rings():
    return maybe(100, 180, 183)


def offer(c):
    """The INVITE of the caller, with PCMA."""
    return c.invite(sdp(media(OWN_PORT, PCMA)))


def established(c, path, law="PCMA"):
    """The caller's beginning of every call that is answered."""
    return [offer(c), rings(),
            got(200, rrs="true"), c.within("ACK", 1), *speaks(path, law)]


def speaks(path, law="PCMA"):
    return plays(path, {"PCMA": 8, "PCMU": 0}[law], law), pause(SPEAK_MS)


def offers(c, cseq, *lines, version=2):
    """Within the call."""
    return [c.within("INVITE", cseq, sdp(*lines, version=version)),
            maybe(100), got(200), c.within("ACK", cseq)]


def hangs_up(c, cseq):
    return [c.within("BYE", cseq), got(200)]


def is_hung_up():
    return [taken("BYE"), replied("200 OK")]


@pytest.mark.parametrize("manage", [False, True], ids=["verbs", "manage"])
@pytest.mark.parametrize("who", ["caller", "callee"])
def test_either_hangs_up(rig, who, manage):  # noqa: F811
    rig.begin(Routes(manage=manage))
    said = rig.file("said", "PCMA", 0)
    by_caller = who == "caller"
    callee = rig.called([*RINGS, answers(), taken("ACK"), *(
        is_hung_up() if by_caller else
        [pause(SPEAK_MS + 300), turned("BYE", 1), got(200)])])
    c = Caller(URI.format(callee.port))
    rig.calls([*established(c, said), *(
        hangs_up(c, 2) if by_caller else is_hung_up())])
    rig.over()
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])


@pytest.mark.skipif(version() < (6,), reason=(
    "this Kamailio reads flags itself; as later ones send them they are in "
    "test_ng_offers.py"))
@pytest.mark.parametrize("manage", [False, True], ids=["verbs", "manage"])
def test_the_node_reads_the_flags(rig, manage):  # noqa: F811
    rig.begin(Routes(manage=manage, unread=True))
    said = rig.file("said", "PCMA", 0)
    callee = rig.called([*RINGS, answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    rig.calls([*established(c, said), *hangs_up(c, 2)])
    rig.over()
    assert "rtpp-flags" in rig.capture.path.read_bytes().decode("latin-1")
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])


@pytest.mark.parametrize("held, answered", [
    ("sendonly", "recvonly"), ("inactive", "inactive")])
def test_a_call_is_held_and_goes_on(rig, held, answered):  # noqa: F811
    rig.begin(spurts=2)
    files = [rig.file(f"said{n}", "PCMA", n * SPURT) for n in range(2)]
    callee = rig.called([
        *RINGS, answers(), taken("ACK"), asked("INVITE"),
        answers(answered, version=2, first=False), taken("ACK"),
        asked("INVITE"), answers("sendrecv", version=3, first=False),
        taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = rig.calls([
        *established(c, files[0]),
        *offers(c, 2, media(OWN_PORT, PCMA, held)), pause(400),
        *offers(c, 3, media(OWN_PORT, PCMA, "sendrecv"), version=3),
        *speaks(files[1]), *hangs_up(c, 4)])
    rig.over()
    assert f"a={held}" in callee.got_of("INVITE")[1]
    assert f"a={answered}" in caller.got_of("200")[1]
    assert not any(word in callee.got_of("INVITE")[2] for word in (
        "a=sendonly", "a=inactive", "a=recvonly"))
    rig.assert_phones([("PCMA", path) for path in files])
    rig.assert_caller(["PCMA"] * 2)


def test_the_called_one_holds(rig):  # noqa: F811
    rig.begin()
    said = rig.file("said", "PCMA", 0)
    held = sdp(media(PHONE, AMR, "sendonly"), version=2)
    callee = rig.called([
        *RINGS, answers(), taken("ACK"), pause(SPEAK_MS + 300),
        turned("INVITE", 1, held), maybe(100), got(200), turned("ACK", 1),
        *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = rig.calls([
        *established(c, said), asked("INVITE"),
        replied("200 OK", sdp(media(OWN_PORT, PCMA, "recvonly"), version=2),
                again=True), taken("ACK"), *hangs_up(c, 2)])
    rig.over()
    text = caller.got_of("INVITE")[0]
    assert "a=sendonly" in text and "RTP/AVP 8" in text
    assert "a=recvonly" in callee.got_of("200")[0]
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])


def test_the_codec_changes(rig):  # noqa: F811
    """PCMA becomes PCMU, and AMR is none the wiser."""
    rig.begin(spurts=2)
    files = [("PCMA", rig.file("a", "PCMA", 0)),
             ("PCMU", rig.file("u", "PCMU", SPURT))]
    callee = rig.called([
        *RINGS, answers(), taken("ACK"), asked("INVITE"),
        answers(first=False), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    rig.calls([*established(c, files[0][1]),
               *offers(c, 2, media(OWN_PORT, PCMU)),
               *speaks(files[1][1], "PCMU"), *hangs_up(c, 3)])
    rig.over()
    rig.assert_phones(files)
    rig.assert_caller(["PCMA", "PCMU"])


def test_a_caller_gives_up(rig):  # noqa: F811
    rig.begin()
    callee = rig.called([
        asked("INVITE"), replied("180 Ringing", first=True),
        *GIVES_UP])
    c = Caller(URI.format(callee.port))
    rig.calls([offer(c), maybe(100), got(180),
               pause(200), c.cancel(4), got(200), got(487), c.refused(7)])
    rig.over()
    assert not any(phone.heard for phone in rig.phones)


def test_a_call_is_refused(rig):  # noqa: F811
    rig.begin()
    callee = rig.called([asked("INVITE"), replied("486 Busy", first=True,
                                                  again=True), taken("ACK")])
    c = Caller(URI.format(callee.port))
    rig.calls([offer(c), maybe(100), got(486),
               c.refused(3)])
    rig.over()


@pytest.mark.parametrize("manage", [False, True], ids=["verbs", "manage"])
def test_the_offer_comes_with_the_answer(rig, manage):  # noqa: F811
    """An INVITE without one: the called party offers AMR, and the caller's ACK
    answers."""
    rig.begin(Routes(manage=manage))
    said = rig.file("said", "PCMA", 0)
    callee = rig.called([*RINGS, answers(), asked("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = rig.calls([
        c.invite("Content-Length: 0\n\n"), rings(), got(200, rrs="true"),
        c.within("ACK", 1, sdp(media(OWN_PORT, PCMA))), *speaks(said),
        *hangs_up(c, 2)])
    rig.over()
    assert "RTP/AVP 8" in caller.got_of("200")[0]
    assert "AMR/8000" in callee.got_of("ACK")[0]
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])


def test_speech_comes_before_the_answer(rig):  # noqa: F811
    """183 with a description: both are heard, and the answer has the same."""
    rig.begin(spurts=2)
    files = [rig.file(f"said{n}", "PCMA", n * SPURT) for n in range(2)]
    callee = rig.called([
        asked("INVITE"),
        replied("183 Session Progress", sdp(media(PHONE, AMR)), first=True),
        pause(SPEAK_MS + 200), answers(), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = rig.calls([
        offer(c), maybe(100), got(183),
        *speaks(files[0]), got(200, rrs="true"), c.within("ACK", 1),
        *speaks(files[1]), *hangs_up(c, 2)])
    rig.over()
    assert len(set(caller.media("received"))) == len(rig.phones)
    rig.assert_phones([("PCMA", path) for path in files])
    rig.assert_caller(["PCMA"] * 2)


def test_one_of_two_branches_wins(rig):  # noqa: F811
    """Both describe themselves before one answers; each has ports of its
    own (via-branch), and those of the other are closed."""
    other = free_port()
    rig.begin(Routes(forks=(URI.format(other),)), calls=4)
    said = rig.file("said", "PCMA", 0)
    both = len(rig.phones) // 2
    early = [asked("INVITE"), replied("183 Session Progress",
                                      sdp(media(PHONE, AMR)), first=True)]
    wins = rig.called([*early, pause(500), answers(), taken("ACK"),
                       *is_hung_up()], "callee", rig.phones[:both])
    rig.called([*early, *GIVES_UP], "loser", rig.phones[both:], port=other)
    c = Caller(URI.format(wins.port))
    rig.calls(established(c, said) + hangs_up(c, 2), both)
    rig.over()
    rig.assert_phones([("PCMA", said)], rig.phones[:both])
    assert not any(phone.heard for phone in rig.phones[both:])
    rig.assert_caller(["PCMA"], rig.says[:both])


def test_lines_of_other_media_stay_in_place(rig):  # noqa: F811
    """Two of audio and one of video, of which one of audio is accepted."""
    rig.begin()
    said = rig.file("said", "PCMA", 0)
    video = ("99", ("rtpmap:99 H264/90000",))
    callee = rig.called([
        *RINGS, replied("200 OK", sdp(
            media(PHONE, AMR), media(0, AMR), media(0, video, kind="video")),
            first=True, again=True), taken("ACK"), *is_hung_up()])
    c = Caller(URI.format(callee.port))
    caller = rig.calls([
        c.invite(sdp(media(OWN_PORT, PCMA), media(9010, PCMA),
                     media(9020, video, kind="video"))), rings(),
        got(200, rrs="true"), c.within("ACK", 1), *speaks(said),
        *hangs_up(c, 2)])
    rig.over()
    for text in callee.got_of("INVITE")[0], caller.got_of("200")[0]:
        lines = [line.split()[0] for line in text.splitlines()
                 if line.startswith("m=")]
        assert lines == ["m=audio", "m=audio", "m=video"]
    refused = [line.split()[1] for line in
               caller.got_of("200")[0].splitlines() if line.startswith("m=")]
    assert refused[0] != "0" and refused[1:] == ["0", "0"]
    rig.assert_phones([("PCMA", said)])
    rig.assert_caller(["PCMA"])
