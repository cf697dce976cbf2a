/** Nobody reads more of what is no time. */
const longestChars = 64 * 1024

/** As Go's time package quotes, which knows no short escapes and writes what is not ASCII byte by byte. */
export function goTimeQuoted(text: string): string {
  let result = '"'
  for (const char of text.length <= longestChars ? text : `${text.slice(0, longestChars)}...`) {
    const code = char.codePointAt(0) ?? 0
    if (code >= 0x80 || code < 0x20) {
      for (const byte of Buffer.from(char)) result += `\\x${byte.toString(16).padStart(2, '0')}`
    } else {
      result += char === '"' || char === '\\' ? `\\${char}` : char
    }
  }
  return `${result}"`
}
