// Plays a model: a server of OpenAI's chat completions that knows one session by heart. A worker thread, which tells its port. `workerData` is the
// address of the module whose `answerTo` says what the model answers to the messages of a conversation: their texts, the last one is the latest.
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { parentPort, workerData } from "node:worker_threads";

const { answerTo } = await import(workerData);

async function answer(request, response) {
  const { messages } = JSON.parse(await text(request));
  const content = JSON.stringify(answerTo(messages.map(textOf)));
  const chunk = (choice, more = {}) =>
    response.write(`data: ${JSON.stringify({ id: "scripted", object: "chat.completion.chunk", created: 0, model: "scripted", choices: [choice], ...more })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of content.match(/.{1,40}/gsu)) chunk({ index: 0, delta: { role: "assistant", content: piece }, finish_reason: null });
  const usage = { prompt_tokens: Math.ceil(JSON.stringify(messages).length / 4), completion_tokens: Math.ceil(content.length / 2) };
  chunk({ index: 0, delta: {}, finish_reason: "stop" }, { usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens } });
  response.end("data: [DONE]\n\n");
}

function textOf({ content }) {
  return typeof content === "string" ? content : content.map((part) => part.text).join("\n");
}

const server = createServer((request, response) => void answer(request, response));
await once(server.listen(0, "127.0.0.1"), "listening");
parentPort.postMessage(server.address().port);
