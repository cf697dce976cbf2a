import type { Credentials } from '#apiserver/authn/authenticator.ts'

/** The first value of a header; empty when it is absent. */
export function headerValue({ headers }: Pick<Credentials, 'headers'>, lowerCaseName: string): string {
  const value = headers[lowerCaseName]
  return typeof value === 'string' ? value : (value?.[0] ?? '')
}

/** Every value in the order sent, one for each time the header stands there: commas inside a value are part of it. */
export function headerValues({ rawHeaders }: Pick<Credentials, 'rawHeaders'>, lowerCaseName: string): string[] {
  const values: string[] = []
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}

/** The values of all headers that start with one of the prefixes, by the rest of their name in lower case, percent-decoded. */
export function headerValuesWithPrefix(
  { rawHeaders }: Pick<Credentials, 'rawHeaders'>,
  ...lowerCasePrefixes: readonly string[]
): Record<string, string[]> {
  const found = new Map<string, string[]>()
  for (const prefix of lowerCasePrefixes) {
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] ?? '').toLowerCase()
      if (!name.startsWith(prefix)) continue
      const key = unescaped(name.slice(prefix.length))
      const values = found.get(key) ?? []
      values.push(rawHeaders[index + 1] ?? '')
      found.set(key, values)
    }
  }
  return Object.fromEntries(found)
}

/** Malformed escapes are kept as they are. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
