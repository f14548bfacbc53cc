import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { receiver, type Posted } from "../alerts/receivers";
import { buy, DAY, HOUR, issued, marketAt, MINUTE, test, track, wait } from "../signals/support";
import { keepHouse } from "../support/rows/housekeeping";
import type { App } from "../support/app";

/** What programs are told of: signals to whoever asks, a report to the user whose shift it is. */

const added = z.object({ webhook: z.looseObject({ webhookId: z.string() }), secret: z.string() });
const told = z.object({
  events: z.array(
    z.object({ id: z.string(), type: z.string(), timestamp: z.string(), data: z.looseObject({}) }),
  ),
  next: z.string().nullable(),
});

async function add(app: App, userId: string, name: string, events?: readonly string[]) {
  const url = `https://${name}.example.com/`;
  const { body } = await app.post("/webhooks", { userId, url, ...(events === undefined ? {} : { events }) });
  const { webhook, secret } = added.parse(body);
  return { webhookId: webhook.webhookId, secret };
}

const read = async (app: App, userId: string, since = "") =>
  told.parse((await app.get(`/webhooks/events?userId=${userId}&since=${since}`)).body);

const typesAt = (posted: readonly Posted[], name: string) =>
  posted.filter(({ url }) => url.includes(name)).map(({ body }) => /"type":"([^"]+)"/.exec(body)?.[1]);

const dataOf = ({ body }: Posted) => z.object({ data: z.looseObject({}) }).parse(JSON.parse(body)).data;

/** The receiver of docs/webhooks.md, as its reader saves it. */
async function receiverOfThePage(secret: string) {
  const page = await readFile(new URL("../../docs/webhooks.md", import.meta.url), "utf8");
  const [, code = ""] = /^```js\n([^]*?)^```/m.exec(page) ?? [];
  expect(code.trim().split("\n").length).toBeLessThanOrEqual(33);
  const folder = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
  const file = `${folder}receiver-${process.pid}.mjs`;
  await mkdir(folder, { recursive: true });
  await writeFile(file, code);
  onTestFinished(() => rm(file));
  vi.stubEnv("WEBHOOK_SECRET", secret);
  vi.stubEnv("PORT", "0");
  const module: unknown = await import(/* @vite-ignore */ pathToFileURL(file).href);
  const { receive, server } = z
    .object({
      receive: z.custom<(headers: Record<string, string>, body: string) => number>(),
      server: z.custom<import("node:http").Server>(),
    })
    .parse(module);
  onTestFinished(() => void server.close());
  await new Promise((resolve) => (server.listening ? resolve(null) : server.once("listening", resolve)));
  return { receive, server };
}

/** Posts over a real connection. @returns The status. */
async function postTo(server: import("node:http").Server, { headers, body }: Posted): Promise<number> {
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return new Promise((resolve, reject) => {
    const sent = { method: "POST", port, headers: Object.fromEntries(headers) };
    request(sent, ({ statusCode = 0 }) => resolve(statusCode))
      .on("error", reject)
      .end(body);
  });
}

