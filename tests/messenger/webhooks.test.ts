import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { addWebhook, receiver, silence, type Posted } from "./receivers";
import { buy, DAY, HOUR, issued, marketAt, MINUTE, test, track, wait } from "../signals/support";
import { Webhook } from "standardwebhooks";
import { v } from "convex/values";
import { internal } from "../../convex/_generated/api";
import { internalMutation, type MutationCtx } from "../../convex/_generated/server";
import { seal } from "../../convex/lib/security/seals";
import { publicAddress } from "../../convex/lib/http/input";
import * as events from "../../convex/messenger/webhooks/events";
import { expireLeases } from "../support/rows/leases";
import { createApp, type App } from "../support/app";

const { secretSeal, tellEverybody, tellOwner } = events;

/** What programs are told of: signals to whoever asks, a report to the user whose shift it is; and how often. */

const told = z.object({
  events: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      timestamp: z.string(),
      data: z.looseObject({}),
    }),
  ),
  next: z.string().nullable(),
});

const read = async (app: App, userId: string, since = "") =>
  told.parse((await app.get(`/webhooks/events?userId=${userId}&since=${since}`)).body);

const typesAt = (posted: readonly Posted[], name: string) =>
  posted.filter(({ url }) => url.includes(name)).map(({ body }) => /"type":"([^"]+)"/.exec(body)?.[1]);

const dataOf = ({ body }: Posted) => z.object({ data: z.looseObject({}) }).parse(JSON.parse(body)).data;

/** The receiver of docs/clients.md, as its reader saves it. */
async function receiverOfThePage(secret: string) {
  const page = await readFile(new URL("../../docs/clients.md", import.meta.url), "utf8");
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
    const { secret } = await addWebhook(app, "https://bot.example.com/", "a-bot");
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

    const [first] = posted;
    if (first === undefined) throw new Error("Nothing was posted");
    vi.setSystemTime(first.at);
    expect(await postTo(server, first)).toBe(204);
    expect(await postTo(server, { ...first, body: first.body.replace("BUY", "SELL") })).toBe(401);
    expect(said.mock.calls.flat().filter((text) => /^(?:BTC|ETH)-2026/.test(String(text)))).toHaveLength(3);
  });
});

describe("a webhook that asks for a user's own", () => {
  test("is told of the user's reports alone, and only from then on", async ({ app }) => {
    const posted = receiver(() => new Response());
    await addWebhook(app, "https://alice.example.com/", "alice-6f1c0a9e2b");
    await addWebhook(app, "https://bob.example.com/", "bob-77aa0c9e2b");
    const start = { userId: "alice-6f1c0a9e2b", token: "SOL" };
    const { jobId } = (await app.post("/mcp/research/start", start)).body;
    await app.post("/mcp/research/start", { userId: "carol-1200c9e2b", token: "SOL" });
    await app.pass(2.7 * HOUR);
    expect(typesAt(posted, "alice")).toEqual(["report.ready"]);
    expect(typesAt(posted, "bob").filter((type) => type === "report.ready")).toEqual([]);
    const last = posted
      .filter(({ url }) => url.includes("alice"))
      .map(dataOf)
      .at(-1);
    const path = `/mcp/research/report?jobId=${String(jobId)}`;
    expect(last).toMatchObject({ jobId, type: "interim", token: "SOL", path });
    const { body } = await app.get(path);
    expect(body["result"]).toMatchObject({ marketOutlook: last?.["outlook"] });
    expect((await read(app, "alice-6f1c0a9e2b")).events).toHaveLength(1);
  });
});

/** Something that only Alice's programs are told, and a tick of the cron. */
async function toldAlice(app: App, data: Record<string, unknown> = { n: 1 }): Promise<void> {
  await app.t.run((ctx) => tellOwner(ctx, "alice", "report.ready", data));
  await tick(app);
}

async function tick(app: App): Promise<void> {
  await app.t.mutation(internal.messenger.webhooks.events.begin, {});
  await app.settle(1);
}

/** Time goes on, a tick a step. */
async function pass(app: App, ms: number, step: number): Promise<void> {
  for (const end = Date.now() + ms; Date.now() < end;) {
    vi.setSystemTime(Date.now() + step);
    await tick(app);
  }
}

