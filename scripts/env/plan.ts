import { complaintAbout, isVariable } from "../../convex/lib/env";

/** What `npm run env:push` would do with a file of settings; names only, apart from `values`. */
export type Plan = {
  /** What the deployment is given. Never printed. */
  values: Map<string, string>;
  /** Of those, the ones that the file leaves out and the platform needs at every push. */
  defaulted: string[];
  /** In the file without a value: left as they are on the deployment. */
  empty: string[];
  /** Not the service's: the CLI's own settings, the local stack's ports, misspelled names. */
  foreign: string[];
  /** Values of the wrong shape, with what is wrong. */
  malformed: { name: string; complaint: string }[];
};

/** `auth.config.ts` reads these at every push, where an unset one is refused. */
const AT_PUSH: Record<string, string> = {
  AUTH_ISSUER: "https://auth.invalid",
  AUTH_APPLICATION_ID: "unset",
};

/** @param settings The variables of `.env.local`. */
export function planPush(settings: Record<string, string | undefined>): Plan {
  const plan: Plan = { values: new Map(), defaulted: [], empty: [], foreign: [], malformed: [] };
  for (const [name, raw = ""] of Object.entries(settings)) {
    const value = raw.trim();
    if (!isVariable(name) && !(name in AT_PUSH)) {
      plan.foreign.push(name);
    } else if (value === "") {
      if (!(name in AT_PUSH)) plan.empty.push(name);
    } else {
      const complaint = isVariable(name) ? complaintAbout(name, value) : issuerComplaint(name, value);
      if (complaint === null) plan.values.set(name, value);
      else plan.malformed.push({ name, complaint });
    }
  }
  for (const [name, value] of Object.entries(AT_PUSH)) {
    if (plan.values.has(name) || plan.malformed.some((one) => one.name === name)) continue;
    plan.values.set(name, value);
    plan.defaulted.push(name);
  }
  return plan;
}

function issuerComplaint(name: string, value: string): string | null {
  if (name !== "AUTH_ISSUER" || /^https:\/\/[^\s/]+/.test(value)) return null;
  return "must be an https address";
}

/** The values as the file that the CLI reads: one `NAME="value"` a line. */
export function envFile(values: ReadonlyMap<string, string>): string {
  return [...values].map(([name, value]) => `${name}=${quoted(value)}\n`).join("");
}

/** None of the service's values has a line break; a quote inside takes the other kind around it. */
function quoted(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