describe("a webhook that asks for signals", () => {
  test("is told of each once, as callers see it, to be verified by the receiver of the page", async ({
    app,
  }) => {
    const { secret } = await add(app, "a-bot", "bot", ["signal.closed", "signal.issued"]);
    await add(app, "another", "other", ["report.ready"]);
    const { receive, server } = await receiverOfThePage(secret);
    const said = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const posted = receiver(
      ({ headers, body }) => new Response(null, { status: receive(Object.fromEntries(headers), body) }),
    );
    await issued(app, buy);
    await app.pass(2 * MINUTE);
    expect(typesAt(posted, "bot")).toEqual(["signal.issued", "signal.issued"]);
    expect(said.mock.calls.flat().toSorted()).toEqual(
      ["BTC", "ETH"].map((token) => `${token}-2026-01-05: BUY at 100, stop 99`),
    );
    const latest = await app.get("/mcp/signals/latest?token=BTC");
    const own = posted.map(dataOf).find(({ token }) => token === "BTC");
    expect(own).toEqual(z.object({ BTC: z.looseObject({}) }).parse(latest.body["signals"]).BTC);

    marketAt(app, { BTC: 103, ETH: 100 });
    await wait(app, 30 * MINUTE);
    await track(app);
    await app.pass(2 * MINUTE);
    expect(typesAt(posted, "bot").slice(2)).toEqual(["signal.closed"]);
    expect(said).toHaveBeenLastCalledWith("BTC-2026-01-05: WIN, 1 %");
    expect(typesAt(posted, "other")).toEqual([]);

    const [first] = posted;
    if (first === undefined) throw new Error("Nothing was posted");
    vi.setSystemTime(first.at);
    expect(await postTo(server, first)).toBe(204);
    expect(await postTo(server, { ...first, body: first.body.replace("BUY", "SELL") })).toBe(401);
    expect(said.mock.calls.flat().filter((text) => /^(?:BTC|ETH)-2026/.test(String(text)))).toHaveLength(3);
  });

  test("reads and gets again what it has missed for 7 days, under the same id", async ({ app }) => {
    let isUp = false;
    const posted = receiver(() => new Response(null, { status: isUp ? 200 : 503 }));
    const { webhookId } = await add(app, "a-bot", "bot", ["signal.issued"]);
    await issued(app, buy);
    await app.pass(2 * MINUTE);
    const { events, next } = await read(app, "a-bot");
    expect([events.map(({ type }) => type), next]).toEqual([["signal.issued", "signal.issued"], null]);
    const ids = events.map(({ id }) => id);
    expect(posted.length).toBeGreaterThan(0);
    for (const { headers } of posted) expect(ids).toContain(headers.get("webhook-id"));
    expect((await read(app, "nobody-asked")).events).toEqual([]);
    expect((await app.get("/webhooks/events?userId=a-bot&since=2026-01-05")).body).toEqual({
      error: "since must be an ISO 8601 time with a zone, such as 2026-01-05T00:00:00Z",
    });
    await wait(app, 4 * DAY);
    await app.pass(2 * MINUTE);
    isUp = true;
    posted.length = 0;
    const again = (input: object) => app.post("/webhooks/resend", { userId: "a-bot", webhookId, ...input });
    const one = await again({ id: ids[1] });
    expect([one.status, one.body]).toEqual([200, { count: 1, next: null }]);
    await app.pass(2 * MINUTE);
    expect(posted.map(({ headers }) => headers.get("webhook-id"))).toEqual([ids[1]]);

    // A webhook that is younger than the event gets it too.
    const young = await add(app, "a-bot", "young", ["signal.issued"]);
    const all = await app.post("/webhooks/resend", { userId: "a-bot", webhookId: young.webhookId });
    expect(all.body).toEqual({ count: 2, next: null });
    await app.pass(3 * MINUTE);
    expect(typesAt(posted, "young")).toEqual(["signal.issued", "signal.issued"]);
    expect((await app.rows("webhookPosts")).map(({ state }) => state)).not.toContain("due");

    expect((await app.post("/webhooks/resend", { userId: "bob", webhookId })).status).toBe(404);
    expect((await again({ id: "msg_none" })).status).toBe(404);
    await wait(app, 3 * DAY);
    expect((await again({ id: ids[1] })).status).toBe(404);
    expect((await read(app, "a-bot")).events).toEqual([]);
    await wait(app, 12 * DAY);
    await keepHouse(app);
    expect(await app.rows("webhookEvents")).toEqual([]);
  });

  test("is one of any number, and reads what comes behind a hundred from `next` on", async ({ app }) => {
    const posted = receiver(() => new Response());
    for (let n = 0; n < 30; n++)
      await app.post(
        "/webhooks",
        { userId: `bot-number-${n}`, url: `https://b${n}.example.com/`, events: ["signal.issued"] },
        { ip: `10.0.${n}.1` },
      );
    await issued(app, buy);
    await app.pass(10 * MINUTE);
    expect(new Set(posted.map(({ url }) => url)).size).toBe(30);
    expect(posted).toHaveLength(60);
    const [event] = await app.rows("webhookEvents");
    if (event === undefined) throw new Error("There is no event");
    const { _id, _creationTime, ...row } = event;
    await app.t.run(async (ctx) => {
      for (let n = 1; n <= 150; n++) await ctx.db.insert("webhookEvents", { ...row, at: row.at + n });
    });
    const first = await read(app, "bot-number-1");
    expect(first.events).toHaveLength(100);
    const second = await read(app, "bot-number-1", first.next ?? "");
    expect([second.events.length, second.next]).toEqual([52, null]);
    expect(new Set([...first.events, ...second.events].map(({ id }) => id)).size).toBe(152);
  });
});

describe("a webhook that asks for a user's own", () => {
  test("is told of the user's reports alone, and only from then on", async ({ app }) => {
    const posted = receiver(() => new Response());
    await add(app, "alice-6f1c0a9e2b", "alice", ["report.ready"]);
    await add(app, "bob-77aa0c9e2b", "bob");
    const start = { userId: "alice-6f1c0a9e2b", token: "SOL" };
    const { jobId } = (await app.post("/mcp/research/start", start)).body;
    await app.post("/mcp/research/start", { userId: "carol-1200c9e2b", token: "SOL" });
    await app.pass(8.5 * HOUR);
    expect(typesAt(posted, "alice")).toEqual(["report.ready", "report.ready", "report.ready"]);
    expect(typesAt(posted, "bob").filter((type) => type === "report.ready")).toEqual([]);
    const last = posted
      .filter(({ url }) => url.includes("alice"))
      .map(dataOf)
      .at(-1);
    const path = `/mcp/research/report?jobId=${String(jobId)}`;
    expect(last).toMatchObject({ jobId, type: "final", token: "SOL", path });
    const { body } = await app.get(path);
    expect(body["result"]).toMatchObject({ marketOutlook: last?.["outlook"] });
    const owners = (await app.rows("webhookEvents")).flatMap(({ type, userId }) =>
      type === "report.ready" ? [userId] : [],
    );
    expect(new Set(owners)).toEqual(new Set(["alice-6f1c0a9e2b"]));
    expect((await read(app, "alice-6f1c0a9e2b")).events).toHaveLength(3);
  });

  test("names events that there are, and all when it names none", async ({ app }) => {
    const wrong = await app.post("/webhooks", {
      userId: "alice",
      url: "https://a.example.com/",
      events: ["sale"],
    });
    expect([wrong.status, wrong.body["error"]]).toEqual([400, expect.stringContaining("events")]);
    await add(app, "alice", "all");
    const { body } = await app.get("/webhooks?userId=alice");
    expect(body["webhooks"]).toMatchObject([
      { events: expect.arrayContaining(["signal.closed", "transaction.ended"]) },
    ]);
  });
});
