import { v, type VLiteral, type VUnion } from "convex/values";

type Literal = string | number | boolean | bigint;

/** A validator for one of these values. convex-helpers has the same in a file that every function call would evaluate. */
export function literals<Given extends Literal[]>(
  ...given: Given
): VUnion<Given[number], NoInfer<{ [Index in keyof Given]: VLiteral<Given[Index]> }>>;
export function literals(...given: Literal[]): VUnion<Literal, VLiteral<Literal>[]> {
  return v.union(...given.map((one) => v.literal(one)));
}
