import * as z from "zod";

/** What callers see of people's arms. */

export const ownArm = z.object({
  arm: z.string().describe("Its id, the only thing of it that the chain contains"),
  name: z.string().nullable().describe("null if it is called by its id. The operator decides about names"),
  nameState: z.enum(["waiting", "shown", "refused"]),
  number: z.int().positive().describe("Its number among its owner's arms"),
  of: z.int().positive().describe("How many arms its owner has had, including ended ones"),
  since: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable().describe("From then on it accepts no proposals"),
  left: z.boolean().describe("Its owner has deleted their data; the record stays"),
  listed: z.boolean().describe("30 of its signals have ended"),
  needed: z
    .int()
    .positive()
    .describe(
      "What its e-values have to reach to be called better than chance: 20 for each arm of its owner",
    ),
});
export type OwnArm = z.output<typeof ownArm>;

export const ownArmExample: OwnArm = {
  ...{ arm: "arm-5f0c1d7e9a3b2468", name: "night-owl", nameState: "shown", number: 1, of: 1 },
  ...{ since: "2026-01-05T09:00:00.000Z", endedAt: null, left: false, listed: false, needed: 20 },
};
