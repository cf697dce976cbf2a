/** The order Go's YAML library puts keys in: letters after everything else, digits by the number they make. */
export function compareKeys(one: string, other: string): number {
  const at = firstDifference(one, other)
  const x = one.charCodeAt(at)
  const y = other.charCodeAt(at)
  // Nearly all keys differ in a letter of ASCII.
  if (isLowerCase(x) && isLowerCase(y)) return x - y
  return compareCharacters(one, other)
}

function firstDifference(one: string, other: string): number {
  let at = 0
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at++
  return at
}

function isLowerCase(code: number): boolean {
  return code >= 0x61 && code <= 0x7a
}

function compareCharacters(one: string, other: string): number {
  const a = [...one]
  const b = [...other]
  for (let index = 0; index < a.length && index < b.length; index++) {
    const x = a[index] ?? ''
    const y = b[index] ?? ''
    if (x === y) continue
    const xIsLetter = isLetter(x)
    const yIsLetter = isLetter(y)
    if (xIsLetter && yIsLetter) return x < y ? -1 : 1
    if (xIsLetter || yIsLetter) return yIsLetter ? -1 : 1
    return compareNumbers(a, b, index) || (x < y ? -1 : 1)
  }
  return a.length - b.length
}

function compareNumbers(a: string[], b: string[], start: number): number {
  // A zero inside of a number weighs as much as any digit: 10 and 2 differ in length before they differ in digits.
  let prefix = ''
  if (a[start] === '0' || b[start] === '0') {
    for (let index = start - 1; index >= 0 && isDigit(a[index] ?? ''); index--) {
      if (a[index] === '0') continue
      prefix = '1'
      break
    }
  }
  const one = digitsFrom(a, start)
  const other = digitsFrom(b, start)
  return compareDigits(prefix + one, prefix + other) || one.length - other.length
}

/** Numbers of any length, in time that grows with it. */
function compareDigits(one: string, other: string): number {
  const [a, b] = [one.replace(/^0+/, ''), other.replace(/^0+/, '')]
  if (a.length !== b.length) return a.length - b.length
  return a === b ? 0 : a < b ? -1 : 1
}

function digitsFrom(chars: string[], start: number): string {
  let end = start
  while (end < chars.length && isDigit(chars[end] ?? '')) end++
  return chars.slice(start, end).join('')
}

const isLetter = (char: string): boolean => /\p{L}/u.test(char)
const isDigit = (char: string): boolean => /^[0-9]$/.test(char)
