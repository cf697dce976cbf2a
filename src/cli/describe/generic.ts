import type { ApiObject } from '#cli/call.ts'
import { goText } from '#cli/template/go-values.ts'
import type { Description } from './description.ts'

const shownAlready = new Set([
  '.metadata.managedFields',
  '.metadata.name',
  '.metadata.namespace',
  '.metadata.labels',
  '.metadata.annotations',
])

/** Any object: its fields by name, with headings made of their names. */
export function writeGeneric(out: Description, object: ApiObject): void {
  out.field(0, 'Name', object.metadata?.name ?? '')
  out.field(0, 'Namespace', object.metadata?.namespace ?? '')
  out.labels('Labels', object.metadata?.labels)
  out.annotations('Annotations', object.metadata?.annotations)
  writeFields(out, 0, object, '')
}

function writeFields(out: Description, level: number, fields: Readonly<Record<string, unknown>>, prefix: string): void {
  for (const name of Object.keys(fields).sort()) {
    const value = fields[name]
    const path = `${prefix}.${name}`
    if (shownAlready.has(path)) continue
    if (Array.isArray(value)) {
      out.write(level, `${heading(name)}:\n`)
      for (const item of value) {
        if (typeof item === 'object' && item !== null && !Array.isArray(item))
          writeFields(out, level + 1, item as Record<string, unknown>, path)
        else out.write(level + 1, `${goText(item)}\n`)
      }
    } else if (typeof value === 'object' && value !== null) {
      out.write(level, `${heading(name)}:\n`)
      writeFields(out, level + 1, value as Record<string, unknown>, path)
    } else out.field(level, heading(name), goText(value))
  }
}

const acronyms = new Set(['API', 'URL', 'UID', 'GUID'])

/** `podCIDRs` to `Pod CID Rs`-like headings: words of the name, each with a capital. */
function heading(name: string): string {
  if (!/^[\p{L}-]*$/u.test(name)) return name
  const parts = name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}\p{Ll}*|\p{Ll}+|-/gu) ?? [name]
  const merged: string[] = []
  for (let at = 0; at < parts.length; at++) {
    const [part = '', next = ''] = [parts[at], parts[at + 1]]
    if (/^\p{Lu}{2,}$/u.test(part) && /^\p{Lu}/u.test(next)) {
      merged.push(part + next)
      at++
    } else merged.push(part)
  }
  return merged
    .map((part) =>
      acronyms.has(part.toUpperCase()) ? part.toUpperCase() : part === part.toLowerCase() ? part[0]?.toUpperCase() + part.slice(1) : part,
    )
    .join(' ')
}
