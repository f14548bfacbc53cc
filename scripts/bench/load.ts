/** Many users at once, for `npm run check -- bench --load` and for the tests: who asks what, and what became of it. */

/** One request of the load. */
export type Request = { kind: Kind; method: "GET" | "POST"; path: string; body?: object; ip: string };
export type Outcome = { kind: Kind; ms: number; status: number; error: string };
type Kind = "market" | "token" | "chat" | "research" | "order";

/** The parts of a hundred requests. */
const MIX: readonly (readonly [Kind, number])[] = [
  ["market", 25],
  ["token", 40],
  ["chat", 15],
  ["research", 10],
  ["order", 10],
];
const COINS = ["BTC", "ETH", "SOL", "XRP", "DOGE", "ADA", "LINK", "AVAX"];
const SENT_TO = `0x${"2".repeat(40)}`;

/** How long a model takes, in ms: four of five answers 3 s, most others 7, one of twenty 12. */
export function getModelDelay(index: number): number {
  const place = index % 20;
  return place === 19 ? 12_000 : place % 6 === 5 ? 7_000 : 3_000;
}

/** The request of a user. Every user has an address of their own, and one question; popular coins are asked for most. */
function buildRequest(index: number): Request {
  const place = (index * 37) % 100;
  let before = 0;
  const kind = MIX.find(([, part]) => place < (before += part))?.[0] ?? "market";
  const coin = COINS[Math.floor(((index * 61) % 64) ** 2 / 512)] ?? "BTC";
  const at = { kind, ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}` };
  switch (kind) {
    case "market":
      return { ...at, method: "GET", path: "/mcp/market" };
    case "token":
      return { ...at, method: "POST", path: "/mcp/token", body: { question: `How is ${coin}?` } };
    case "chat":
      return {
        ...at,
        method: "POST",
        path: "/mcp/chat",
        body: { question: `Why did ${coin} move? (${index})` },
      };
    case "research":
      return { ...at, method: "POST", path: "/mcp/research", body: { token: coin } };
    case "order":
      return {
        ...at,
        method: "POST",
        path: "/mcp/defi/send",
        body: {
          userId: `user-${index % 8}`,
          toAddress: SENT_TO,
          token: "ETH",
          amount: String(1_000 + index),
        },
      };
  }
}

/**
 * Sends the requests of so many users, evenly over a time.
 * @param service.now Epoch ms of the clock in which the load is measured.
 * @param service.wait Waits on that clock.
 */
export async function runLoad(
  users: number,
  overMs: number,
  service: {
    ask: (request: Request) => Promise<{ status: number; error: string }>;
    now: () => number;
    wait: (ms: number) => Promise<void>;
  },
): Promise<Outcome[]> {
  const asked: Promise<Outcome>[] = [];
  for (let index = 0; index < users; index++) {
    const request = buildRequest(index);
    const from = service.now();
    asked.push(
      service
        .ask(request)
        .catch((error: unknown) => ({ status: 0, error: String(error) }))
        .then((answer) => ({ ...answer, kind: request.kind, ms: service.now() - from })),
    );
    await service.wait(overMs / users);
  }
  return Promise.all(asked);
}

/** What a load came to, by kind: how many, the median and the 95th percentile of ms, and what was not answered, with reasons. */
export function summarizeLoad(outcomes: readonly Outcome[]) {
  return MIX.map(([kind]) => {
    const all = outcomes.filter((one) => one.kind === kind);
    const ms = all
      .filter(({ status }) => status === 200)
      .map((one) => one.ms)
      .toSorted((a, b) => a - b);
    const percentile = (part: number) => Math.round(ms[Math.ceil(part * ms.length) - 1] ?? 0);
    const refused: Record<string, number> = {};
    for (const { status, error } of all)
      if (status !== 200) {
        const reason = `${status} ${error.replaceAll(/[\d.]+(?= (?:s|min|hour))/g, "N").slice(0, 90)}`;
        refused[reason] = (refused[reason] ?? 0) + 1;
      }
    return { kind, users: all.length, p50: percentile(0.5), p95: percentile(0.95), refused };
  });
}
