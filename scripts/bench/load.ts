import { Agent, get } from "node:http";

/** What a load came to. */
export type Load = { requestsPerSecond: number; latenciesMs: number[] };

/**
 * Requests `url` for `ms` over so many connections, each sending its next request when it has the last one's answer.
 * @throws Error for an answer that is not a 200.
 */
export async function load(url: string, connections: number, ms: number): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  const end = startedAt + ms;
  const connection = async () => {
    for (let sentAt = startedAt; sentAt < end; sentAt = performance.now()) {
      await request(url, agent);
      latenciesMs.push(performance.now() - sentAt);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, connection));
  } finally {
    agent.destroy();
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return { requestsPerSecond: latenciesMs.length / seconds, latenciesMs };
}

function request(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent }, (response) => {
      response.once("error", reject).once("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`GET ${url}: ${response.statusCode}`));
      });
      response.resume();
    });
    sent.once("error", reject);
  });
}
