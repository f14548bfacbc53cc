import { applyVariables } from "../stack/env";
import { createStandins } from "../standins/index";
import { figure, type Table } from "./table";
import { fuzzWire } from "./wireFuzz";

export const question =
  "Is every question to the gateway one that strict mode takes, and is every answer used rightly or refused?";

const ANSWERS = 200;
const PROVIDERS = "http://providers.invalid";

/** Calls for each question, against the gateway's stand-in in this process. */
export async function run(): Promise<Table> {
  const restore = applyVariables(createStandins().env(PROVIDERS));
  try {
    const results = await fuzzWire(ANSWERS, "bench");
    const sum = (of: (one: (typeof results)[number]) => number) =>
      results.reduce((total, one) => total + of(one), 0);
    const cells = (name: string, numbers: readonly number[]) => [name, ...numbers.map((one) => figure(one))];
    return {
      inputs: [
        `${ANSWERS} calls for each question, seeded: right answers in many spellings, unusable, cut and empty ones, failures`,
      ],
      columns: ["question", "schemas checked", "fuzzed answers", "used", "refused", "half-used"],
      rows: [
        ...results.map((one) => {
          const schemas = one.schemaProblem === null ? 1 : 0;
          return cells(one.question, [schemas, one.answers, one.used, one.refused, one.halfUsed.length]);
        }),
        cells("all", [
          sum((one) => (one.schemaProblem === null ? 1 : 0)),
          sum((one) => one.answers),
          sum((one) => one.used),
          sum((one) => one.refused),
          sum((one) => one.halfUsed.length),
        ]),
      ],
      notes: results.flatMap((one) => [
        ...(one.schemaProblem === null ? [] : [`${one.question}: ${one.schemaProblem}`]),
        ...one.halfUsed.slice(0, 3).map((story) => `${one.question}: ${story}`),
      ]),
    };
  } finally {
    restore();
  }
}
