/** A program in the part of an address behind the #: deflated, in the letters of base64url. */

/** Characters that a link may unfold to. */
const MOST = 1_000_000;

const through = (bytes, stream) => new Blob([bytes]).stream().pipeThrough(stream);

/** @param {string} text @returns {Promise<string>} */
export async function packed(text) {
  const stream = through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = "";
  for (let at = 0; at < bytes.length; at += 8192) letters += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} letters @returns {Promise<string>} Rejects what `packed` has not made. */
export async function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
  const reader = through(bytes, new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let part; !(part = await reader.read()).done;) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length > MOST) throw new RangeError("the program of this address is too long");
  }
  return text + decoder.decode();
}
