/** Nobody reads more of what is no time. */
const longestChars = 64 * 1024

/** As Go's time package quotes, which knows no short escapes and writes what is not ASCII byte by byte. */
export function goTimeQuoted(text: string): string {
  let result = '"'
  for (const byte of Buffer.from(text.length <= longestChars ? text : `${text.slice(0, longestChars)}...`)) result += shownBytes[byte]
  return `${result}"`
}

const shownBytes = Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80 || byte < 0x20) return `\\x${byte.toString(16).padStart(2, '0')}`
  const char = String.fromCharCode(byte)
  return char === '"' || char === '\\' ? `\\${char}` : char
})
