import { buildNoticePage } from "./layout";

/** The pages that end a claim of an id. Opening the first one has no effect, because link previews open it, too. */

/** The form for the id, which would stay in histories and logs if it were part of an address. */
export function buildClaimPage() {
  const text = (
    <>
      Has somebody else claimed your account id? Until the time in every answer to the id you can end that
      claim; the id stays as it is then.
    </>
  );
  const form = (
    <form action="/claim/end" method="post">
      <label>
        Your account id
        <input name="id" required autocomplete="off" maxlength={128} />
      </label>
      <button>End the claim</button>
    </form>
  );
  return buildNoticePage("End a claim?", text, form);
}

export function buildEndedPage(id: string) {
  const text = (
    <>
      <code>{id}</code> stays as it was, and nobody can claim it for a week. Use the week to move what it
      holds; after it you can <a href="/start#id">own it yourself</a>.
    </>
  );
  return buildNoticePage("The claim has ended", text);
}
