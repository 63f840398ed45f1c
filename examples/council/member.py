#!/usr/bin/env python3
"""A member of a council that uses files alone. Arguments: the mailbox, its id, and the vote that it casts on everything."""
import json
import os
import pathlib
import secrets
import sys
import time

mailbox, agent_id, choice = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
token = secrets.token_urlsafe(24)


def send(message_type, **said):
    """Puts a message into the inbox: written beside it, then renamed, so that it is never read in part."""
    name = f"{agent_id}-{secrets.token_hex(4)}.json"
    written = mailbox / f".{name}"
    written.write_text(json.dumps({"agent_id": agent_id, "token": token, "message_type": message_type, **said}))
    os.rename(written, mailbox / "inbox" / name)


def messages():
    return [json.loads(path.read_text()) for path in sorted((mailbox / "messages").glob("msg_*.json"))]


send("participant", status="joined")
send("comment", text=f"{agent_id} is here.")
voted = set()
while json.loads((mailbox / "manifest.json").read_text())["state"] not in ("closed", "archived"):
    manifest = json.loads((mailbox / "manifest.json").read_text())
    open_ones = {one["proposal_id"] for one in manifest["proposals"] if one["status"] == "proposed"}
    for proposal_id in sorted(open_ones - voted) if manifest["state"] == "voting" else []:
        send("vote", proposal_id=proposal_id, vote=choice, rationale=f"{agent_id} always says {choice}.")
        voted.add(proposal_id)
    time.sleep(0.1)
summary = [one["summary_text"] for one in messages() if one["message_type"] == "summary"]
print(agent_id, "voted on", sorted(voted), "and reads:", *summary)
