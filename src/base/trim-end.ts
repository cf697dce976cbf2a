/**
 * The text without those of `characters` that stand at its end. An expression like `/x+$/` says the same, but is tried from every `x` of a
 * text that goes on after them: a megabyte of slashes takes minutes.
 */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return end === text.length ? text : text.slice(0, end)
}
