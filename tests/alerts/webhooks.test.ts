import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { refusalOf } from "../../convex/alerts/targets";
import { closeApp, START, type App } from "../support/app";
import { alertApp, DAY, HOUR, MINUTE, priced, setAlert, tick } from "./support";

afterEach(closeApp);

const URL_ = "https://hooks.example.com/alerts";
const added = z.object({ webhook: z.looseObject({ webhookId: z.string() }), secret: z.string() });

type Posted = {
  url: string;
  headers: Headers;
  body: string;
  at: number;
  redirect: RequestRedirect;
  signal: AbortSignal;
};

/** Users' webhooks: they answer what a test says, and keep what they were sent. */
function receiver(answer: (posted: Posted) => Response | Promise<Response>): Posted[] {
  const others = globalThis.fetch;
  const posted: Posted[] = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    if (!new URL(request.url).hostname.endsWith(".example.com")) return others(input, init);
    const { url, headers, redirect, signal } = request;
    const one = { url, headers, redirect, signal, body: await request.text(), at: Date.now() };
    posted.push(one);
    return answer(one);
  });
  return posted;
}

/** No answer, until who asked gives up. */
function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => undefined, HOUR);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new TypeError("aborted"));
    });
  });
}

async function addWebhook(app: App, url = URL_, userId = "alice") {
  const { status, body } = await app.post("/alerts/webhooks", { userId, url });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { webhook, secret } = added.parse(body);
  return { webhookId: webhook.webhookId, secret };
}

/** An alert of Alice's fires, and a tick has had its webhooks posted to. */
async function fired(app: App): Promise<void> {
  await setAlert(app, "BTC above 110");
  await priced(app, START + MINUTE, 100);
  await priced(app, START + 3 * MINUTE, 120);
  await tick(app);
  await tick(app);
}

const deliveries = async (app: App) =>
  (await app.rows("alertDeliveries")).map(({ state, tries, outcome }) => [state, tries, outcome]);

/** Time goes on, a tick a step. */
async function pass(app: App, ms: number, step: number): Promise<void> {
  for (const end = Date.now() + ms; Date.now() < end;) {
    vi.setSystemTime(Date.now() + step);
    await tick(app);
  }
}

