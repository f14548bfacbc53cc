import { iso } from "../lib/time";
import { notice } from "./layout";
import { Moment } from "./parts";

/** The pages that end a claim of an id. Looking at the first ends nothing: previews of links look, too. */

/** @param dueAt When the claim takes effect, epoch ms. */
export function claimPage(id: string, dueAt: number) {
  const words = (
    <>
      Somebody has claimed <code>{id}</code>: what is in its wallet is theirs from <Moment at={iso(dueAt)} />{" "}
      on. If that is not you, end the claim; the id stays as it is then.
    </>
  );
  const form = (
    <form action="/claim/end" method="post">
      <input type="hidden" name="id" value={id} />
      <button>End the claim</button>
    </form>
  );
  return notice("End a claim?", words, form);
}

export function endedPage(id: string) {
  const words = (
    <>
      <code>{id}</code> stays as it was, and nobody can claim it for a week. Use the week to{" "}
      <a href="/start#id">own it yourself</a>, or to move what it holds.
    </>
  );
  return notice("The claim has ended", words);
}
