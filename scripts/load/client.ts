import { Agent, request } from "node:http";

/** One request of a load. */
export type Shot = { name: string; method: "GET" | "POST"; path: string; body?: object };

/** What became of it: its status, 0 for a lost connection, and how long that took. */
export type Hit = { name: string; status: number; ms: number };

/** Sends a request so many times a second, whether or not the earlier ones are answered. Latencies count from when each was due. */
export async function atRate(
  url: string,
  shots: Iterator<Shot>,
  perSecond: number,
  ms: number,
): Promise<Hit[]> {
  const agent = new Agent({ keepAlive: true });
  const startedAt = performance.now();
  const sent: Promise<Hit>[] = [];
  try {
    for (;;) {
      const dueAt = startedAt + (sent.length * 1_000) / perSecond;
      if (dueAt >= startedAt + ms) return await Promise.all(sent);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
      const shot = shots.next();
      if (shot.done !== true) sent.push(hit(url, agent, shot.value, dueAt));
    }
  } finally {
    agent.destroy();
  }
}

/** Keeps so many requests under way at any time. */
export async function atOnce(
  url: string,
  shots: Iterator<Shot>,
  connections: number,
  ms: number,
): Promise<Hit[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const end = performance.now() + ms;
  const hits: Hit[] = [];
  const connection = async () => {
    while (performance.now() < end) {
      const shot = shots.next();
      if (shot.done === true) return;
      hits.push(await hit(url, agent, shot.value, performance.now()));
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, connection));
    return hits;
  } finally {
    agent.destroy();
  }
}

function hit(url: string, agent: Agent, { name, method, path, body }: Shot, since: number): Promise<Hit> {
  return new Promise((resolve) => {
    const done = (status: number) => resolve({ name, status, ms: performance.now() - since });
    const headers = { "Content-Type": "application/json" };
    const sent = request(url + path, { agent, method, headers }, (response) => {
      response.once("error", () => done(0)).once("end", () => done(response.statusCode ?? 0));
      response.resume();
    });
    sent.once("error", () => done(0));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
