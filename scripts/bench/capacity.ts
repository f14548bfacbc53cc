import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as z from "zod";

/** What the platform's plans cost for a number of users, from measurements; `docs/capacity.md` shows it. */

const useShape = z.object({
  ...{ calls: z.number(), readBytes: z.number(), writtenBytes: z.number(), actionMs: z.number() },
});
const measuredShape = z.object({ idle: useShape.extend({ hours: z.number() }), shift: useShape });
/** The bill for a number of idle hours, and for a shift on top. */
export type Measured = z.infer<typeof measuredShape>;
type Use = z.infer<typeof useShape>;

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const DATA = path("scripts/bench/measured.json");
const PAGE = path("docs/capacity.md");
const [BEGIN, END] = ["<!-- What it costs: npm run bench -- platform --write -->", "<!-- End -->"];

const DAYS = 30;
const GB = 1e9;
const HOUR_MS = 3_600_000;
/** The memory that the platform bills for an action, in GB. */
const ACTION_GB = 1 / 16;
/** One in so many users starts a shift per day. */
const USERS_A_SHIFT = 10;
/** The size of a user's rows after a year, in GB. */
const STORED_GB = 0.0009;
const USERS = [0, 100, 1_000, 100_000];

/**
 * The monthly amounts that a plan includes, and the price of more in USD: a million calls, a GB, a GB-hour; null if
 * more is not available.
 */
type Plan = {
  name: string;
  usd: number;
  included: Record<Kind, number>;
  more: Record<Kind, number> | null;
};
const KINDS = ["calls", "traffic", "compute", "storage"] as const;
type Kind = (typeof KINDS)[number];

const SMALL = { calls: 1, traffic: 1, compute: 20, storage: 0.5 };
const PLANS: readonly Plan[] = [
  { name: "Free", usd: 0, included: SMALL, more: null },
  {
    ...{ name: "Starter", usd: 0, included: SMALL },
    more: { calls: 2.2, traffic: 0.22, compute: 0.33, storage: 0.22 },
  },
  {
    ...{ name: "Professional", usd: 25, included: { calls: 25, traffic: 50, compute: 250, storage: 50 } },
    more: { calls: 2, traffic: 0.2, compute: 0.3, storage: 0.2 },
  },
];

/** A month's use by so many users: millions of calls, GB of traffic, GB-hours of action compute, GB stored. */
function monthOf({ idle, shift }: Measured, users: number): Record<Kind, number> {
  const shifts = (DAYS * users) / USERS_A_SHIFT;
  const sum = (of: (use: Use) => number) => (of(idle) * 24 * DAYS) / idle.hours + of(shift) * shifts;
  return {
    calls: sum(({ calls }) => calls) / 1e6,
    traffic: sum(({ readBytes, writtenBytes }) => readBytes + writtenBytes) / GB,
    compute: (sum(({ actionMs }) => actionMs) / HOUR_MS) * ACTION_GB,
    storage: users * STORED_GB,
  };
}

function costOf(month: Record<Kind, number>, { usd, included, more }: Plan): string {
  const beyond = KINDS.map((kind) => [kind, Math.max(0, month[kind] - included[kind])] as const);
  if (more === null) {
    const [first] = beyond.find(([, amount]) => amount > 0) ?? [];
    return first === undefined ? "0" : `too small: ${first}`;
  }
  const total = beyond.reduce((all, [kind, amount]) => all + amount * more[kind], usd);
  return total.toLocaleString("en-US", { maximumFractionDigits: total < 100 ? 2 : 0 });
}

const ROWS: readonly [name: string, of: (month: Record<Kind, number>) => string][] = [
  ["Function calls, millions", ({ calls }) => inUsd(calls)],
  ["Database traffic, GB", ({ traffic }) => inUsd(traffic)],
  ["Action compute, GB-hours", ({ compute }) => inUsd(compute)],
  ["Stored after a year, GB", ({ storage }) => inUsd(storage)],
  ...PLANS.map(
    (plan) =>
      [`**${plan.name}**, USD a month`, (month: Record<Kind, number>) => costOf(month, plan)] as const,
  ).map(([name, of]): [string, typeof of] => [name, of]),
];

function inUsd(amount: number): string {
  return amount.toLocaleString("en-US", { maximumFractionDigits: amount < 10 ? 2 : 0 });
}

function tableOf(measured: Measured): string {
  const months = USERS.map((users) => monthOf(measured, users));
  const heads = USERS.map((users) => (users === 0 ? "Idle" : `${users.toLocaleString("en-US")} users`));
  const rows = [["A month", ...heads], ...ROWS.map(([name, of]) => [name, ...months.map(of)])];
  const widths = rows.reduce<number[]>(
    (most, row) => row.map((cell, index) => Math.max(most[index] ?? 3, cell.length)),
    [],
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, index) => (index === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  const [head = [], ...body] = rows;
  return [line(head), line(rule), ...body.map(line)].join("\n");
}

/** The page with the table of the stored measurements. */
export function withCosts(page: string, measured: Measured): string {
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error("docs/capacity.md has no place for the costs");
  return `${before}${BEGIN}\n\n${tableOf(measured)}\n\n${END}${after}`;
}

export function keptMeasurements(): Measured {
  return measuredShape.parse(JSON.parse(readFileSync(DATA, "utf8")));
}

export const capacityPage = (): string => readFileSync(PAGE, "utf8");

/** Stores the measurements, and updates the page's table. */
export function keepMeasurements(measured: Measured): void {
  writeFileSync(DATA, `${JSON.stringify(measuredShape.parse(measured), null, 2)}\n`);
  writeFileSync(PAGE, withCosts(capacityPage(), measured));
}
