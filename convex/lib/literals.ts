import { v, type VLiteral, type VUnion } from "convex/values";

type Literal = string | number | boolean | bigint;

/** One of these. The package of helpers has the like in a file that every call of a function would evaluate for it. */
export function literals<Given extends Literal[]>(
  ...given: Given
): VUnion<Given[number], NoInfer<{ [Index in keyof Given]: VLiteral<Given[Index]> }>>;
export function literals(...given: Literal[]): VUnion<Literal, VLiteral<Literal>[]> {
  return v.union(...given.map((one) => v.literal(one)));
}