const deliveries = async (app: App) =>
  (await app.rows("webhookPosts")).map(({ state, tries }) => [state, tries]);

describe("a post", () => {
  test("is signed to verify, and sent once: whatever the body of the answer does", async ({ app }) => {
    const broken = () => new ReadableStream({ cancel: () => Promise.reject(new Error("reset")) });
    const posted = receiver(() => new Response(broken()));
    const { secret } = await addWebhook(app);
    await toldAlice(app, { summary: "calm" });
    const [{ headers, body, redirect } = { headers: new Headers(), body: "", redirect: "follow" }] = posted;
    expect([redirect, headers.get("content-type")]).toEqual(["manual", "application/json"]);
    const told = new Webhook(secret).verify(body, Object.fromEntries(headers));
    expect(told).toMatchObject({
      type: "report.ready",
      data: { summary: "calm" },
    });
    expect(Buffer.from(secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
    const listed = await app.get("/webhooks?userId=alice");
    for (const text of [listed.text, JSON.stringify(await app.rows("webhooks"))])
      expect(text).not.toContain(secret.slice(6, 30));
    await pass(app, HOUR, 10 * MINUTE);
    expect(posted).toHaveLength(1);
    expect(await deliveries(app)).toEqual([["delivered", 1]]);
  });

  test("that fails is tried again for three days, with growing pauses and one id", async ({ app }) => {
    const answers = [503, 404, 429, 302, 500, 400, 503, 503, 503, 503];
    const posted = receiver(() => new Response(null, { status: answers[posted.length - 1] ?? 200 }));
    await addWebhook(app);
    await toldAlice(app);
    await pass(app, HOUR, MINUTE);
    await pass(app, 4 * DAY, 30 * MINUTE);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-signature"))).size).toBe(10);
    const pauses = posted.slice(1).map(({ at }, i) => (at - (posted[i]?.at ?? 0)) / MINUTE);
    const wanted = [1, 5, 30, 120, 300, 600, 840, 1200, 1200];
    expect(pauses).toHaveLength(wanted.length);
    for (const [i, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(wanted[i] ?? NaN);
      expect(pause).toBeLessThanOrEqual((wanted[i] ?? NaN) + 31);
    }
    expect(await deliveries(app)).toEqual([["failed", 10]]);
    const { body } = await app.get("/webhooks?userId=alice");
    expect(body["webhooks"]).toMatchObject([{ problem: "It answers with status 503" }]);
  });

  test("is tried past a redirect, a lost connection and a silence of ten seconds", async ({ app }) => {
    const posted = receiver(({ signal }) => {
      if (posted.length === 1) return Response.redirect("https://hooks.example.com/other", 307);
      if (posted.length === 2) throw new TypeError("connection lost");
      return posted.length === 3 ? silence(signal) : new Response();
    });
    await addWebhook(app);
    await toldAlice(app);
    const problem = async () =>
      z
        .object({ webhooks: z.array(z.looseObject({ problem: z.unknown() })) })
        .parse((await app.get("/webhooks?userId=alice")).body).webhooks[0]?.problem;
    const problems = new Set([await problem()]);
    for (let i = 0; i < 50; i++) {
      await pass(app, MINUTE, MINUTE);
      if (posted.length === 3) await app.advance(11_000);
      problems.add(await problem());
    }
    expect([...problems]).toEqual([
      ...["It redirects", "It cannot be reached", "It does not answer in time", null],
    ]);
    expect(new Set(posted.map(({ url }) => url)).size).toBe(1);
  });

  test("to one that answers 410 is its last; and nothing is posted to a removed one", async ({ app }) => {
    const posted = receiver(({ url }) => new Response(null, { status: url.includes("gone") ? 410 : 200 }));
    await addWebhook(app, "https://gone.example.com/");
    const { webhookId } = await addWebhook(app, "https://live.example.com/");
    await addWebhook(app, "https://third.example.com/");
    expect(
      (
        await app.post("/webhooks", {
          userId: "alice",
          url: "https://a.example.com/",
        })
      ).status,
    ).toBe(409);
    await toldAlice(app);
    expect(posted).toHaveLength(3);
    expect((await app.post("/webhooks/off", { userId: "bob", webhookId })).status).toBe(404);
    await app.t.run((ctx) => tellOwner(ctx, "alice", "report.ready", {}));
    expect((await app.post("/webhooks/off", { userId: "alice", webhookId })).body).toEqual({ success: true });
    await pass(app, 5 * MINUTE, MINUTE);
    expect(typesAt(posted, "live")).toHaveLength(1);
    expect(posted).toHaveLength(4);
    expect((await deliveries(app)).map(([state]) => state)).not.toContain("due");
  });

  test("lost with its server is sent again under the same id, and what comes late changes nothing", async ({
    app,
  }) => {
    const late = (): Promise<Response> =>
      new Promise((resolve) => setTimeout(() => resolve(new Response(null, { status: 500 })), 5_000));
    const posted = receiver(() => (posted.length === 1 ? late() : new Response()));
    await addWebhook(app);
    await toldAlice(app);
    await expireLeases(app);
    await app.settle(1);
    await app.advance(6_000);
    expect(await deliveries(app)).toEqual([["delivered", 1]]);
    expect((await app.get("/webhooks?userId=alice")).body["webhooks"]).toMatchObject([{ problem: null }]);
    expect(posted).toHaveLength(2);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
  });

  test("has the same secret after the master key was changed", async ({ app }) => {
    const posted = receiver(() => new Response());
    const { secret } = await addWebhook(app);
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    const { rotated } = await app.t.action(internal.messenger.actions.rotate, {});
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
    await toldAlice(app);
    const [{ headers, body } = { headers: new Headers(), body: "" }] = posted;
    expect(rotated).toBe(1);
    expect(() => new Webhook(secret).verify(body, Object.fromEntries(headers))).not.toThrow();
  });
});

describe("many webhooks", () => {
  test("of strangers cost two writes each for an event, and all are posted to", async () => {
    let writes = 0;
    const counting = (path: "spread" | "mark") =>
      internalMutation({
        args: v.any(),
        handler: async (ctx: MutationCtx, given: unknown): Promise<null> => {
          const db = new Proxy(ctx.db, {
            get: (target, name): unknown => {
              if (name === "insert" || name === "patch") writes++;
              return Reflect.get(target, name, target);
            },
          });
          return z
            .custom<(ctx: MutationCtx, given: unknown) => Promise<null>>()
            .parse(Reflect.get(events[path], "_handler"))({ ...ctx, db }, given);
        },
      });
    const counted = { ...events, spread: counting("spread"), mark: counting("mark") };
    const app = createApp({
      replaced: { "messenger/webhooks/events": () => Promise.resolve(counted) },
    });
    const posted = receiver(() => new Response());
    await app.t.run(async ({ db }) => {
      for (let n = 0; n < 1_000; n++) {
        const row = { userId: `stranger-${n}`, url: `https://s${n % 150}.example.com/${n}` };
        const sealedSigning = await seal(`whsec_${btoa("k".repeat(32))}`, secretSeal(row));
        await db.insert("webhooks", { ...row, sealedSigning });
      }
    });
    await app.t.run((ctx) => tellEverybody(ctx, "signal.issued", { token: "BTC" }));
    await app.settle();
    for (let n = 0; n < 3; n++) await tick(app);
    expect(new Set(posted.map(({ url }) => url)).size).toBe(1_000);
    expect(posted).toHaveLength(1_000);
    expect(writes).toBe(2_000);
  });

  test("that are silent hold up nobody who answers; a host gets ten at once", async ({ app }) => {
    const posted = receiver(({ url, signal }) => (url.includes("silent") ? silence(signal) : new Response()));
    for (let n = 0; n < 5; n++)
      for (let m = 0; m < 3; m++)
        await addWebhook(app, `https://silent.example.com/${n}-${m}`, "u".repeat(n + 8));
    await addWebhook(app, "https://honest.example.com/");
    const event = async () => {
      await app.t.run((ctx) => tellEverybody(ctx, "signal.issued", {}));
      await app.settle(1);
      await tick(app);
    };
    await event();
    expect([typesAt(posted, "silent").length, typesAt(posted, "honest").length]).toEqual([10, 1]);
    // All have failed once, and one has answered: from now on neither waits for the others.
    await app.advance(25_000);
    expect(typesAt(posted, "silent")).toHaveLength(15);
    posted.length = 0;
    await event();
    expect(posted.map(({ url }) => new URL(url).host).filter((host) => host.includes("honest"))).toHaveLength(
      1,
    );
    await app.t.run((ctx) => tellOwner(ctx, "alice", "report.ready", {}));
    await tick(app);
    expect(typesAt(posted, "honest")).toHaveLength(2);
    expect(typesAt(posted, "silent")).toHaveLength(10);
  });
});

describe("the events of the last seven days", () => {
  test("are read page after page without repeats, in a user's own order", async ({ app }) => {
    receiver(() => new Response());
    await addWebhook(app);
    await app.t.run(async (ctx) => {
      for (let n = 0; n < 120; n++) await tellOwner(ctx, "alice", "report.ready", { n });
      for (let n = 0; n < 30; n++) await tellOwner(ctx, "alice", "alert.fired", { n });
      await tellOwner(ctx, "bob", "report.ready", {});
    });
    const page = async (query: string) =>
      told.parse((await app.get(`/webhooks/events?userId=alice${query}`)).body);
    const first = await page("");
    const second = await page(`&since=${first.next}`);
    expect([first.events.length, second.events.length, second.next]).toEqual([100, 50, null]);
    expect(new Set([...first.events, ...second.events].map(({ id }) => id)).size).toBe(150);
    expect((await read(app, "nobody-asked")).events).toEqual([]);
    expect((await page(`&since=${new Date(Date.now() + 1_000).toISOString()}`)).events).toEqual([]);
    for (const since of ["2026-01-05", "next"])
      expect((await app.get(`/webhooks/events?userId=alice&since=${since}`)).body).toEqual({
        error:
          "since must be an ISO 8601 time with a zone, such as 2026-01-05T00:00:00Z, or an earlier answer's `next`",
      });
    await wait(app, 8 * DAY);
    expect((await read(app, "alice")).events).toEqual([]);
  });
});

describe("a webhook's address", () => {
  test("is at a public name over https, however else it is written", () => {
    const refused = `
        http://hooks.example.com/ ftp://hooks.example.com/ hooks.example.com https:// javascript:alert(1)
        https://localhost/ https://a.localhost/ https://printer.local/ https://intranet/ https://db.internal/
        https://nas.home.arpa/ https://router.lan./ https://hooks.default.svc/
        https://api.kube.svc.cluster.local./ https://1.0.0.127.in-addr.arpa/ https://wallet.alt/
        https://a.onion/ https://hooks.example.com./ https://a.test/ https://a.invalid/ https://hooks.example/ https://EXAMPLE./
        https://127.0.0.1/ https://127.1/ https://2130706433/ https://0x7f.0.0.1/ https://0177.0.0.1/
        https://8.8.8.8/ https://10.1.2.3/ https://169.254.169.254/latest/meta-data https://[::1]/
        https://[2606:4700::1111]:8443/ https://[::ffff:127.0.0.1]/
        https://user:pass@hooks.example.com/ https://hooks.example.com:22/ https://hooks.example.com:8080/
        https://hooks.example.com/#part`
      .trim()
      .split(/\s+/);
    for (const url of refused) expect([url, publicAddress.safeParse(url).success]).toEqual([url, false]);
    const taken = ["https://Hooks.Example.co.uk/x?a=b", "https://hooks.example.com:8443/"];
    expect(taken.map((url) => publicAddress.parse(url))).toEqual([
      "https://hooks.example.co.uk/x?a=b",
      "https://hooks.example.com:8443/",
    ]);
  });

  test("is not this deployment itself, and is the user's only once", async ({ app }) => {
    vi.stubEnv("CONVEX_SITE_URL", "https://api.market.dev");
    vi.stubEnv("CONVEX_CLOUD_URL", "https://happy-animal-123.convex.cloud");
    for (const host of ["api.market.dev", "API.market.dev", "happy-animal-123.convex.site:443"]) {
      const { status, body } = await app.post("/webhooks", {
        userId: "alice",
        url: `https://${host}/a`,
      });
      expect([status, body["error"]]).toEqual([400, "url must not be this service's own address"]);
    }
    await addWebhook(app, "https://hooks.example.com/a?a=b");
    const again = await app.post("/webhooks", {
      userId: "alice",
      url: "https://hooks.example.com/a?a=b",
    });
    expect([again.status, again.body["error"]]).toEqual([
      409,
      "This address is already one of the user's webhooks",
    ]);
  });
});
