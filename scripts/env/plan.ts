import { AT_PUSH, kindOf, REQUIRED, suggestion } from "./names";
import { complaintsOf, type Place } from "./rules";

/** What `npm run env:push` would do with a settings file; only names, except `values`. */
export type Plan = {
  /** The values to set. Never printed. */
  values: Map<string, string>;
  /** Names that the file leaves out and the platform needs at every push. */
  defaulted: string[];
  /** Required and without a value: endpoints answer 500, unless the deployment already has them. */
  missing: string[];
  /** In the file without a value, and optional: the deployment's values stay. */
  empty: string[];
  /** For the CLI or the local stack, not for the deployment. */
  elsewhere: string[];
  /** Nothing reads these; with the nearest name, or where to look. */
  unknown: { name: string; suggestion: string }[];
  /** Values that must not be set, with the reason. */
  malformed: { name: string; complaint: string }[];
  /** Values that may be intended, with their consequence. */
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
    // A real issuer with a placeholder for its application would silently let nobody in.
    if (given.length > 0) {
      plan.malformed.push({ name, complaint: `is needed with ${given.join(", ")}` });
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

/** The values as a file for the CLI: one `NAME="value"` per line. */
export function envFile(values: ReadonlyMap<string, string>): string {
  return [...values].map(([name, value]) => `${name}=${quoted(value)}\n`).join("");
}

/** No value of the service has a line break; a value with a quote is put into the other kind. */
function quoted(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
