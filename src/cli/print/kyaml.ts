/** KYAML: YAML in flow style with quoted strings, so that nothing hangs on indentation or on how a word is read. */

/** With the fields in the order they have. */
export function kyamlText(object: unknown): string {
  return `---\n${valueText(object, 0)}\n`
}

function valueText(value: unknown, depth: number): string {
  if (Array.isArray(value)) return listText(value, depth)
  if (typeof value === 'object' && value !== null) return mapText(value as Record<string, unknown>, depth)
  return typeof value === 'string' ? stringText(value, depth) : String(value ?? null)
}

function mapText(map: Record<string, unknown>, depth: number): string {
  const keys = Object.keys(map)
  if (keys.length === 0) return '{}'
  const inner = '  '.repeat(depth + 1)
  return `{\n${keys.map((key) => `${inner}${keyText(key)}: ${valueText(map[key], depth + 1)},\n`).join('')}${'  '.repeat(depth)}}`
}

/** Items that are maps or lists hug the brackets. */
function listText(list: readonly unknown[], depth: number): string {
  if (list.length === 0) return '[]'
  const isNested = list.every((item) => typeof item === 'object' && item !== null && Object.keys(item).length > 0)
  if (isNested) return `[${list.map((item) => valueText(item, depth)).join(', ')}]`
  const inner = '  '.repeat(depth + 1)
  return `[\n${list.map((item) => `${inner}${valueText(item, depth + 1)},\n`).join('')}${'  '.repeat(depth)}]`
}

function keyText(key: string): string {
  const isPlain = /^[A-Za-z][\w./-]*$/.test(key) && !/^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i.test(key) && !/[./-]$/.test(key)
  return isPlain ? key : JSON.stringify(key)
}

/** Lines of a longer text stand one below the other, joined by escapes. */
function stringText(text: string, depth: number): string {
  const lines = text.split('\n')
  if (lines.length < 2) return JSON.stringify(text)
  const inner = '  '.repeat(depth + 1)
  const written = lines.map((line, index) => {
    const body = JSON.stringify(line)
      .slice(1, -1)
      .replace(/^([ \t])/, '\\$1')
    return `${inner} ${body}${index < lines.length - 1 ? '\\n\\' : '\\'}`
  })
  const last = lines.at(-1) === '' ? written.slice(0, -1) : written
  return `"\\\n${last.join('\n')}\n${inner}"`
}
