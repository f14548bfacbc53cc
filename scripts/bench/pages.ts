import { dayOf, HOUR, MINUTE } from "../../convex/lib/time";
import { measure, type Usage } from "../host/usage";
import type { Progress } from "./progress";
import { insertAlerts, insertSignals } from "./signalRows";
import { figure, type Table } from "./table";
import { createWorld, type World } from "./world";

/** What a look at a page costs against the JSON of the same, with a week of prices and a long record stored. */
export const question = "Documents read and bytes answered by a page, against its JSON";

const SIGNALS = 1_000;
const PRICED_HOURS = 168;
const BROWSER = "text/html,*/*;q=0.8";

/** Each page, and the addresses that hold what it shows. */
const pages: readonly { path: string; json: readonly string[] }[] = [
  {
    path: "/",
    json: [
      "/mcp/prices?hours=25",
      "/mcp/market",
      "/mcp/signals/latest",
      "/signals/{BTC}",
      "/signals/{ETH}",
      "/mcp/whale-alerts?hours=24",
    ],
  },
  { path: "/record", json: ["/record"] },
  { path: "/signals/{BTC}", json: ["/signals/{BTC}"] },
  { path: "/research?token=BTC", json: ["/research?token=BTC"] },
  { path: "/whales", json: ["/whales"] },
  { path: "/status", json: ["/status"] },
];

type Look = { usage: Usage; bytes: number };

export async function run(progress: Progress): Promise<Table> {
  const world = await createWorld({ variables: { CONVEX_SITE_URL: "https://bench.invalid" } });
  try {
    progress(`${figure(SIGNALS)} signals and ${figure(PRICED_HOURS)} hours of prices stored`);
    await insertSignals(world, SIGNALS);
    await insertAlerts(world, SIGNALS);
    await insertPrices(world);
    await look(world, "/mcp/market", "application/json");
    const names = await newestSignals(world);
    const rows: string[][] = [];
    for (const { path, json } of pages) {
      progress(path);
      const page = await look(world, named(path, names), BROWSER);
      const parts: Look[] = [];
      for (const one of json) parts.push(await look(world, named(one, names), "application/json"));
      const sum = parts.reduce((total, { usage }) => total + usage.read, 0);
      rows.push([
        path.replace("{BTC}", "{id}"),
        figure(page.usage.read),
        figure(sum),
        figure(page.usage.written),
        figure(page.bytes),
        figure(parts.reduce((total, { bytes }) => total + bytes, 0)),
      ]);
    }
    return {
      inputs: [
        `Stored: ${figure(SIGNALS)} closed signals, as many whale alerts, a price of both tokens every five minutes for ${PRICED_HOURS} hours.`,
        "The JSON of the first page is that of all addresses whose figures it shows; of the others, that of the same address.",
        "Without the platform's query cache, which answers what does not change: hours that are over, signals that are closed.",
      ],
      columns: ["", "page reads", "JSON reads", "page writes", "page bytes", "JSON bytes"],
      rows,
      notes: ["A page writes nothing and asks nobody."],
    };
  } finally {
    world.stop();
  }
}

async function look({ t, clock }: World, path: string, accept: string): Promise<Look> {
  const client = t.withRequestMetadata({ ip: "127.0.0.1", userAgent: "bench" });
  const { usage, value } = await measure(async () => {
    const response = await clock.during(client.fetch(path, { headers: { Accept: accept } }));
    const text = await response.text();
    if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${text}`);
    return Buffer.byteLength(text);
  });
  return { usage, bytes: value };
}

async function insertPrices({ t, clock }: World): Promise<void> {
  const end = clock.now();
  for (const token of ["BTC", "ETH"] as const) {
    await t.run(async ({ db }) => {
      for (let at = end - PRICED_HOURS * HOUR; at <= end; at += 5 * MINUTE) {
        const price = { token, priceUsd: 100, source: "chainlink" as const, takenAt: at };
        await db.insert("priceSamples", { ...price, observedAt: at });
        if (at % HOUR === 0) await db.insert("hourlyCloses", { ...price, hourEndsAt: at });
      }
    });
  }
}

/** The ids of the newest signals, by token. */
async function newestSignals({ t }: World): Promise<Record<"BTC" | "ETH", string>> {
  return t.run(async ({ db }) => {
    const newest = async (token: "BTC" | "ETH") => {
      const rows = db.query("signals").withIndex("by_token", (q) => q.eq("arm", "daily").eq("token", token));
      return `${token}-${dayOf((await rows.order("desc").first())?.slot ?? 0)}`;
    };
    return { BTC: await newest("BTC"), ETH: await newest("ETH") };
  });
}

function named(path: string, names: Record<"BTC" | "ETH", string>): string {
  return path.replace("{BTC}", names.BTC).replace("{ETH}", names.ETH);
}
