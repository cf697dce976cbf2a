/** What plain scalars of YAML mean to Go's YAML library, which follows YAML 1.1 in most things. */

export type Resolved =
  | { is: 'string' | 'timestamp' }
  | { is: 'null'; value: null }
  | { is: 'bool'; value: boolean }
  | { is: 'int'; value: number | bigint }
  | { is: 'float'; value: number }

const words = new Map<string, Resolved>()
for (const word of ['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']) words.set(word, { is: 'bool', value: true })
for (const word of ['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'])
  words.set(word, { is: 'bool', value: false })
for (const word of ['', '~', 'null', 'Null', 'NULL']) words.set(word, { is: 'null', value: null })
for (const word of ['.nan', '.NaN', '.NAN']) words.set(word, { is: 'float', value: Number.NaN })
for (const word of ['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF']) words.set(word, { is: 'float', value: Number.POSITIVE_INFINITY })
for (const word of ['-.inf', '-.Inf', '-.INF']) words.set(word, { is: 'float', value: Number.NEGATIVE_INFINITY })

const text: Resolved = { is: 'string' }
const floats = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/
const timestamps = /^\d{4}-\d{1,2}-\d{1,2}([Tt]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?)?$/

export function resolveScalar(source: string): Resolved {
  const word = words.get(source)
  if (word !== undefined) return word
  if (source.startsWith('.')) return /^\.\d+([eE][-+]?\d+)?$/.test(source) ? { is: 'float', value: Number(source) } : text
  if (!/^[-+\d]/.test(source)) return text
  if (timestamps.test(source)) return { is: 'timestamp' }
  const plain = source.replaceAll('_', '')
  const int = integer(plain)
  if (int !== undefined) return { is: 'int', value: int }
  // What overflows is text again.
  return floats.test(plain) && Number.isFinite(Number(plain)) ? { is: 'float', value: Number(plain) } : text
}

const integers = /^([-+]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]+|0|[1-9][0-9]*)$/

function integer(plain: string): number | bigint | undefined {
  const [, sign, digits = ''] = integers.exec(plain) ?? []
  if (sign === undefined) return undefined
  // However it is written, so many digits are more than 64 bits; a million of them would take long to read.
  if (digits.replace(/^0[xXoObB]?0*/, '').length > 64) return undefined
  const magnitude = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits)
  const value = sign === '-' ? -magnitude : magnitude
  // An int64, or without a sign anything that 64 bits hold.
  if (value < -(2n ** 63n) || value >= (sign === '' ? 2n ** 64n : 2n ** 63n)) return undefined
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** Numbers of base 60 mean nothing any more, but are quoted still. */
export function isBase60(source: string): boolean {
  return /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/.test(source)
}
