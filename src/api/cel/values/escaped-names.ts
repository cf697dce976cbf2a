/** Names that expressions cannot spell, as they write them: `a-b` is `a__dash__b`, `namespace` is `__namespace__`. */

const reserved: ReadonlySet<string> = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let'],
  ...['loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
])
const signs: Readonly<Record<string, string>> = { __: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash' }
const signOf = new Map(Object.entries(signs).map(([sign, name]) => [name, sign]))

/** Undefined for what cannot be written at all. */
export function escapedName(name: string): string | undefined {
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  if (reserved.has(name)) return `__${name}__`
  return name.replace(/__|[-./]/g, (sign) => `__${signs[sign]}__`)
}

/** Undefined for what is no such name. */
export function unescapedName(escaped: string): string | undefined {
  let isSound = true
  const name = escaped.replace(/__[^_]+__/g, (part) => {
    const content = part.slice(2, -2)
    const sign = signOf.get(content)
    if (sign !== undefined) return sign
    if (!reserved.has(content) || part.length !== escaped.length) isSound = false
    return content
  })
  return isSound ? name : undefined
}
