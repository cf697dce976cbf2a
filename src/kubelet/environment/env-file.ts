/**
 * The value of one variable in a file of lines `NAME='value'`, a strict part of what shells read: values stand in single quotes, may go
 * over several lines, and mean what they say. Empty when it is not there. Throws where the file is anything else.
 */
export function valueInEnvFile(text: string, key: string): string {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  for (let index = 0; index < lines.length; index++) {
    const line = (lines[index] ?? '').replace(/^[ \t]+/, '')
    if (line === '' || line.startsWith('#')) continue
    const equals = line.indexOf('=')
    if (equals < 0) throw wrong(index, "missing '='")
    const [name, rest] = [line.slice(0, equals), line.slice(equals + 1)]
    if (name === '') throw wrong(index, 'empty variable name')
    if (/[ \t]$/.test(name)) throw wrong(index, "whitespace before '=' is not allowed")
    if (/^[ \t]/.test(rest)) {
      if (name === key) return ''
      continue
    }
    // As upstream: nothing at all after the sign is no quoted value either.
    if (!rest.startsWith("'")) throw wrong(index, 'value must be enclosed in single quotes')
    const start = index
    let value = rest.slice(1)
    while (!value.includes("'")) {
      index++
      if (index >= lines.length) throw new Error(`invalid environment variable format starting at line ${start + 1}: unclosed single quote`)
      value += `\n${lines[index]}`
    }
    const end = value.indexOf("'")
    if (!/^[ \t]*(#.*)?$/s.test(value.slice(end + 1))) throw wrong(index, 'unexpected content after closing quote')
    if (name === key) return value.slice(0, end)
  }
  return ''
}

const wrong = (index: number, what: string): Error => new Error(`invalid environment variable format at line ${index + 1}: ${what}`)
