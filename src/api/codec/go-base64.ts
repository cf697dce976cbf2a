const alphabet = /^[A-Za-z0-9+/]$/

/** Go's complaint about text that is not base64, undefined where it has none. Line breaks are let through. */
export function base64Error(text: string): string | undefined {
  const illegal = (at: number): string => `illegal base64 data at input byte ${at}`
  let digits = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\r' || char === '\n') continue
    if (alphabet.test(char)) {
      digits++
      continue
    }
    const place = digits % 4
    if (char !== '=' || place < 2) return illegal(byteOffset(text, at))
    return paddingError(text, at, place, illegal)
  }
  // What is missing at the end is reported at the start of the last group.
  return digits % 4 === 0 ? undefined : illegal(text.length - (digits % 4))
}

function paddingError(text: string, first: number, place: number, illegal: (at: number) => string): string | undefined {
  let at = first + 1
  const skipBreaks = (): void => {
    while (text.charAt(at) === '\r' || text.charAt(at) === '\n') at++
  }
  skipBreaks()
  if (place === 2) {
    if (at >= text.length) return illegal(text.length)
    if (text.charAt(at) !== '=') return illegal(at - 1)
    at++
  }
  skipBreaks()
  return at < text.length ? illegal(at) : undefined
}

function byteOffset(text: string, at: number): number {
  return Buffer.byteLength(text.slice(0, at))
}
