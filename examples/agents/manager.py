#!/usr/bin/env python3
"""A manager for Bosun's schedule mode. Python 3.8 or later, standard library only.

Bosun starts this program once for every turn. It reads one turn_request from stdin, answers with one envelope on
stdout, and exits with 0. Nothing is remembered between turns: all it knows is in the request.

  requirement     asks one question; then, from the answer, makes the plan
  ticket          gives the instruction, or its proposal when the request's `discuss` is true
  report          of a proposal: gives the instruction; of a blocked ticket: passes the questions on to the person,
                  then gives the instruction without the steps that could not be run
  review_request  approves when every check passed, asks for changes otherwise
  error           gives a new instruction once; gives up when the ticket comes back

  CREW_PLAN          a JSON file with the payload of the plan; without it, the plan is a diamond of four tasks

For tests:
  CREW_MISBEHAVE     exit3                answers, then exits with 3
                     hang                 never answers
                     garbage              a broken line in place of the answer
                     no_answer            exits with 0 and without an answer
                     wrong_source         an answer in the name of another role
                     report_from_manager  a report in place of the answer
                     late                 a second, different answer after the first
                     duplicate            the answer twice
                     slow_drip            the answer in small pieces, over two seconds
                     With `once:` in front, only when BOSUN_ATTEMPT is 1.
  CREW_MISBEHAVE_ON  only for this ticket id, or this payload type of the message
"""
import json
import os
import sys
import time

QUESTION = {
    "question_id": "reader",
    "text": "Who will read the result?",
    "why": "It decides what can be left unsaid.",
    "options": ["everyone", "developers"],
    "default": "everyone",
}
WRITE = 'mkdir -p "$(dirname "$2")" && printf "%s\\n" "$1" >"$2"'


def main():
    line = sys.stdin.buffer.readline()
    if not line:
        return  # end of file without a line: exit without working
    request = json.loads(line)
    turn = request["payload"]
    message = turn["message"]
    for refusal in turn["context"].get("refused") or []:
        print("refused before:", refusal["message"], file=sys.stderr)
    if awkward(request) == "hang":
        time.sleep(3600)

    decide = {
        "requirement": on_requirement,
        "clarification_response": on_requirement,
        "ticket": on_ticket,
        "report": on_report,
        "review_request": on_review_request,
        "error": on_error,
    }.get(message["payload_type"])
    if decide is None:
        problem = "A manager does not answer " + message["payload_type"]
        answer(request, "error", {"code": "not_permitted", "message": problem})
    else:
        answer(request, *decide(turn, message["payload"]))


def on_requirement(turn, payload):
    done = payload.get("status") == "complete"  # the person wants no more questions
    if not turn["context"].get("clarifications") and not done and "clarification" in turn["expects"]:
        intent = text(turn["context"]["requirement"])
        return "clarification", {"status": "open", "questions": [QUESTION], "intent_summary": intent}
    return "plan", make_plan(turn)


def make_plan(turn):
    requirement = text(turn["context"]["requirement"])
    answers = [text(one["answer"]) for one in turn["context"].get("clarifications") or []]
    reader = "; ".join(answers) or QUESTION["default"]

    def task(task_id, work, *dependencies):
        file = task_id + ".txt"
        return {
            "task_id": task_id,
            "description": "{}, for {}: {}".format(work, reader, requirement),
            "dependencies": list(dependencies),
            "expected_outputs": [file],
            "acceptance_criteria": [{"text": file + " is not empty", "command": ["test", "-s", file]}],
        }

    plan = {
        "tasks": [
            task("outline", "Write the outline"),
            task("words", "Write the words", "outline"),
            task("figures", "Draw the figures", "outline"),
            task("page", "Put the page together", "words", "figures"),
        ]
    }
    if os.environ.get("CREW_PLAN"):
        with open(os.environ["CREW_PLAN"], encoding="utf-8") as file:
            plan = json.load(file)
    return {"summary": "{} (for {})".format(requirement, reader), **plan}


def on_ticket(turn, payload):
    if not turn.get("discuss"):
        return "instruction", instruction(turn)
    steps = [text(step) for step in steps_of(turn)]
    risks = task_of(turn).get("risks") or []
    return "instruction_proposal", {"summary": task_of(turn)["description"], "draft_steps": steps, "risks": risks}


def on_report(turn, report):
    if report["status"] != "blocked":
        return "instruction", instruction(turn)
    answers = {text(one["question"]): text(one["answer"]) for one in turn["context"].get("clarifications") or []}
    unanswered = [one for one in report.get("questions") or [] if one["text"] not in answers]
    if unanswered and "clarification" in turn["expects"]:
        return "clarification", {"status": "open", "questions": unanswered}
    questions = [one["text"] for one in report.get("questions") or []]
    notes = [question + " " + answers.get(question, "As you think best.") for question in questions]
    evidence = [one for one in report.get("evidence") or [] if isinstance(one, dict)]
    failed = [one.get("command") for one in evidence if one.get("exit_code")]
    return "instruction", instruction(turn, notes, failed)