describe("a webhook", () => {
  test("is told once where the answer has come, and its body breaks off", async () => {
    const app = alertApp();
    const broken = () => new ReadableStream({ cancel: () => Promise.reject(new Error("reset")) });
    const posted = receiver(() => new Response(broken()));
    await addWebhook(app);
    await fired(app);
    await pass(app, HOUR, 10 * MINUTE);
    expect(posted).toHaveLength(1);
  });

  test("gets what has fired, signed so that others can verify it, and its secret is told once", async () => {
    const app = alertApp();
    const posted = receiver(() => new Response("thanks"));
    const { secret } = await addWebhook(app);
    await fired(app);
    expect(posted).toHaveLength(1);
    const [{ headers, body, redirect } = { headers: new Headers(), body: "", redirect: "follow" }] = posted;
    expect([redirect, headers.get("content-type")]).toEqual(["manual", "application/json"]);
    const told = new Webhook(secret).verify(body, Object.fromEntries(headers));
    expect(told).toMatchObject({
      type: "alert.fired",
      data: { words: "BTC at $110 or above", observation: { value: 120, source: "coinbase" } },
    });
    const [id, time] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    expect(key).toHaveLength(32);
    const mac = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
    expect(headers.get("webhook-signature")).toBe(`v1,${mac}`);
    expect(Number(time)).toBe(Math.floor((posted[0]?.at ?? 0) / 1000));
    const listed = await app.get("/alerts?userId=alice");
    for (const text of [listed.text, JSON.stringify(await app.rows("alertSinks"))])
      expect(text).not.toContain(secret.slice(6, 30));
    await pass(app, 10 * MINUTE, MINUTE);
    expect(posted).toHaveLength(1);
    expect(await deliveries(app)).toEqual([["delivered", 1, "Delivered"]]);
  });

  test("that does not work is tried again over three days with growing pauses, under the same id", async () => {
    const app = alertApp();
    const answers = [503, 404, 429, 302, 500, 400, 503, 503, 503, 503];
    const posted = receiver(() => new Response(null, { status: answers[posted.length - 1] ?? 200 }));
    await addWebhook(app);
    await fired(app);
    await pass(app, HOUR, MINUTE);
    await pass(app, 4 * DAY, 30 * MINUTE);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-id"))).size).toBe(1);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-signature"))).size).toBe(10);
    const pauses = posted.slice(1).map(({ at }, i) => (at - (posted[i]?.at ?? 0)) / MINUTE);
    const wanted = [1, 5, 30, 120, 300, 600, 840, 1200, 1200];
    for (const [i, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(wanted[i] ?? NaN);
      expect(pause).toBeLessThanOrEqual((wanted[i] ?? NaN) + 31);
    }
    expect(pauses).toHaveLength(wanted.length);
    expect(wanted.reduce((sum, one) => sum + one) * MINUTE).toBeGreaterThan(2.9 * DAY);
    expect(await deliveries(app)).toEqual([["failed", 10, "It answers with status 503"]]);
    const { body } = await app.get("/alerts?userId=alice");
    expect(body["webhooks"]).toMatchObject([{ state: "active", problem: "It answers with status 503" }]);
  });

  test("is posted to again after a redirect, a lost connection and a silence, and then no more", async () => {
    const app = alertApp();
    const posted = receiver(({ at, signal }) => {
      if (posted.length === 1) return Response.redirect("https://hooks.example.com/other", 307);
      if (posted.length === 2) throw new TypeError("connection lost");
      if (posted.length === 3) return silence(signal);
      return new Response(String(at));
    });
    await addWebhook(app);
    await fired(app);
    const problems = new Set((await deliveries(app)).map(([, , outcome]) => outcome));
    for (let i = 0; i < 50; i++) {
      await pass(app, MINUTE, MINUTE);
      if (posted.length === 3) await app.advance(11_000);
      for (const [, , outcome] of await deliveries(app)) problems.add(outcome);
    }
    expect([...problems]).toEqual([
      ...["It redirects", "It cannot be reached", "It does not answer in time", "Delivered"],
    ]);
    expect(posted.map(({ url }) => url)).toEqual([URL_, URL_, URL_, URL_]);
  });

  test("that answers 410 ends; one that is silent delays no other; an ended one gets nothing", async () => {
    const app = alertApp();
    const posted = receiver(({ url }) => {
      if (url.includes("gone")) return new Response(null, { status: 410 });
      return url.includes("dead") ? new Response(null, { status: 500 }) : new Response();
    });
    await addWebhook(app, "https://gone.example.com/");
    await addWebhook(app, "https://dead.example.com/");
    const { webhookId } = await addWebhook(app, "https://live.example.com/");
    const fourth = await app.post("/alerts/webhooks", { userId: "alice", url: URL_ });
    expect(fourth.status).toBe(409);
    await fired(app);
    expect(posted.map(({ url }) => url).toSorted()).toEqual([
      "https://dead.example.com/",
      "https://gone.example.com/",
      "https://live.example.com/",
    ]);
    const { body } = await app.get("/alerts?userId=alice");
    expect(body["webhooks"]).toMatchObject([
      { url: "https://dead.example.com/", problem: "It answers with status 500" },
      { url: "https://live.example.com/", problem: null },
    ]);
    const [strangers, own] = await Promise.all([
      app.post("/alerts/webhooks/off", { userId: "bob", webhookId }),
      app.post("/alerts/webhooks/off", { userId: "alice", webhookId }),
    ]);
    expect([strangers.status, own.status]).toEqual([404, 200]);
    await priced(app, START + 2 * HOUR, 100);
    await priced(app, START + 2 * HOUR + 2 * MINUTE, 130);
    await tick(app);
    await pass(app, 10 * MINUTE, MINUTE);
    expect(posted.filter(({ url }) => !url.includes("dead"))).toHaveLength(2);
  });

  test("that answers slowly and has much to come keeps no other waiting", async () => {
    const app = alertApp();
    const posted = receiver(({ url }) => {
      if (url.includes("slow")) vi.setSystemTime(Date.now() + 9_000);
      return new Response();
    });
    await addWebhook(app, "https://slow.example.com/");
    await fired(app);
    const [one] = await app.rows("alertDeliveries");
    if (one === undefined) throw new Error("Nothing was posted");
    const { _id, _creationTime, ...row } = one;
    await app.t.run(async (ctx) => {
      for (let i = 0; i < 230; i++)
        await ctx.db.insert("alertDeliveries", { ...row, state: "due", tries: 0, dueAt: START + i });
    });
    await addWebhook(app, "https://honest.example.com/", "bob");
    await setAlert(app, "BTC above 125", "bob");
    await priced(app, Date.now() + MINUTE, 100);
    await priced(app, Date.now() + 2 * MINUTE, 130);
    await tick(app);
    await tick(app);
    expect(posted.filter(({ url }) => url.includes("honest"))).toHaveLength(1);
    expect(posted.filter(({ url }) => url.includes("slow")).length).toBeLessThan(20);
  });

  test("is not at private, reserved or odd addresses, however they are written", () => {
    const urls = [
      ...[
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "hooks.example.com",
        "https://",
        "javascript:alert(1)",
      ],
      ...[
        "https://localhost/",
        "https://a.localhost/",
        "https://printer.local/",
        "https://intranet/",
        "https://db.internal/",
        "https://nas.home.arpa/",
        "https://router.lan./",
      ],
      ...[
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://0.0.0.0/",
      ],
      ...[
        "https://10.1.2.3/",
        "https://172.16.0.1/",
        "https://172.31.255.255/",
        "https://192.168.1.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/",
        "https://100.127.255.254/",
      ],
      ...[
        "https://198.18.0.1/",
        "https://192.0.2.1/",
        "https://224.0.0.1/",
        "https://240.0.0.1/",
        "https://255.255.255.255/",
      ],
      ...[
        "https://[::1]/",
        "https://[::]/",
        "https://[fe80::1]/",
        "https://[fd00::1]/",
        "https://[fc00::1]/",
        "https://[ff02::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:db8::1]/",
      ],
      ...[
        "https://user:pass@hooks.example.com/",
        "https://hooks.example.com:22/",
        "https://hooks.example.com:8080/",
        "https://hooks.example.com/#part",
        `https://hooks.example.com/${"a".repeat(2_048)}`,
      ],
    ];
    const taken = urls.filter((url) => refusalOf(url)?.startsWith("must ") !== true);
    expect(taken).toEqual([]);
  });

  test("is refused over HTTP with the reason, and is at public addresses", async () => {
    const app = alertApp();
    const refused = await app.post("/alerts/webhooks", { userId: "alice", url: "https://10.1.2.3/" });
    expect([refused.status, refused.body["error"]]).toEqual([
      400,
      "url must not be a private or reserved address",
    ]);
    for (const url of [
      "https://8.8.8.8/a?b=c",
      "https://[2606:4700::1111]:8443/",
      "https://hooks.example.co.uk/x",
    ])
      await addWebhook(app, url);
    expect(await app.rows("alertSinks")).toHaveLength(3);
  });

  test("is posted to with the same secret after the key was changed", async () => {
    const app = alertApp();
    const posted = receiver(() => new Response());
    const { secret } = await addWebhook(app);
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    expect(await app.t.action(internal.alerts.sinks.rotate, {})).toEqual({ rotated: 1, failed: [] });
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
    await fired(app);
    const [{ headers, body } = { headers: new Headers(), body: "" }] = posted;
    expect(() => new Webhook(secret).verify(body, Object.fromEntries(headers))).not.toThrow();
  });
});
