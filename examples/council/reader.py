#!/usr/bin/env python3
"""Reads a council's mailbox (the argument), knowing only schemas/meeting_message.schema.json: prints what was decided, and by whom."""
import json
import pathlib
import sys

mailbox = pathlib.Path(sys.argv[1])
messages = [json.loads(path.read_text()) for path in sorted((mailbox / "messages").glob("msg_*.json"))]
of = lambda kind: [message for message in messages if message["message_type"] == kind]
titles = {one["proposal_id"]: one["title"] for one in of("proposal") if "title" in one}
for result in of("proposal_result"):
    votes = [one for one in of("vote") if one["proposal_id"] == result["proposal_id"]]
    said = {vote["agent_id"]: vote["vote"] for vote in votes}
    print(result["status"], titles[result["proposal_id"]], json.dumps(result["counts"], sort_keys=True), sorted(said))
for closing in of("summary"):
    print("closed by", closing["agent_id"] + ":", closing["summary_text"])