def on_review_request(turn, review):
    failed = [text(check["criterion"]) for check in review.get("checks") or [] if not check["passed"]]
    if failed:
        return "review", {"decision": "changes_requested", "notes": "Checks failed.", "requested_changes": failed}
    return "review", {"decision": "approved", "notes": "Every check passed."}


def on_error(turn, error):
    # An instruction that answers an error says so in its metadata; it comes back in the ticket's history.
    payloads = [entry.get("payload") or {} for entry in turn["context"].get("history") or []]
    escalated = any((payload.get("metadata") or {}).get("after_error") for payload in payloads)
    if escalated or not turn["context"].get("ticket"):
        return "error", {"code": error["code"], "message": "Giving up: " + error["message"]}
    notes = ["The last attempts failed: " + error["message"]]
    return "instruction", {**instruction(turn, notes), "metadata": {"after_error": True}}


def instruction(turn, notes=(), without=()):
    steps = [step for step in steps_of(turn) if not (argv_of(step) and argv_of(step) in without)]
    resources = [
        "{}: {}".format(dependency["task_id"], output if isinstance(output, str) else output.get("uri") or text(output))
        for dependency in turn["context"].get("dependencies") or []
        for output in dependency.get("outputs") or []
    ]
    return {"summary": task_of(turn)["description"], "steps": [*notes, *steps], "resources": resources}


def steps_of(turn):
    """The steps of the ticket's latest instruction; at first, one that writes each expected output."""
    history = turn["context"].get("history") or []
    given = [entry["payload"] for entry in history if entry["payload_type"] == "instruction"]
    task = task_of(turn)
    latest = given[-1] if given else task.get("instruction")
    if isinstance(latest, dict):
        return latest.get("steps") or []
    names = [text(output) for output in task.get("expected_outputs") or []]
    return [
        {"text": "Write " + name, "command": ["sh", "-c", WRITE, "sh", task["description"], name]} for name in names
    ] or [task["description"]]


def task_of(turn):
    ticket = turn["context"]["ticket"]
    return ticket.get("task") or ticket


def argv_of(step):
    if isinstance(step, str):
        return []
    return step.get("command") or (["sh", "-c", step["shell"]] if step.get("shell") else [])


def text(value):
    """On the wire a plain string may stand for an object that has only a text."""
    return value if isinstance(value, str) else value.get("text", "")


def envelope(request, payload_type, payload):
    return {
        "session_id": request["session_id"],
        "source": request["payload"]["role_id"],
        "target": "scheduler",
        "payload_type": payload_type,
        "version": "1.0",
        "payload": {"turn_id": request["payload"]["turn_id"], **payload},
    }


def say(request, payload_type, payload):
    print(json.dumps(envelope(request, payload_type, payload)), flush=True)


def answer(request, payload_type, payload):
    """Says the last word of the turn. Without CREW_MISBEHAVE this is say(), and nothing else."""
    line = json.dumps(envelope(request, payload_type, payload))
    behaviour = awkward(request)
    if behaviour == "garbage":
        print('{"payload_type": "plan", "payload": {"tasks":')
    elif behaviour == "no_answer":
        print("Nothing to say.")
    elif behaviour == "wrong_source":
        print(json.dumps({**json.loads(line), "source": "somebody-else"}))
    elif behaviour == "report_from_manager":
        say(request, "report", {"status": "completed", "summary": "I did it myself"})
    elif behaviour == "slow_drip":
        size = len(line) // 20 + 1
        for start in range(0, len(line), size):
            print(line[start : start + size], end="", flush=True)
            time.sleep(0.1)
        print()
    else:
        print(line, flush=True)
    if behaviour == "duplicate":
        print(line)
    elif behaviour == "late":
        say(request, "error", {"code": "internal", "message": "A second thought, too late"})
    elif behaviour == "exit3":
        sys.exit(3)


def awkward(request):
    """The awkward behaviour that CREW_MISBEHAVE asks for in this turn; empty for none."""
    once, _, behaviour = os.environ.get("CREW_MISBEHAVE", "").rpartition(":")
    if once and os.environ.get("BOSUN_ATTEMPT") != "1":
        return ""
    place = os.environ.get("CREW_MISBEHAVE_ON", "")
    here = (os.environ.get("BOSUN_TICKET_ID"), request["payload"]["message"]["payload_type"])
    return behaviour if not place or place in here else ""


if __name__ == "__main__":
    main()
