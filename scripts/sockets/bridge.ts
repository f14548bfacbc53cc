import type { IncomingMessage, ServerResponse } from "node:http";

/** Between Node's HTTP messages and those of the fetch API, for all that the stack serves. */

/** Headers that belong to one connection, not to the message. */
const HOP_BY_HOP = new Set([
  "connection",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "content-length",
]);

export function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    if (HOP_BY_HOP.has(name)) continue;
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

/** Sends an answer; one whose body breaks off ends with the connection, behind what came before. */
export async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, sentHeaders(answer.headers));
  if (answer.body === null || response.req.method === "HEAD") {
    await answer.body?.cancel();
    response.end();
    return;
  }
  // There is no status left to change.
  await sendBody(answer.body.getReader(), response).catch(() => breakOff(response));
}

/** By hand: a pipeline makes and aborts a signal for every answer, which costs more than the answer. */
async function sendBody(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  response: ServerResponse,
): Promise<void> {
  try {
    while (!response.destroyed) {
      const { done, value } = await reader.read();
      if (done) return void response.end();
      if (!response.write(value)) await drained(response);
    }
  } finally {
    await reader.cancel();
  }
}

/** Resolves when more may be written, or when nobody is left to write to. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      response.off("drain", over).off("close", over);
      resolve();
    };
    response.once("drain", over).once("close", over);
  });
}

function breakOff(response: ServerResponse): void {
  response.write("", () => response.destroy());
}

/** As a list of names and values in turn, which Node takes as it is; each cookie is a header of its own. */
function sentHeaders(headers: Headers): string[] {
  const list: string[] = [];
  headers.forEach((value, name) => {
    if (!HOP_BY_HOP.has(name)) list.push(name, value);
  });
  return list;
}
