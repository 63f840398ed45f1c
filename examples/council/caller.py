#!/usr/bin/env python3
"""Calls a council, takes part in it and closes it, by commands alone. Arguments: its own id, the topic, what it proposes, and the ids of the others."""
import json
import os
import subprocess
import sys

me, topic, title, *others = sys.argv[1:]


def meeting(act, *words):
    """What a command says as JSON. Ends this program if it is refused."""
    done = subprocess.run(["bosun", "meeting", act, *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{act}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def discuss():
    meeting("post", council, "--text", f"I propose: {title}.")
    meeting("propose", council, "--title", title, "--details", f"It answers: {topic}")
    meeting("state", council, "voting", "--reason", "All is said.")


def vote():
    proposal_id = meeting("info", council)["proposals"][-1]["proposal_id"]
    meeting("vote", council, proposal_id, "yes", "--rationale", "It is my own proposal.")


def close():
    info = meeting("info", council)
    counted = [(one["title"], one["status"], one["result"]["counts"]) for one in info["proposals"]]
    words = [f"{what} is {status}, with {votes['yes']} for and {votes['no']} against it." for what, status, votes in counted]
    meeting("close", council, "--summary", " ".join(words))


everybody = ",".join([me, *others])
quorum = str(1 + len(others))
council = meeting("create", "--topic", topic, "--participants", everybody, "--quorum", quorum, "--as", me)["session_id"]
# Every later command acts as this participant.
os.environ["BOSUN_MEETING_TOKEN"] = meeting("join", council, "--as", me)["token"]
print(council, flush=True)

with subprocess.Popen(["bosun", "meeting", "tail", council, "--json"], stdout=subprocess.PIPE, text=True) as tail:
    for line in tail.stdout:
        event = json.loads(line)
        # All have joined: the council begins by itself. It discusses again after a vote.
        if event.get("new_state") == "discussion" and not meeting("info", council)["proposals"]:
            discuss()
        elif event["event"] == "VOTING_STARTED":
            vote()
        elif event["event"] == "PROPOSAL_RESOLVED":
            close()
print(meeting("read", council, "--type", "summary")["summary_text"])
