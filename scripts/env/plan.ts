import { AT_PUSH, kindOf, REQUIRED, suggestion } from "./names";
import { complaintsOf, type Place } from "./rules";

/** What `npm run env:push` would do with a file of settings; names only, apart from `values`. */
export type Plan = {
  /** What the deployment is given. Never printed. */
  values: Map<string, string>;
  /** Of those, the ones that the file leaves out and the platform needs at every push. */
  defaulted: string[];
  /** Required and without a value: endpoints will answer 500, unless the deployment has them already. */
  missing: string[];
  /** In the file without a value, and optional: left as they are on the deployment. */
  empty: string[];
  /** For the CLI or the local stack, and not for the deployment. */
  elsewhere: string[];
  /** Nothing reads these; with the nearest name, or where to look. */
  unknown: { name: string; suggestion: string }[];
  /** Values that must not be set, with what is wrong. */
  malformed: { name: string; complaint: string }[];
  /** Values that may be meant so, with what they bring. */
  doubtful: { name: string; complaint: string }[];
};

/** @param settings The variables of the settings file. */
export function planPush(settings: Record<string, string | undefined>, where: Place): Plan {
  const complaints = complaintsOf(settings, where).filter(({ name }) =>
    ["service", "push"].includes(kindOf(name)),
  );
  const of = (level: "bad" | "odd") =>
    complaints.flatMap(({ name, says, ...one }) => (one.level === level ? [{ name, complaint: says }] : []));
  const plan: Plan = {
    values: new Map(),
    defaulted: [],
    missing: REQUIRED.filter((name) => (settings[name]?.trim() ?? "") === ""),
    empty: [],
    elsewhere: [],
    unknown: [],
    malformed: of("bad"),
    doubtful: of("odd"),
  };
  for (const [name, raw = ""] of Object.entries(settings)) place(plan, name, raw.trim());
  const given = Object.keys(AT_PUSH).filter(
    (name) => (plan.values.get(name) ?? AT_PUSH[name]) !== AT_PUSH[name],
  );
  for (const [name, value] of Object.entries(AT_PUSH)) {
    if (plan.values.has(name) || plan.malformed.some((one) => one.name === name)) continue;
    // A real issuer with a placeholder for its application would let nobody in, and say nothing.
    if (given.length > 0) {
      plan.malformed.push({ name, complaint: `is needed beside ${given.join(", ")}` });
      continue;
    }
    plan.values.set(name, value);
    plan.defaulted.push(name);
  }
  return plan;
}

function place(plan: Plan, name: string, value: string): void {
  const kind = kindOf(name);
  if (kind === "unknown") {
    plan.unknown.push({ name, suggestion: suggestion(name) });
  } else if (kind === "cli" || kind === "process") {
    plan.elsewhere.push(name);
  } else if (value === "") {
    if (kind === "service" && !plan.missing.includes(name)) plan.empty.push(name);
  } else {
    if (plan.malformed.every((one) => one.name !== name)) plan.values.set(name, value);
  }
}

/** The values as the file that the CLI reads: one `NAME="value"` a line. */
export function envFile(values: ReadonlyMap<string, string>): string {
  return [...values].map(([name, value]) => `${name}=${quoted(value)}\n`).join("");
}

/** None of the service's values has a line break; a quote inside takes the other kind around it. */
function quoted(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
